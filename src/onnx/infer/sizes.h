// Arithmetic on lists of symbolic sizes, and on the elements of small tensors,
// that the inference rules share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/attribute.h"
#include "ir/expr.h"
#include "onnx/infer/infer.h"

namespace flambeau::onnx {

using Sizes = std::vector<Expr>;

// An element of which nothing is known, not even its sign.
Expr UnknownElement(ExprPool& exprs);
Sizes AnonymousSizes(ExprPool& exprs, size_t rank);
// `e` as a size: an anonymous element becomes an anonymous size.
Expr AsSize(ExprPool& exprs, Expr e);

Sizes ConstantExprs(ExprPool& exprs, std::span<const int64_t> values);
// The sizes that a 1-D operand of sizes holds; anonymous ones where only their
// number is known, nullopt where not even that is.
std::optional<Sizes> SizesFromOperand(InferContext& context, size_t i);
// The one element of an operand, as a size; anonymous where unknown.
Expr SizeFromScalar(InferContext& context, size_t i);

Expr Product(ExprPool& exprs, std::span<const Expr> factors);
// product(dividend) // product(divisor) where the division is exact, as in a
// reshape: common factors are cancelled though they may be 0.
Expr ExactQuotient(ExprPool& exprs, Sizes dividend, Sizes divisor);

// Whether there may be nothing along it.
bool MayBeZero(const ExprPool& exprs, Expr size);

// Counts from the end where `axis` is negative; nullopt out of range.
std::optional<size_t> NormalizeAxis(int64_t axis, size_t rank);
// For each dimension whether the axes name it; nullopt where one is out of range.
std::optional<std::vector<bool>> AxisMask(std::span<const int64_t> axes, size_t rank);

// All sizes, if each is a constant.
std::optional<Ints> ConstantSizes(const ExprPool& exprs, std::span<const Expr> sizes);
// The number of elements, if it is constant and contents of that many are kept.
std::optional<int64_t> SmallCount(const ExprPool& exprs, std::span<const Expr> sizes);
Ints RowMajorStrides(std::span<const int64_t> sizes);
// The elements that a strided view of `elements` sees, in row-major order;
// nullopt where it leaves them or sees more than kMaxContents.
std::optional<std::vector<Expr>> ReadView(std::span<const Expr> elements, int64_t offset,
                                          std::span<const int64_t> sizes, std::span<const int64_t> strides);
// The elements of a tensor of sizes `from` when it is broadcast to `to`.
std::optional<std::vector<Expr>> BroadcastContents(const ExprPool& exprs, const Type& type, std::span<const Expr> to);

}  // namespace flambeau::onnx
