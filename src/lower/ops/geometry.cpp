#include "lower/ops/geometry.h"

#include <algorithm>
#include <numeric>

#include "onnx/infer/fit.h"
#include "onnx/infer/infer.h"
#include "onnx/infer/sizes.h"

namespace flambeau::lower {

Dim FromFront(Lowering& to, Dim position, Dim size) {
  ExprPool& exprs = to.exprs();
  const auto range = exprs.RangeOf(position.expr);
  if (range.min >= 0) return position;
  const Dim shifted = to.Plus(position, size);
  if (range.max < 0) return shifted;
  return {exprs.Select(exprs.Less(position.expr, exprs.Constant(0)), shifted.expr, position.expr)};
}

Dim AtLeastOne(Lowering& to, Dim size) { return {to.exprs().Max(size.expr, to.exprs().Constant(1))}; }

Dims InferSize(Lowering& to, Dims wanted, Dim count) {
  Dim rest = to.Of(1);
  Dim* open = nullptr;
  for (Dim& size : wanted) {
    if (to.AsConstant(size) == -1) {
      if (open) throw onnx::BadOperand("leaves more than one size open");
      open = &size;
    } else {
      rest = to.Times(rest, size);
    }
  }
  if (!open) return wanted;
  const bool empty = to.AsConstant(rest) == 0 || to.AsConstant(count) == 0;
  *open = empty ? to.Of(0) : Dim{onnx::ExactQuotient(to.exprs(), {count.expr}, {rest.expr})};
  return wanted;
}

Tensor Sized(Lowering& to, Tensor tensor, const Dims& sizes) {
  Type type = tensor.type();
  type.ranked = true;
  type.sizes.clear();
  for (Dim size : sizes) type.sizes.push_back(size.expr);
  return to.Refined(tensor, std::move(type));
}

Dims BroadcastDims(Lowering& to, const Dims& a, const Dims& b) {
  std::vector<Expr> left, right;
  for (Dim dim : a) left.push_back(dim.expr);
  for (Dim dim : b) right.push_back(dim.expr);
  if (onnx::NeverBroadcast(to.exprs(), left, right)) throw onnx::BadOperand("broadcasts tensors of sizes that do not fit each other");
  Dims dims;
  for (Expr size : onnx::BroadcastSizes(to.exprs(), left, right)) dims.push_back({size});
  return dims;
}

TensorList Broadcast(Lowering& to, TensorList tensors) {
  Dims sizes;
  for (const Tensor& tensor : tensors) sizes = BroadcastDims(to, sizes, tensor.sizes());
  const auto unknown = [&](Dim size) { return to.exprs().HasAnonymous(size.expr) && !to.HasSource(size.expr); };
  const bool computed = std::ranges::none_of(sizes, unknown);
  const TensorList originals = tensors;
  for (Tensor& tensor : tensors) {
    if (computed) {
      tensor = to.ExpandTo(tensor, sizes);
      continue;
    }
    // Which of two sizes wins is known at run time only.
    for (const Tensor& other : originals)
      if (other.sizes() != tensor.sizes()) tensor = to.Expand(tensor, to.Shape(other));
  }
  // All have one shape now, which nothing else may have.
  for (Tensor& tensor : tensors) tensor = Sized(to, tensor, tensors.front().sizes());
  if (!tensors.empty()) to.BindSizes(tensors.front());
  return tensors;
}

Tensor Iota(Lowering& to, Dim count) {
  return Sized(to, to.Range(to.ConstantInt(0), to.Number(count), to.ConstantInt(1)), {count});
}

Tensor Flat(Lowering& to, Tensor tensor) {
  if (tensor.rank() == 1) return tensor;
  return to.ReshapeTo(tensor, Dims{to.Numel(tensor)});
}

Tensor AtLeast1d(Lowering& to, Tensor tensor) { return tensor.rank() == 0 ? to.UnsqueezeAt(tensor, {0}) : tensor; }

Tensor SliceRange(Lowering& to, Tensor tensor, int64_t axis, Dim start, Dim end, Dim step) {
  const bool unit = to.AsConstant(step) == 1;
  if (unit && to.AsConstant(start) == 0 && (end == tensor.size(axis) || to.AsConstant(end) == INT64_MAX)) return tensor;
  const Tensor taken = to.Slice(tensor, to.Number1(start), to.Number1(end), to.ConstantInts({axis}),
                                unit ? Tensor() : to.Number1(step));
  // There are no more than from the start to the end, wherever they are: where one counts from the other end, there are fewer.
  const auto distance = to.AsConstant(to.Minus(end, start));
  const Expr size = taken.ranked() ? taken.size(axis).expr : Expr{};
  if (unit && distance && *distance >= 0 && size && !to.exprs().AsConstant(size) && size != tensor.size(axis).expr) {
    if (to.exprs().RangeOf(start.expr).min >= 0 && to.exprs().RangeOf(to.Minus(tensor.size(axis), end).expr).min >= 0)  // it is within the tensor
      return Sized(to, taken, WithSize(taken.sizes(), axis, to.Of(*distance)));
    const auto range = to.exprs().RangeOf(size);
    to.exprs().SetRange(size, {std::max<int64_t>(range.min, 0), std::min(range.max, *distance)});
  }
  return taken;
}

Dims DimsOf(Lowering& to, const Ints& sizes) {
  Dims dims;
  for (int64_t size : sizes) dims.push_back(to.Of(size));
  return dims;
}

Dims WithSize(const Dims& sizes, int64_t axis, Dim size) {
  if (axis < 0 || axis >= static_cast<int64_t>(sizes.size())) onnx::ThrowNoAxis(axis, static_cast<int64_t>(sizes.size()));
  Dims result = sizes;
  result[static_cast<size_t>(axis)] = size;
  return result;
}

Ints MovingPermutation(int64_t rank, const Ints& source, const Ints& destination) {
  auto fits = [&](const Ints& axes) {
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] < 0 || axes[i] >= rank || std::find(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(i), axes[i]) != axes.begin() + static_cast<ptrdiff_t>(i)) return false;
    return true;
  };
  if (source.size() != destination.size() || !fits(source) || !fits(destination))
    throw onnx::BadOperand("moves dimensions that the tensor lacks, or one of them twice");
  Ints permutation(static_cast<size_t>(rank), -1);
  for (size_t i = 0; i < source.size(); ++i) permutation[static_cast<size_t>(destination[i])] = source[i];
  int64_t next = 0;
  for (int64_t& from : permutation) {
    if (from >= 0) continue;
    while (std::ranges::find(source, next) != source.end()) ++next;
    from = next++;
  }
  return permutation;
}

