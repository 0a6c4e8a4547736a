// Reshapes to sizes that may be dynamic, and may be 0 when the model runs. ONNX's Reshape copies a size for a 0 before opset
// 14, and finds the size for a -1 only where the product of the others is not 0.
#include "onnx/builder_reshapes.h"

#include <algorithm>

#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

constexpr int kFirstOpsetOfAnyFlatten = 9;  // of other dtypes than floats
constexpr int kFirstOpsetOfZeros = 14;      // since when a 0 need not copy

// Complex numbers, which lie in a further axis, have none.
bool HasFlatten(Builder& to, const Tensor& tensor) {
  return !IsComplex(tensor.dtype()) && (to.opset() >= kFirstOpsetOfAnyFlatten || tensor.is_floating());
}

// The axis at which the tensor is cut where two sizes are the products of those before and after it.
std::optional<int64_t> FlattenedAt(Builder& to, const Tensor& tensor, std::span<const Dim> sizes) {
  if (!tensor.ranked() || sizes.size() != 2) return std::nullopt;
  const std::span<const Expr> all = tensor.type().sizes;
  for (size_t axis = 0; axis <= all.size(); ++axis)
    if (Product(to.exprs(), all.first(axis)) == sizes[0].expr && Product(to.exprs(), all.subspan(axis)) == sizes[1].expr)
      return static_cast<int64_t>(axis);
  return std::nullopt;
}

std::span<const Expr> FactorsOf(const ExprPool& exprs, const Expr& size) {
  return exprs.kind(size) == ExprKind::kMul ? exprs.operands(size) : std::span(&size, 1);
}

// Whether `other` is 0 wherever `size` is.
bool IsZeroOnlyWith(const ExprPool& exprs, const Expr& size, const Expr& other) {
  const std::span<const Expr> factors = FactorsOf(exprs, other);
  return std::ranges::all_of(FactorsOf(exprs, size), [&](Expr factor) {
    return !MayBeZero(exprs, factor) || std::ranges::find(factors, factor) != factors.end();
  });
}

// The axes of 1 to add to `from`, so that what a 0 among `sizes` copies is 0 as well; of as many sizes as can be, or of all.
struct Alignment {
  flambeau::Ints added;
  bool of_all = true;
};
Alignment Align(const ExprPool& exprs, std::span<const Expr> from, std::span<const Dim> sizes) {
  Alignment result;
  size_t next = 0;  // of `from`
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!MayBeZero(exprs, sizes[i].expr)) continue;
    size_t found = next;
    while (found < from.size() && !IsZeroOnlyWith(exprs, sizes[i].expr, from[found])) ++found;
    if (found == from.size() || found + result.added.size() > i) {
      result.of_all = false;
      continue;
    }
    while (found + result.added.size() < i) result.added.push_back(static_cast<int64_t>(found + result.added.size()));
    next = found + 1;
  }
  return result;
}

// The sizes as they are: onnxruntime's own fusions make a -1 of the only one that a Concat has not from a constant or the
// tensor itself, and do not look behind an operator.
Tensor AsGiven(Builder& to, const Dims& shape) { return to.AsConstants(shape) ? to.Shape1(shape) : to.Abs(to.Shape1(shape)); }

// Before opset 14: to sizes of which several may be 0. What there is no element of keeps its zeros, where each of them stands
// at a 0 of the tensor, or of its Flatten; `of_all`: only where all do.
std::optional<Tensor> ReshapeByCopiedZeros(Builder& to, const Tensor& tensor, std::span<const Dim> sizes, bool of_all) {
  auto aligned = [&](const Tensor& from, const Alignment& alignment) {
    const Tensor wide = to.UnsqueezeAt(from, alignment.added);
    Dims shape(sizes.begin(), sizes.end());
    for (size_t i = 0; i < shape.size(); ++i)
      if (!to.AsConstant(shape[i]) && i < wide.sizes().size() && wide.size(static_cast<int64_t>(i)) == shape[i]) shape[i] = to.Of(0);
    return to.Reshape(wide, AsGiven(to, shape));
  };
  const std::span<const Expr> all = tensor.type().sizes;
  const Alignment direct = Align(to.exprs(), all, sizes);
  if (direct.of_all || !of_all) return aligned(tensor, direct);
  if (!HasFlatten(to, tensor)) return std::nullopt;
  for (size_t axis = 1; axis < all.size(); ++axis) {
    const Expr cut[] = {Product(to.exprs(), all.first(axis)), Product(to.exprs(), all.subspan(axis))};
    if (const Alignment flat = Align(to.exprs(), cut, sizes); flat.of_all)
      return aligned(to.Flatten(tensor, {.axis = static_cast<int64_t>(axis)}), flat);
  }
  return std::nullopt;
}

