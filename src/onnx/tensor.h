// Handles that translators compute with: values of the ONNX graph under
// construction, sizes, and Python numbers that need not become values.
#pragma once

#include <complex>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "ir/ids.h"
#include "ir/type.h"

namespace flambeau::onnx {

// A size or a symbolic integer: constant, expression over dims, or the
// (anonymous or unbacked) symbol of a run-time number.
struct Dim {
  Expr expr;
  friend bool operator==(Dim, Dim) = default;
};
using Dims = std::vector<Dim>;

// A Python number: a constant, a symbolic int, or a run-time 0-d value.
class Scalar {
 public:
  enum class Kind : uint8_t { kBool, kInt, kFloat, kComplex, kSymbolic, kValue };

  Scalar(bool value) : kind_(Kind::kBool), int_(value) {}
  Scalar(int value) : kind_(Kind::kInt), int_(value) {}
  Scalar(int64_t value) : kind_(Kind::kInt), int_(value) {}
  Scalar(double value) : kind_(Kind::kFloat), double_(value) {}
  Scalar(std::complex<double> value) : kind_(Kind::kComplex), double_(value.real()), imaginary_(value.imag()) {}
  Scalar(Dim dim) : kind_(Kind::kSymbolic), dim_(dim) {}
  // A run-time Python number; its dtype (bool, int64, float64) says which.
  static Scalar OfValue(ValueId value, const Type* type) {
    Scalar scalar(int64_t{0});
    scalar.kind_ = Kind::kValue;
    scalar.value_ = value;
    scalar.type_ = type;
    return scalar;
  }

  Kind kind() const { return kind_; }
  bool is_constant() const { return kind_ < Kind::kSymbolic; }
  bool is_floating() const {
    return kind_ == Kind::kFloat || (kind_ == Kind::kValue && IsFloating(type_->dtype));
  }
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kSymbolic || (kind_ == Kind::kValue && IsInteger(type_->dtype)); }
  bool is_bool() const { return kind_ == Kind::kBool || (kind_ == Kind::kValue && type_->dtype == DType::kBool); }
  bool is_complex() const { return kind_ == Kind::kComplex; }
  // Of a constant.
  double AsDouble() const { return kind_ == Kind::kFloat || kind_ == Kind::kComplex ? double_ : static_cast<double>(int_); }
  int64_t AsInt() const { return kind_ == Kind::kFloat ? static_cast<int64_t>(double_) : int_; }
  std::complex<double> AsComplex() const { return {AsDouble(), kind_ == Kind::kComplex ? imaginary_ : 0.0}; }
  bool Is(double value) const { return is_constant() && !is_complex() && AsDouble() == value; }
  Dim dim() const { return dim_; }
  ValueId value() const { return value_; }
  const Type* type() const { return type_; }

 private:
  Kind kind_;
  int64_t int_ = 0;
  double double_ = 0;
  double imaginary_ = 0;
  Dim dim_;
  ValueId value_;
  const Type* type_ = nullptr;
};

// An operand is not what the operator takes: a program that PyTorch itself would refuse. Translators may read what has to
// be there; Lowering::Translate reports what was not.
class BadOperand : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[noreturn]] void ThrowNoAxis(int64_t axis, int64_t rank);
[[noreturn]] void ThrowAbsent();

// A value of the graph; or nothing (an absent operand); or a Python number that
// becomes a constant of a fitting dtype where it is used.
class Tensor {
 public:
  Tensor() = default;
  Tensor(ValueId id, const Type* type) : id_(id), type_(type) {}
  // A Python number; `type` is the 0-d type that it has by itself.
  Tensor(Scalar number, const Type* type) : type_(type), number_(number) {}

  explicit operator bool() const { return type_ != nullptr; }
  ValueId id() const { return id_; }
  const Type& type() const {
    if (type_ == nullptr) [[unlikely]] ThrowAbsent();
    return *type_;
  }
  bool is_number() const { return number_.has_value(); }
  const Scalar& number() const { return *number_; }

  DType dtype() const { return type().dtype; }
  bool is_floating() const { return IsFloating(dtype()); }
  bool is_integer() const { return IsInteger(dtype()); }
  bool is_bool() const { return dtype() == DType::kBool; }
  bool is_complex() const { return IsComplex(dtype()); }
  bool ranked() const { return type().ranked; }
  // Of a ranked tensor.
  int64_t rank() const { return static_cast<int64_t>(type().sizes.size()); }
  // `axis` may be negative.
  Dim size(int64_t axis) const {
    const int64_t count = rank();
    if (axis < -count || axis >= count) [[unlikely]] ThrowNoAxis(axis, count);
    return {type_->sizes[static_cast<size_t>(axis < 0 ? axis + count : axis)]};
  }
  Dims sizes() const {
    Dims dims;
    for (Expr e : type().sizes) dims.push_back({e});
    return dims;
  }

 private:
  ValueId id_;
  const Type* type_ = nullptr;
  std::optional<Scalar> number_;
};

using TensorList = std::vector<Tensor>;  // elements may be absent

// A parameter that takes `{a, b}`, a vector or an array of tensors.
class Tensors {
 public:
  Tensors(std::initializer_list<Tensor> list) : list_(list) {}
  Tensors(std::vector<Tensor> list) : list_(std::move(list)) {}

  operator std::span<const Tensor>() const { return list_; }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  size_t size() const { return list_.size(); }

 private:
  std::vector<Tensor> list_;
};

}  // namespace flambeau::onnx
