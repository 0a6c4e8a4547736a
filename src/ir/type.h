// What is known of a value before it runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ids.h"
#include "support/dtype.h"

namespace flambeau {

class ExprPool;

enum class TypeKind : uint8_t {
  kUnknown,  // nothing is known; only while a failed node's results are poisoned
  kNone,     // a result that is always None
  kTensor,
  kInt,    // a symbolic or run-time Python int; contents[0] is its expression
  kFloat,  // a run-time Python float
  kBool,   // a run-time Python bool; contents[0], if known, is 0 or 1
  kString,
  kSequence,  // a run-time list of tensors; dtype and sizes describe an element
  kOptional,          // a tensor, or none at run time
  kOptionalSequence,  // a run-time list of tensors, or none
  kToken,     // an effect token
  kObject,    // a custom class instance
};

struct Type {
  TypeKind kind = TypeKind::kUnknown;
  DType dtype = DType::kNone;
  bool ranked = false;        // whether `sizes` is known
  std::vector<Expr> sizes;    // one a dimension
  std::vector<Expr> strides;  // in elements; empty where unknown (or 0-d)
  // Elements of an int64 or bool tensor of at most 64 elements, row-major, or
  // the value of an int or bool; nullopt where not known. Any element may be
  // an anonymous symbol.
  std::optional<std::vector<Expr>> contents;

  friend bool operator==(const Type&, const Type&) = default;

  size_t rank() const { return sizes.size(); }
  bool is_tensor() const { return kind == TypeKind::kTensor; }
  bool is_optional() const { return kind == TypeKind::kOptional || kind == TypeKind::kOptionalSequence; }

  static Type OfTensor(DType dtype, std::vector<Expr> sizes) {
    return {TypeKind::kTensor, dtype, true, std::move(sizes), {}, {}};
  }
  static Type Unranked(DType dtype) { return {TypeKind::kTensor, dtype, false, {}, {}, {}}; }
  static Type OfInt(Expr value) { return {TypeKind::kInt, DType::kInt64, true, {}, {}, std::vector<Expr>{value}}; }
  static Type OfFloat() { return {TypeKind::kFloat, DType::kFloat64, true, {}, {}, {}}; }
  static Type OfBool() { return {TypeKind::kBool, DType::kBool, true, {}, {}, {}}; }
  static Type OfNone() { return {TypeKind::kNone, DType::kNone, false, {}, {}, {}}; }
};

// Row-major strides as PyTorch has them: an empty dimension counts as one.
std::vector<Expr> ContiguousStrides(const std::vector<Expr>& sizes, ExprPool& pool);

}  // namespace flambeau
