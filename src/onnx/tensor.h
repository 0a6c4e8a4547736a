// Handles that translators compute with: values of the ONNX graph under
// construction, sizes, and Python numbers that need not become values.
#pragma once

#include <complex>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>
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

  Scalar(bool value) : held_(value) {}
  Scalar(int value) : held_(int64_t{value}) {}
  Scalar(int64_t value) : held_(value) {}
  Scalar(double value) : held_(value) {}
  Scalar(std::complex<double> value) : held_(value) {}
  Scalar(Dim dim) : held_(dim) {}
  // A run-time Python number; its dtype (bool, int64, float64) says which.
  static Scalar OfValue(ValueId value, const Type* type) {
    Scalar scalar(int64_t{0});
    scalar.held_ = RunTime{value, type};
    return scalar;
  }

  Kind kind() const { return static_cast<Kind>(held_.index()); }
  bool is_constant() const { return kind() < Kind::kSymbolic; }
  bool is_floating() const {
    return kind() == Kind::kFloat || (kind() == Kind::kValue && IsFloating(type()->dtype));
  }
  bool is_integral() const { return kind() == Kind::kInt || kind() == Kind::kSymbolic || (kind() == Kind::kValue && IsInteger(type()->dtype)); }
  bool is_bool() const { return kind() == Kind::kBool || (kind() == Kind::kValue && type()->dtype == DType::kBool); }
  bool is_complex() const { return kind() == Kind::kComplex; }
  // Of a constant.
  double AsDouble() const {
    if (kind() == Kind::kComplex) return AsComplex().real();
    return kind() == Kind::kFloat ? Held<double>() : static_cast<double>(AsInt());
  }
  int64_t AsInt() const {
    if (kind() == Kind::kFloat) return static_cast<int64_t>(Held<double>());
    return kind() == Kind::kBool ? Held<bool>() : Held<int64_t>();
  }
  std::complex<double> AsComplex() const { return kind() == Kind::kComplex ? Held<std::complex<double>>() : AsDouble(); }
  bool Is(double value) const { return is_constant() && !is_complex() && AsDouble() == value; }
  Dim dim() const { return Held<Dim>(); }
  ValueId value() const { return Held<RunTime>().value; }
  const Type* type() const { return Held<RunTime>().type; }

 private:
  struct RunTime {
    ValueId value;
    const Type* type = nullptr;
  };
  // Nothing, or 0, where it is of another kind.
  template <class T>
  T Held() const {
    const T* held = std::get_if<T>(&held_);
    return held != nullptr ? *held : T();
  }

  std::variant<bool, int64_t, double, std::complex<double>, Dim, RunTime> held_;  // in the order of the kinds
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
  Tensor(ValueId id, const Type* type) : type_(type), what_(id) {}
  // A Python number; `type` is the 0-d type that it has by itself.
  Tensor(Scalar number, const Type* type) : type_(type), what_(number) {}

  explicit operator bool() const { return type_ != nullptr; }
  // Invalid where it is a number.
  ValueId id() const { return is_number() ? ValueId() : *std::get_if<ValueId>(&what_); }
  const Type& type() const {
    if (type_ == nullptr) [[unlikely]] ThrowAbsent();
    return *type_;
  }
  bool is_number() const { return std::holds_alternative<Scalar>(what_); }
  const Scalar& number() const { return *std::get_if<Scalar>(&what_); }

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
    dims.reserve(type().sizes.size());
    for (Expr e : type().sizes) dims.push_back({e});
    return dims;
  }

 private:
  const Type* type_ = nullptr;
  std::variant<ValueId, Scalar> what_;
};
// Each node's operands and results are copied many times on their way.
static_assert(std::is_trivially_copyable_v<Tensor> && sizeof(Tensor) <= 40);

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
