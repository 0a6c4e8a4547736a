// Reading elements by position.
#include "lower/ops/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/views.h"

namespace flambeau::lower {

namespace {

bool IsMask(const Tensor& index) { return index.dtype() == DType::kBool || index.dtype() == DType::kUint8; }

}  // namespace

Tensor NonZeroCoordinates(Lowering& to, Tensor self) {
  using enum DType;
  constexpr DType kExact[] = {kFloat32, kInt32, kInt64, kUint8};
  const Tensor x = std::ranges::find(kExact, self.dtype()) == std::end(kExact) ? to.CastTo(self, kBool) : self;
  return to.NonZero(x);
}

std::optional<int64_t> SingleMask(const TensorList& indices) {
  std::optional<int64_t> found;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (found || !IsMask(indices[i]) || indices[i].rank() == 0) return std::nullopt;
    found = static_cast<int64_t>(i);
  }
  return found;
}

IndexPlan PlanIndices(Lowering& to, Tensor self, const TensorList& indices) {
  IndexPlan plan{self, {}, {}, {}, 0};
  Ints dims;  // the indexed dimensions
  int64_t dim = 0;
  for (const Tensor& index : indices) {
    if (!index) {
      ++dim;
      continue;
    }
    if (!IsMask(index)) {
      plan.indices.push_back(index);
      dims.push_back(dim++);
      continue;
    }
    // A mask is an index for each of its dimensions; a 0-d one makes a dimension of its own.
    if (index.rank() == 0) plan.self = to.UnsqueezeAt(plan.self, {dim});
    const Tensor coordinates = NonZeroCoordinates(to, AtLeast1d(to, index));
    for (int64_t i = 0; i < std::max<int64_t>(index.rank(), 1); ++i) {
      plan.indices.push_back(to.GatherIndex(coordinates, 0, to.Of(i)));
      dims.push_back(dim++);
    }
  }
  Ints destination(dims.size());
  std::iota(destination.begin(), destination.end(), 0);
  plan.to_front = MovingPermutation(plan.self.rank(), dims, destination);
  for (const Tensor& index : plan.indices) plan.index_sizes = BroadcastDims(to, plan.index_sizes, index.sizes());
  // Indices side by side: the result's dimensions are in their place, else in front.
  const bool adjacent = dims.empty() || dims.back() - dims.front() + 1 == static_cast<int64_t>(dims.size());
  plan.position = adjacent && !dims.empty() ? dims.front() : 0;
  return plan;
}

Tensor StackIndices(Lowering& to, const IndexPlan& plan) {
  const int64_t last = static_cast<int64_t>(plan.index_sizes.size());
  TensorList columns = Broadcast(to, plan.indices);
  for (Tensor& column : columns) column = to.UnsqueezeAt(to.CastTo(column, DType::kInt64), {last});
  return columns.size() == 1 ? columns.front() : to.Concat(columns, {.axis = last});
}

TensorList WithinSizes(Lowering& to, const Tensor& self, TensorList indices) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    const Dim size = self.size(static_cast<int64_t>(i));
    indices[i] = to.Clip(to.CastTo(indices[i], DType::kInt64), to.Number(to.Minus(to.Of(0), size)),
                         to.Number(to.Minus(size, to.Of(1))));
  }
  return indices;
}

Tensor SelectInt(Lowering& to, Tensor self, int64_t dim, Dim index) {
  return to.GatherIndex(self, to.Axis(dim, self), index);
}

namespace {

Tensor MaskedRows(Lowering& to, Tensor self, Tensor mask, int64_t dim) {
  // The masked dimensions become one, of which Compress keeps some.
  Dims merged = self.sizes();
  Dim count = to.Of(1);
  for (int64_t i = 0; i < mask.rank(); ++i) count = to.Times(count, self.size(dim + i));
  merged.erase(merged.begin() + dim, merged.begin() + dim + mask.rank());
  merged.insert(merged.begin() + dim, count);
  return to.Compress(to.ReshapeTo(self, merged), to.CastTo(Flat(to, mask), DType::kBool), {.axis = dim});
}

}  // namespace

Tensor Index(Lowering& to, Tensor self, TensorList indices) {
  if (const auto dim = SingleMask(indices)) return MaskedRows(to, self, indices[static_cast<size_t>(*dim)], *dim);
  const IndexPlan plan = PlanIndices(to, self, indices);
  if (plan.indices.empty()) return self;
  if (plan.indices.size() == 1) return to.Gather(plan.self, plan.indices.front(), {.axis = plan.position});
  const Tensor gathered = to.GatherND(to.Permute(plan.self, plan.to_front), StackIndices(to, plan));
  if (plan.position == 0) return gathered;
  Ints source(plan.index_sizes.size()), destination(source.size());
  std::iota(source.begin(), source.end(), 0);
  std::iota(destination.begin(), destination.end(), plan.position);
  return MoveDims(to, gathered, source, destination);
}

