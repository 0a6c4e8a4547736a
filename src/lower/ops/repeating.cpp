// Repeating, reversing and combining elements.
#include <algorithm>
#include <numeric>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/indexing.h"
#include "lower/ops/steps.h"
#include "lower/ops/views.h"
#include "onnx/infer/sizes.h"

namespace flambeau::lower {

Tensor Flip(Lowering& to, Tensor self, Ints dims) {
  if (self.rank() == 0 || dims.empty()) return self;
  const Ints backwards(dims.size(), -1), beyond_first(dims.size(), INT64_MIN);
  return Sized(to,
               to.Slice(self, to.ConstantInts(backwards), to.ConstantInts(beyond_first),
                        to.ConstantInts(to.Axes(dims, self)), to.ConstantInts(backwards)),
               self.sizes());
}

TensorList MeshgridIj(Lowering& to, TensorList tensors) {
  Dims sizes;
  for (const Tensor& tensor : tensors) sizes.push_back(to.Numel(tensor));
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dims shape(tensors.size(), to.Of(1));
    shape[i] = sizes[i];
    tensors[i] = to.ExpandTo(to.ReshapeTo(tensors[i], shape), sizes);
  }
  return tensors;
}

namespace {

Tensor Repeat(Lowering& to, Tensor self, Dims repeats) {
  const Tensor x = LeadingDims(to, self, static_cast<int64_t>(repeats.size()));
  Dims sizes = x.sizes();
  bool only_ones = true, none = true;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const bool once = to.AsConstant(repeats[i]) == 1;
    none &= once;
    only_ones &= once || to.AsConstant(sizes[i]) == 1;
    sizes[i] = to.Times(sizes[i], repeats[i]);
  }
  if (none) return x;
  // Expand moves no elements in most runtimes.
  if (only_ones) return to.ExpandTo(x, sizes);
  return Sized(to, to.Tile(x, to.Shape1(repeats)), sizes);
}

Tensor Tile(Lowering& to, Tensor self, Dims dims) {
  while (static_cast<int64_t>(dims.size()) < self.rank()) dims.insert(dims.begin(), to.Of(1));
  return Repeat(to, self, std::move(dims));
}

Tensor RepeatInterleaveInt(Lowering& to, Tensor self, Dim repeats, std::optional<int64_t> dim, std::optional<Dim>) {
  const Tensor x = dim ? AtLeast1d(to, self) : Flat(to, AtLeast1d(to, self));
  const int64_t axis = dim ? to.Axis(*dim, x) : 0;
  Dims repeated = x.sizes(), sizes = repeated;
  repeated.insert(repeated.begin() + axis + 1, repeats);
  sizes[static_cast<size_t>(axis)] = to.Times(sizes[static_cast<size_t>(axis)], repeats);
  return to.ReshapeTo(to.ExpandTo(to.UnsqueezeAt(x, {axis + 1}), repeated), sizes);
}

// 0 as often as repeats[0] says, then 1, …: the rows of the mask
// `column < repeats[row]`, as NonZero lists them.
Tensor RepeatedPositions(Lowering& to, Tensor repeats) {
  const Tensor counts = to.CastTo(AtLeast1d(to, repeats), DType::kInt64);
  // The 0 stands in where there are no counts.
  const Tensor most =
      to.ReduceMax(to.Concat({counts, to.ConstantInts({0})}, {.axis = 0}), to.ConstantInts({0}), {.keepdims = 0});
  const Tensor columns = to.Range(to.ConstantInt(0), most, to.ConstantInt(1));
  return to.GatherIndex(NonZeroCoordinates(to, to.Less(columns, to.UnsqueezeAt(counts, {1}))), 0, to.Of(0));
}

Tensor RepeatInterleaveTensor(Lowering& to, Tensor repeats, std::optional<Dim>) {
  return to.CastTo(RepeatedPositions(to, repeats), repeats.dtype());
}

Tensor RepeatInterleaveSelf(Lowering& to, Tensor self, Tensor repeats, std::optional<int64_t> dim, std::optional<Dim>) {
  const Tensor x = dim ? AtLeast1d(to, self) : Flat(to, AtLeast1d(to, self));
  const int64_t axis = dim ? to.Axis(*dim, x) : 0;
  // One count serves for all.
  const Tensor counts = to.ExpandTo(AtLeast1d(to, repeats), Dims{x.size(axis)});
  return to.Gather(x, RepeatedPositions(to, counts), {.axis = axis});
}

Tensor FlipLr(Lowering& to, Tensor self) { return Flip(to, self, {1}); }
Tensor FlipUd(Lowering& to, Tensor self) { return Flip(to, self, {0}); }