Ints Inverse(const Ints& permutation) {
  Ints inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return inverse;
}

Dim DiagonalLength(Lowering& to, Dim rows, Dim columns, Dim offset) {
  ExprPool& exprs = to.exprs();
  const Expr zero = exprs.Constant(0);
  columns = to.Minus(columns, {exprs.Max(offset.expr, zero)});
  rows = to.Plus(rows, {exprs.Min(offset.expr, zero)});
  const Expr length = exprs.Min(rows.expr, columns.expr);
  return {exprs.RangeOf(length).min >= 0 ? length : exprs.Max(length, zero)};
}

Tensor DiagonalMask(Lowering& to, Dim rows, Dim columns, Dim offset) {
  Tensor row = Iota(to, rows);
  if (to.AsConstant(offset) != 0) row = to.Add(row, to.Number(offset));
  return to.Equal(to.UnsqueezeAt(row, {1}), Iota(to, columns));
}

Tensor PadEnd(Lowering& to, Tensor tensor, int64_t axis, Dim count) {
  if (to.AsConstant(count) == 0) return tensor;
  const Tensor zeros = to.Full(WithSize(tensor.sizes(), axis, count), int64_t{0}, tensor.dtype());
  return to.Concat({tensor, zeros}, {.axis = axis});
}

Dims ContiguousStrides(Lowering& to, const Dims& sizes) {
  Dims strides(sizes.size());
  Dim next = to.Of(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next = to.Times(next, {to.exprs().Max(sizes[i].expr, to.exprs().Constant(1))});
  }
  return strides;
}

Tensor StridedPositions(Lowering& to, const Dims& sizes, const Dims& strides, Dim offset) {
  if (sizes.size() != strides.size()) throw onnx::BadOperand("takes a stride for each size");
  Tensor positions = to.Number(offset);
  for (size_t i = 0; i < sizes.size() && i < strides.size(); ++i) {
    Tensor steps = Iota(to, sizes[i]);
    if (to.AsConstant(strides[i]) != 1) steps = to.Mul(steps, to.Number(strides[i]));
    Ints shape(sizes.size() - i, 1);
    shape[0] = -1;
    positions = to.Add(positions, shape.size() == 1 ? steps : to.ReshapeTo(steps, shape));
  }
  // A broadcast of ranges has every size by construction.
  return Sized(to, positions, sizes);
}

}  // namespace flambeau::lower