Tensor TakeAlong(Lowering& to, Tensor self, int64_t dim, Tensor index) {
  // An empty index may have any rank.
  if (to.AsConstant(to.Numel(index)) == 0) return to.Full(index.sizes(), int64_t{0}, self.dtype());
  const Tensor x = AtLeast1d(to, self), positions = AtLeast1d(to, index);
  const Tensor taken = to.GatherElements(x, positions, {.axis = to.Axis(dim, x)});
  return index.rank() == 0 ? to.SqueezeAt(taken, {0}) : taken;
}

namespace {

Tensor SliceTensor(Lowering& to, Tensor self, int64_t dim, std::optional<Dim> start, std::optional<Dim> end, Dim step) {
  return SliceRange(to, self, to.Axis(dim, self), start.value_or(to.Of(0)), end.value_or(to.Of(INT64_MAX)), step);
}

Tensor Narrow(Lowering& to, Tensor self, int64_t dim, Dim start, Dim length) {
  const int64_t axis = to.Axis(dim, self);
  const auto from = to.AsConstant(start), count = to.AsConstant(length), size = to.AsConstant(self.size(axis));
  if (from && count && size && (*from < -*size || *from > *size || *count > *size - (*from < 0 ? *from + *size : *from)))
    throw onnx::BadOperand(fmt::format("takes {} elements from {} on of a dimension of {}", *count, *from, *size));
  const Dim first = FromFront(to, start, self.size(axis));
  return Sized(to, SliceRange(to, self, axis, first, to.Plus(first, length), to.Of(1)),
               WithSize(self.sizes(), axis, length));
}

Tensor NarrowTensor(Lowering& to, Tensor self, int64_t dim, Tensor start, Dim length) {
  const int64_t axis = to.Axis(dim, self);
  const Tensor positions = to.CastTo(start, DType::kInt64);
  return to.Gather(self, to.Add(Iota(to, length), positions), {.axis = axis});
}

Tensor IndexSelect(Lowering& to, Tensor self, int64_t dim, Tensor index) {
  if (self.rank() == 0) return self;
  return to.Gather(self, AtLeast1d(to, index), {.axis = to.Axis(dim, self)});
}

Tensor UnsafeMaskedIndex(Lowering& to, Tensor self, Tensor mask, TensorList indices, Scalar fill) {
  const Tensor read = Index(to, self, WithinSizes(to, self, std::move(indices)));
  return to.Where(mask, read, to.NumberOf(fill, self.dtype()));
}

Tensor Gather(Lowering& to, Tensor self, int64_t dim, Tensor index, Unused) { return TakeAlong(to, self, dim, index); }

Tensor Take(Lowering& to, Tensor self, Tensor index) { return to.Gather(Flat(to, self), index); }

Tensor TakeAlongDim(Lowering& to, Tensor self, Tensor indices, std::optional<int64_t> dim) {
  if (!dim) return to.GatherElements(Flat(to, self), Flat(to, indices));
  const int64_t axis = to.Axis(*dim, self);
  // All dimensions broadcast but the one that is indexed: one place of it stands for all.
  auto place = [&](const Tensor& tensor) { return SliceRange(to, tensor, axis, to.Of(0), to.Of(1), to.Of(1)); };
  const Dims sizes = Broadcast(to, {place(self), place(indices)}).front().sizes();
  return TakeAlong(to, to.ExpandTo(self, WithSize(sizes, axis, self.size(axis))), axis,
                   to.ExpandTo(indices, WithSize(sizes, axis, indices.size(axis))));
}

Tensor MaskedSelect(Lowering& to, Tensor self, Tensor mask) {
  const TensorList both = Broadcast(to, {self, to.CastTo(mask, DType::kBool)});
  return to.Compress(Flat(to, AtLeast1d(to, both[0])), Flat(to, AtLeast1d(to, both[1])), {.axis = 0});
}

Tensor Nonzero(Lowering& to, Tensor self) {
  if (self.rank() > 0) return to.Permute(NonZeroCoordinates(to, self), {1, 0});
  // A row of no coordinates for a 0-d tensor that isn't zero.
  const Tensor row = to.Permute(NonZeroCoordinates(to, AtLeast1d(to, self)), {1, 0});
  return SliceRange(to, row, 1, to.Of(0), to.Of(0), to.Of(1));
}

TensorList NonzeroNumpy(Lowering& to, Tensor self) {
  const Tensor coordinates = NonZeroCoordinates(to, AtLeast1d(to, self));
  TensorList columns;
  for (int64_t i = 0; i < std::max<int64_t>(self.rank(), 1); ++i)
    columns.push_back(to.GatherIndex(coordinates, 0, to.Of(i)));
  return columns;
}

Tensor NonzeroStatic(Lowering& to, Tensor self, Dim size, int64_t fill_value) {
  const Tensor found = Nonzero(to, self);
  const Dims sizes{size, to.Of(self.rank())};
  const Tensor padded = to.Concat({found, to.Full(sizes, fill_value, DType::kInt64)}, {.axis = 0});
  return Sized(to, SliceRange(to, padded, 0, to.Of(0), size, to.Of(1)), sizes);
}

// Scales down the rows in use that are longer than `max_norm`.
Tensor EmbeddingRenorm(Lowering& to, Tensor self, Tensor indices, double max_norm, double norm_type) {
  auto number = [&](double value) { return to.ConstantOf(value, self.dtype()); };
  const Tensor magnitudes = to.Abs(self), columns = to.ConstantInts({1});
  const Tensor norms = norm_type == 2          ? to.ReduceL2(self, columns)
                       : norm_type == 1        ? to.ReduceL1(self, columns)
                       : std::isinf(norm_type) ? to.ReduceMax(magnitudes, columns)
                                               : to.Pow(to.ReduceSum(to.Pow(magnitudes, number(norm_type)), columns),
                                                        number(1 / norm_type));
  const Tensor scaled = to.Mul(self, to.Div(number(max_norm), to.Add(norms, number(1e-7))));
  const Tensor used_rows = Flat(to, AtLeast1d(to, indices));
  const Tensor unused = to.Full(Dims{self.size(0)}, int64_t{0}, DType::kInt32);
  const Tensor ones = to.Full(used_rows.sizes(), int64_t{1}, DType::kInt32);
  const Tensor used = to.CastTo(to.UnsqueezeAt(to.ScatterElements(unused, used_rows, ones), {1}), DType::kBool);
  return to.Where(to.And(used, to.Greater(norms, number(max_norm))), scaled, self);
}

Tensor OneHot(Lowering& to, Tensor self, Dim num_classes) {
  const bool counted = to.AsConstant(num_classes) == -1;
  Tensor depth = counted ? Tensor() : to.UnsqueezeAt(to.Number(num_classes), {0});
  if (counted) depth = to.Add(to.ReduceMax(Flat(to, self), to.ConstantInts({0})), to.ConstantInts({1}));
  const Tensor rows = to.OneHot(AtLeast1d(to, self), depth, to.ConstantInts({0, 1}));
  return self.rank() == 0 ? to.SqueezeAt(rows, {0}) : rows;
}

constexpr OpRow kRows[] = {
    Op<Index>("aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"),
    Op<Index>("aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor"),
    Op<UnsafeMaskedIndex>(
        "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor"),
    Op<Nonzero>("aten::argwhere(Tensor self) -> Tensor"),
    Op<EmbeddingRenorm>(
        "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor"),
    Op<Gather>("aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"),
    Op<Index>("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"),
    Op<Index>("aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor"),
    Op<IndexSelect>("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor"),
    Op<MaskedSelect>("aten::masked_select(Tensor self, Tensor mask) -> Tensor"),
    Op<Narrow>("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)"),
    Op<NarrowTensor>("aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)"),
    Op<Narrow>("aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor"),
    Op<Nonzero>("aten::nonzero(Tensor self) -> Tensor"),
    Op<NonzeroNumpy>("aten::nonzero_numpy(Tensor self) -> Tensor[]"),
    Op<NonzeroStatic>("aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor"),
    Op<OneHot>("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor"),
    Op<SelectInt>("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)"),
    Op<SelectInt>("aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor"),
    Op<SliceTensor>(
        "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) "
        "-> Tensor(a)"),
    Op<SliceTensor>("aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, "
                    "SymInt step=1) -> Tensor"),
    Op<Take>("aten::take(Tensor self, Tensor index) -> Tensor"),
    Op<TakeAlongDim>("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor"),
    Op<NonzeroNumpy>("aten::where(Tensor condition) -> Tensor[]"),
};

}  // namespace

std::span<const OpRow> Indexing() { return kRows; }

}  // namespace flambeau::lower