Tensor RollAxis(Lowering& to, Tensor self, Dim shift, int64_t axis) {
  const Dim size = self.size(axis);
  if (to.AsConstant(size) == 0 || to.AsConstant(shift) == 0) return self;
  // Where the last `shift` elements begin.
  const Expr divisor = onnx::MayBeZero(to.exprs(), size.expr) ? to.exprs().Max(size.expr, to.exprs().Constant(1)) : size.expr;
  const Dim start{to.exprs().Mod(to.Minus(to.Of(0), shift).expr, divisor)};
  if (to.AsConstant(start) == 0) return self;
  const TensorList parts = to.SplitSizes(self, axis, Dims{start, to.Minus(self.size(axis), start)});
  return Sized(to, to.Concat({parts[1], parts[0]}, {.axis = axis}), self.sizes());
}

Tensor Roll(Lowering& to, Tensor self, Dims shifts, Ints dims) {
  if (self.rank() == 0) return self;
  if (shifts.size() != std::max<size_t>(dims.size(), 1)) throw onnx::BadOperand("takes a shift for each dimension");
  if (dims.empty()) return to.ReshapeTo(RollAxis(to, Flat(to, self), shifts.front(), 0), self.sizes());
  for (size_t i = 0; i < dims.size(); ++i) self = RollAxis(to, self, shifts[i], to.Axis(dims[i], self));
  return self;
}

Tensor Rot90(Lowering& to, Tensor self, int64_t k, Ints dims) {
  if (dims.size() != 2) throw onnx::BadOperand("turns in a plane of two dimensions");
  switch (((k % 4) + 4) % 4) {
    case 1: return TransposeInt(to, Flip(to, self, {dims[1]}), dims[0], dims[1]);
    case 2: return Flip(to, self, dims);
    case 3: return TransposeInt(to, Flip(to, self, {dims[0]}), dims[0], dims[1]);
    default: return self;
  }
}

TensorList Meshgrid(Lowering& to, TensorList tensors, std::string_view indexing) {
  // x runs along the second dimension, y along the first.
  const bool swapped = indexing == "xy" && tensors.size() > 1;
  if (swapped) std::swap(tensors[0], tensors[1]);
  tensors = MeshgridIj(to, std::move(tensors));
  if (swapped) std::swap(tensors[0], tensors[1]);
  return tensors;
}

Tensor CartesianProd(Lowering& to, TensorList tensors) {
  if (tensors.size() == 1) return tensors.front();
  TensorList columns = MeshgridIj(to, std::move(tensors));
  const DType dtype = to.PromotedDtype(columns);
  for (Tensor& column : columns) column = to.ReshapeTo(to.CastTo(column, dtype), Ints{-1, 1});
  return to.Concat(columns, {.axis = 1});
}

Tensor Combinations(Lowering& to, Tensor self, int64_t r, bool with_replacement) {
  if (r == 0) return to.Full(Dims{to.Of(0)}, int64_t{0}, self.dtype());
  if (r == 1) return to.UnsqueezeAt(self, {1});
  // Coordinates of the corner of an r-dimensional cube in which they ascend.
  const Tensor positions = Iota(to, self.size(0));
  Tensor ascending;
  if (r < 0) throw onnx::BadOperand("combines a negative number of elements");
  for (int64_t i = 0, count = WrittenOut(r); i + 1 < count; ++i) {
    auto along = [&](int64_t axis) {
      Ints shape(static_cast<size_t>(r), 1);
      shape[static_cast<size_t>(axis)] = -1;
      return to.ReshapeTo(positions, shape);
    };
    const Tensor left = along(i), right = along(i + 1);
    const Tensor pair = with_replacement ? to.LessOrEqual(left, right) : to.Less(left, right);
    ascending = ascending ? to.And(ascending, pair) : pair;
  }
  return to.Gather(self, to.Transpose(NonZeroCoordinates(to, ascending), {.perm = {1, 0}}));
}

constexpr OpRow kRows[] = {
    Op<CartesianProd>("aten::cartesian_prod(Tensor[] tensors) -> Tensor"),
    Op<Combinations>("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor"),
    Op<Flip>("aten::flip(Tensor self, int[] dims) -> Tensor"),
    Op<FlipLr>("aten::fliplr(Tensor self) -> Tensor"),
    Op<FlipUd>("aten::flipud(Tensor self) -> Tensor"),
    Op<MeshgridIj>("aten::meshgrid(Tensor[] tensors) -> Tensor[]"),
    Op<Meshgrid>("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]"),
    Op<Repeat>("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor"),
    Op<RepeatInterleaveTensor>("aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor"),
    Op<RepeatInterleaveSelf>("aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
                             "SymInt? output_size=None) -> Tensor"),
    Op<RepeatInterleaveInt>("aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
                            "SymInt? output_size=None) -> Tensor"),
    Op<Roll>("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor"),
    Op<Rot90>("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor"),
    Op<Tile>("aten::tile(Tensor self, SymInt[] dims) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Repeating() { return kRows; }

}  // namespace flambeau::lower