// Sizes of the same axis are copied (0), and one may be left to the operator (-1): where the product of the others is not
// 0. Where several may be 0, each is given as it is.
Tensor ReshapeBySizes(Builder& to, const Tensor& tensor, std::span<const Dim> sizes) {
  auto is_copied = [&](size_t i) {
    const auto axis = static_cast<int64_t>(i);
    return !to.AsConstant(sizes[i]) && tensor.ranked() && axis < tensor.rank() && tensor.size(axis) == sizes[i];
  };
  Dims shape;
  std::vector<size_t> computed, zeros;
  for (size_t i = 0; i < sizes.size(); ++i) {
    shape.push_back(is_copied(i) ? to.Of(0) : sizes[i]);
    if (!is_copied(i) && !to.AsConstant(sizes[i])) computed.push_back(i);
    if (MayBeZero(to.exprs(), sizes[i].expr)) zeros.push_back(i);
  }
  const bool has_zero = std::ranges::any_of(sizes, [&](Dim size) { return to.AsConstant(size) == 0; });
  if (computed.empty() && !has_zero) return to.Reshape(tensor, to.Shape1(shape));
  if (zeros.size() > 1 && to.opset() >= kFirstOpsetOfAnyFlatten && HasFlatten(to, tensor))
    if (const auto axis = FlattenedAt(to, tensor, sizes)) return to.Flatten(tensor, {.axis = *axis});
  const bool computable = std::ranges::all_of(computed, [&](size_t i) { return IsComputable(to, sizes[i]); });
  bool says_zeros = has_zero || (computable && to.opset() >= kFirstOpsetOfZeros);
  if (computable && !says_zeros && zeros.size() > 1 && tensor.ranked()) {
    if (auto copied = ReshapeByCopiedZeros(to, tensor, sizes, true)) return *copied;
    // At the price of a copy of the tensor.
    says_zeros = std::ranges::any_of(zeros, [&](size_t i) { return to.exprs().HasUnbacked(sizes[i].expr); });
    // An empty batch is likelier than an image without columns.
    if (!says_zeros && zeros[0] == 0 && tensor.rank() > 0 && IsZeroOnlyWith(to.exprs(), sizes[0].expr, tensor.size(0).expr))
      return *ReshapeByCopiedZeros(to, tensor, sizes, false);
  }
  if (!says_zeros || (zeros.size() < 2 && !has_zero)) {
    shape[zeros.size() == 1 && computable ? zeros[0] : computed[0]] = to.Of(-1);
    return to.Reshape(tensor, to.Shape1(shape));
  }
  std::vector<Tensor> parts;
  for (size_t begin = 0, end; begin < sizes.size(); begin = end) {
    for (end = begin + 1; end < sizes.size() && is_copied(end) == is_copied(begin);) ++end;
    const ShapeAttributes run{.end = static_cast<int64_t>(end), .start = static_cast<int64_t>(begin)};
    parts.push_back(is_copied(begin) ? to.Shape(tensor, run) : to.Shape1(sizes.subspan(begin, end - begin)));
  }
  return to.Reshape(tensor, parts.size() == 1 ? parts[0] : to.Concat(parts, {.axis = 0}), {.allowzero = 1});
}

}  // namespace

bool IsComputable(Builder& to, Dim dim) {
  bool computable = true;
  to.exprs().ForEachSymbol(dim.expr, [&](Expr symbol) { computable &= to.HasSource(symbol); });
  return computable;
}

Tensor Builder::ReshapeTo(Tensor tensor, const flambeau::Ints& sizes) { return Reshape(tensor, ConstantInts(sizes)); }

Tensor Builder::ReshapeTo(Tensor tensor, std::span<const Dim> sizes) {
  if (tensor.ranked() && tensor.sizes() == Dims(sizes.begin(), sizes.end())) return tensor;
  const Tensor result = ReshapeBySizes(*this, tensor, sizes);
  // What the operator infers may be less exact than what was asked for.
  Type type = result.type();
  type.ranked = true;
  type.sizes.clear();
  for (Dim dim : sizes) type.sizes.push_back(dim.expr);
  return Refined(result, std::move(type));
}

}  // namespace flambeau::onnx
