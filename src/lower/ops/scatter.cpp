// Writing elements by position.
#include "lower/ops/scatter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/geometry.h"
#include "lower/ops/indexing.h"
#include "lower/ops/views.h"

namespace flambeau::lower {

namespace {

std::string ReductionName(Combine combine) {
  switch (combine) {
    case Combine::kReplace: return "none";
    case Combine::kAdd: return "add";
    case Combine::kMul: return "mul";
    case Combine::kMin: return "min";
    case Combine::kMax: return "max";
  }
  return {};
}

// Reductions of bool are of integers, and those of small floats need a wider sum.
DType CombiningDtype(DType dtype, Combine combine) {
  if (combine == Combine::kReplace) return dtype;
  if (dtype == DType::kBool) return DType::kInt32;
  return AccumulationDtype(dtype);
}

}  // namespace

Tensor ScatterAxis(Lowering& to, Tensor self, int64_t axis, Tensor index, Tensor source, Combine combine) {
  const DType wide = CombiningDtype(self.dtype(), combine);
  const Tensor scattered = to.ScatterElements(to.CastTo(self, wide), index, to.CastTo(source, wide),
                                              {.axis = axis, .reduction = ReductionName(combine)});
  return to.CastTo(scattered, self.dtype());
}

Tensor ScatterPoints(Lowering& to, Tensor self, Tensor index, Tensor updates, Combine combine) {
  const DType wide = CombiningDtype(self.dtype(), combine);
  const Tensor scattered =
      to.ScatterND(to.CastTo(self, wide), index, to.CastTo(updates, wide), {.reduction = ReductionName(combine)});
  return to.CastTo(scattered, self.dtype());
}

namespace {

// --- index lists ----------------------------------------------------------------

// Values that do not depend on which element of the mask they go to.
std::optional<Tensor> UniformOverMask(Lowering& to, Tensor values, int64_t mask_rank, int64_t rest) {
  if (values.rank() <= rest) return values;
  if (to.AsConstant(values.size(values.rank() - rest - 1)) != 1) return std::nullopt;
  Ints axes(static_cast<size_t>(mask_rank - 1));
  std::iota(axes.begin(), axes.end(), values.rank() - rest);
  return to.UnsqueezeAt(values, axes);
}

// Where the mask covers `dim` and following dimensions of `self`.
Tensor MaskOver(Lowering& to, Tensor self, Tensor mask, int64_t dim) {
  Ints trailing(static_cast<size_t>(self.rank() - dim - mask.rank()));
  std::iota(trailing.begin(), trailing.end(), mask.rank());
  return to.UnsqueezeAt(to.CastTo(mask, DType::kBool), trailing);
}

Tensor Combined(Lowering& to, Tensor a, Tensor b) { return a.is_bool() ? to.Or(a, b) : to.Add(a, b); }

Tensor IndexPut(Lowering& to, Tensor self, TensorList indices, Tensor values, bool accumulate) {
  values = to.CastTo(values, self.dtype());
  if (const auto dim = SingleMask(indices)) {
    const Tensor mask = indices[static_cast<size_t>(*dim)];
    if (const auto uniform = UniformOverMask(to, values, mask.rank(), self.rank() - *dim - mask.rank()))
      return to.Where(MaskOver(to, self, mask, *dim), accumulate ? Combined(to, self, *uniform) : *uniform, self);
  }
  const IndexPlan plan = PlanIndices(to, self, indices);
  if (plan.indices.empty())
    return accumulate ? Combined(to, self, to.ExpandTo(values, self.sizes())) : to.ExpandTo(values, self.sizes());
  const Tensor points = StackIndices(to, plan);
  Dims point_sizes = points.sizes();
  point_sizes.pop_back();
  // The values in the form of what reading would give, then with the index dimensions first.
  const Tensor permuted = to.Permute(plan.self, plan.to_front);
  Dims rest = permuted.sizes();
  rest.erase(rest.begin(), rest.begin() + static_cast<int64_t>(plan.indices.size()));
  Dims sizes = rest;
  sizes.insert(sizes.begin() + plan.position, point_sizes.begin(), point_sizes.end());
  Tensor updates = to.ExpandTo(values, sizes);
  Ints source(point_sizes.size()), destination(source.size());
  std::iota(source.begin(), source.end(), plan.position);
  std::iota(destination.begin(), destination.end(), 0);
  updates = MoveDims(to, updates, source, destination);
  const Tensor written = ScatterPoints(to, permuted, points, updates, accumulate ? Combine::kAdd : Combine::kReplace);
  const Tensor result = to.Permute(written, Inverse(plan.to_front));
  return plan.self.rank() == self.rank() ? result : to.ReshapeTo(result, self.sizes());
}

Tensor IndexPutUnsafe(Lowering& to, Tensor self, TensorList indices, Tensor values, bool accumulate, Unused) {
  return IndexPut(to, self, std::move(indices), values, accumulate);
}

Tensor MaskedIndexPutAccumulate(Lowering& to, Tensor self, Tensor mask, TensorList indices, Tensor values) {
  const Tensor kept = to.Where(mask, values, to.ConstantOf(int64_t{0}, values.dtype()));
  return IndexPut(to, self, WithinSizes(to, self, std::move(indices)), kept, true);
}

// --- one index for a dimension ----------------------------------------------------

// `write(self, axis, index)` with 0-d tensors as 1-D ones and the index of every
// row repeated over the other dimensions.
struct Rows {
  Tensor self, index, source;
  int64_t axis;
  Tensor Restored(Lowering& to, Tensor result, const Tensor& original) const {
    return original.rank() == 0 ? to.SqueezeAt(result, {0}) : result;
  }
};

Rows RowsOf(Lowering& to, Tensor self, int64_t dim, Tensor index, const std::optional<Tensor>& source) {
  Rows rows;
  rows.self = AtLeast1d(to, self);
  rows.axis = to.Axis(dim, rows.self);
  const Tensor positions = to.CastTo(AtLeast1d(to, index), DType::kInt64);
  const Dims sizes = WithSize(rows.self.sizes(), rows.axis, positions.size(0));
  Ints trailing(static_cast<size_t>(rows.self.rank() - 1 - rows.axis));
  std::iota(trailing.begin(), trailing.end(), 1);
  rows.index = to.ExpandTo(to.UnsqueezeAt(positions, trailing), sizes);
  if (source) rows.source = to.ExpandTo(to.CastTo(AtLeast1d(to, *source), self.dtype()), sizes);
  return rows;
}

Tensor IndexCopy(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor source) {
  const Rows rows = RowsOf(to, self, dim, index, source);
  return rows.Restored(to, ScatterAxis(to, rows.self, rows.axis, rows.index, rows.source, Combine::kReplace), self);
}

Tensor IndexAdd(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor source, Scalar alpha) {
  const Rows rows = RowsOf(to, self, dim, index, source);
  Tensor scaled = rows.source;
  if (!self.is_bool()) scaled = to.Scale(scaled, alpha);
  else if (!alpha.Is(1)) scaled = to.And(scaled, to.NumberOf(alpha, DType::kBool));
  return rows.Restored(to, ScatterAxis(to, rows.self, rows.axis, rows.index, scaled, Combine::kAdd), self);
}

Tensor IndexFillTensor(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor value) {
  const Rows rows = RowsOf(to, self, dim, index, {});
  const Tensor filling = to.ExpandTo(to.CastTo(value, self.dtype()), rows.index.sizes());
  return rows.Restored(to, ScatterAxis(to, rows.self, rows.axis, rows.index, filling, Combine::kReplace), self);
}
Tensor IndexFillScalar(Lowering& to, Tensor self, int64_t dim, Tensor index, Scalar value) {
  return IndexFillTensor(to, self, dim, index, to.NumberOf(value, self.dtype()));
}

// --- scatter ----------------------------------------------------------------------

// The value that a reduction leaves unchanged.
Scalar Identity(DType dtype, Combine combine) {
  if (combine == Combine::kAdd) return int64_t{0};
  if (combine == Combine::kMul) return int64_t{1};
  const bool lowest = combine == Combine::kMax;
  if (IsFloating(dtype))
    return lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (dtype == DType::kBool) return int64_t{lowest ? 0 : 1};
  const int64_t bits = ByteSize(dtype) * 8;
  if (!IsSigned(dtype)) return lowest ? int64_t{0} : bits == 64 ? int64_t{-1} : (int64_t{1} << bits) - 1;
  return lowest ? INT64_MIN >> (64 - bits) : INT64_MAX >> (64 - bits);
}

struct Reduction {
  Combine combine;
  bool mean = false;
};
Reduction ReductionOf(std::string_view reduce) {
  if (reduce == "mean") return {Combine::kAdd, true};
  if (reduce == "prod" || reduce == "multiply") return {Combine::kMul};
  if (reduce == "amax") return {Combine::kMax};
  if (reduce == "amin") return {Combine::kMin};
  return {Combine::kAdd};
}

// A maximum or minimum with NaN is NaN; onnxruntime keeps one or the other of the two.
Tensor ScatterExtreme(Lowering& to, Tensor base, int64_t axis, Tensor index, Tensor source, Combine combine) {
  const Tensor scattered = ScatterAxis(to, base, axis, index, source, combine);
  if (!IsFloating(base.dtype())) return scattered;
  const Tensor undefined = ScatterAxis(to, to.IsNaN(base), axis, index, to.IsNaN(source), Combine::kMax);
  return to.Where(undefined, to.NumberOf(NAN, base.dtype()), scattered);
}

// All operands of one rank >= 1, index and source of one shape.
Tensor Reduce(Lowering& to, Tensor self, int64_t axis, Tensor index, Tensor source, std::string_view reduce,
              bool include_self) {
  const auto [combine, mean] = ReductionOf(reduce);
  Tensor base = self;
  if (!include_self) {
    const Tensor neutral = to.Full(index.sizes(), Identity(self.dtype(), combine), self.dtype());
    base = ScatterAxis(to, self, axis, index, neutral, Combine::kReplace);
  }
  if (combine == Combine::kMax || combine == Combine::kMin) return ScatterExtreme(to, base, axis, index, source, combine);
  if (!mean) return ScatterAxis(to, base, axis, index, source, combine);
  const DType wide = CombiningDtype(self.dtype(), combine);
  const Tensor sum = ScatterAxis(to, to.CastTo(base, wide), axis, index, to.CastTo(source, wide), combine);
  const Tensor ones = to.Full(index.sizes(), int64_t{1}, wide);
  Tensor counts = ScatterAxis(to, to.Full(self.sizes(), int64_t{include_self}, wide), axis, index, ones, combine);
  if (!include_self) counts = to.Max({counts, to.ConstantOf(int64_t{1}, wide)});
  if (IsFloating(wide)) return to.CastTo(to.Div(sum, counts), self.dtype());
  // Integers are divided rounding down.
  return to.CastTo(to.Div(to.Sub(sum, to.Mod(sum, counts)), counts), self.dtype());
}

struct Scattering {
  Tensor self, index, source;
  int64_t axis;
};

// The source may be larger than the index: then only its corner counts.
Scattering ScatteringOf(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor source) {
  Scattering s{AtLeast1d(to, self), to.CastTo(AtLeast1d(to, index), DType::kInt64),
               AtLeast1d(to, to.CastTo(source, self.dtype())), 0};
  s.axis = to.Axis(dim, s.self);
  Ints axes;
  Dims ends;
  for (int64_t i = 0; i < s.index.rank(); ++i) {
    if (s.source.size(i) == s.index.size(i)) continue;
    axes.push_back(i);
    ends.push_back(s.index.size(i));
  }
  if (!axes.empty()) {
    const Tensor starts = to.ConstantInts(Ints(axes.size(), 0));
    s.source = Sized(to, to.Slice(s.source, starts, to.Shape1(ends), to.ConstantInts(axes)), s.index.sizes());
  }
  return s;
}

Tensor ScatterReduceTwo(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor src, std::string_view reduce,
                        bool include_self) {
  const Scattering s = ScatteringOf(to, self, dim, index, src);
  const Tensor result = Reduce(to, s.self, s.axis, s.index, s.source, reduce, include_self);
  return self.rank() == 0 ? to.SqueezeAt(result, {0}) : result;
}
Tensor ScatterReduce(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor src, std::string_view reduce) {
  return ScatterReduceTwo(to, self, dim, index, src, reduce, true);
}
Tensor ScatterAdd(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor src) {
  return ScatterReduceTwo(to, self, dim, index, src, "sum", true);
}
Tensor ScatterSrc(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor src) {
  const Scattering s = ScatteringOf(to, self, dim, index, src);
  const Tensor result = ScatterAxis(to, s.self, s.axis, s.index, s.source, Combine::kReplace);
  return self.rank() == 0 ? to.SqueezeAt(result, {0}) : result;
}
Tensor ScatterValue(Lowering& to, Tensor self, int64_t dim, Tensor index, Scalar value) {
  return ScatterSrc(to, self, dim, index, to.Full(index.sizes(), value, self.dtype()));
}
Tensor ScatterValueReduce(Lowering& to, Tensor self, int64_t dim, Tensor index, Scalar value, std::string_view reduce) {
  return ScatterReduce(to, self, dim, index, to.Full(index.sizes(), value, self.dtype()), reduce);
}

Tensor IndexReduce(Lowering& to, Tensor self, int64_t dim, Tensor index, Tensor source, std::string_view reduce,
                   bool include_self) {
  const Rows rows = RowsOf(to, self, dim, index, source);
  return rows.Restored(to, Reduce(to, rows.self, rows.axis, rows.index, rows.source, reduce, include_self), self);
}

Tensor MaskedScatter(Lowering& to, Tensor self, Tensor mask, Tensor source) {
  const TensorList both = Broadcast(to, {self, mask});
  const Tensor base = AtLeast1d(to, both[0]);
  const Tensor where = NonZeroCoordinates(to, AtLeast1d(to, both[1]));
  const Tensor taken = SliceRange(to, Flat(to, to.CastTo(source, self.dtype())), 0, to.Of(0), where.size(1), to.Of(1));
  const Tensor written = to.ScatterND(base, to.Transpose(where, {.perm = {1, 0}}), taken);
  return both[0].rank() == 0 ? to.SqueezeAt(written, {0}) : written;
}

Tensor Put(Lowering& to, Tensor self, Tensor index, Tensor source, bool accumulate) {
  const Tensor positions = to.UnsqueezeAt(Flat(to, AtLeast1d(to, index)), {1});
  const Tensor updates = Flat(to, AtLeast1d(to, to.CastTo(source, self.dtype())));
  const Combine combine = accumulate ? Combine::kAdd : Combine::kReplace;
  return to.ReshapeTo(ScatterPoints(to, Flat(to, AtLeast1d(to, self)), positions, updates, combine), self.sizes());
}

// --- writing through views ----------------------------------------------------------

Tensor Copy(Lowering& to, Tensor self, Tensor src, Unused) {
  return to.ExpandTo(to.CastTo(src, self.dtype()), self.sizes());
}
Tensor FillTensor(Lowering& to, Tensor self, Tensor value) { return Copy(to, self, value, {}); }
Tensor FillScalar(Lowering& to, Tensor self, Scalar value) { return to.Full(self.sizes(), value, self.dtype()); }

Tensor SelectScatter(Lowering& to, Tensor self, Tensor src, int64_t dim, Dim index) {
  const int64_t axis = to.Axis(dim, self);
  const Dim size = self.size(axis);
  const Tensor slice = to.UnsqueezeAt(to.CastTo(src, self.dtype()), {axis});
  if (to.AsConstant(size) == 1) return to.ExpandTo(slice, self.sizes());
  Ints trailing(static_cast<size_t>(self.rank() - 1 - axis));
  std::iota(trailing.begin(), trailing.end(), 1);
  const Tensor here = to.Equal(Iota(to, size), to.Number(FromFront(to, index, size)));
  return Sized(to, to.Where(to.UnsqueezeAt(here, trailing), slice, self), self.sizes());
}

Tensor SliceScatter(Lowering& to, Tensor self, Tensor src, int64_t dim, std::optional<Dim> start,
                    std::optional<Dim> end, Dim step) {
  const int64_t axis = to.Axis(dim, self);
  ExprPool& exprs = to.exprs();
  const Dim size = self.size(axis);
  const Expr zero = exprs.Constant(0);
  auto clamped = [&](Dim bound) {
    const Expr position = FromFront(to, bound, size).expr;
    return Dim{exprs.Max(exprs.Min(position, size.expr), zero)};
  };
  const Dim first = start ? clamped(*start) : to.Of(0);
  const Dim last = end && to.AsConstant(*end) != INT64_MAX ? clamped(*end) : size;
  const Tensor slice = to.CastTo(src, self.dtype());
  if (to.AsConstant(step) != 1) {
    const Tensor positions = to.Range(to.Number(first), to.Number(last), to.Number(step));
    const Tensor rows = Sized(to, positions, {slice.size(axis)});
    return IndexCopy(to, self, axis, rows, slice);
  }
  std::vector<Tensor> parts;
  if (to.AsConstant(first) != 0) parts.push_back(SliceRange(to, self, axis, to.Of(0), first, to.Of(1)));
  parts.push_back(slice);
  if (last != size)
    parts.push_back(SliceRange(to, self, axis, {exprs.Max(first.expr, last.expr)}, to.Of(INT64_MAX), to.Of(1)));
  if (parts.size() == 1) return slice;
  return Sized(to, to.Concat(parts, {.axis = axis}), self.sizes());
}

constexpr OpRow kRows[] = {
    Op<IndexPutUnsafe>("aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, "
                       "bool unsafe=False) -> Tensor"),
    Op<IndexPut>(
        "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"),
    Op<IndexPut>("aten::_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, "
                 "bool accumulate=False) -> Tensor"),
    Op<MaskedIndexPutAccumulate>(
        "aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, "
        "Tensor values) -> Tensor"),
    Op<Copy>("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"),
    Op<FillScalar>("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor"),
    Op<FillTensor>("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor"),
    Op<IndexAdd>("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor"),
    Op<IndexCopy>("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor"),
    Op<IndexFillScalar>("aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"),
    Op<IndexFillTensor>("aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor"),
    Op<IndexPut>("aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"),
    Op<IndexPut>(
        "aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor"),
    Op<IndexReduce>("aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
                    "bool include_self=True) -> Tensor"),
    Op<MaskedScatter>("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor"),
    Op<Put>("aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor"),
    Op<ScatterReduce>("aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor"),
    Op<ScatterSrc>("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"),
    Op<ScatterValue>("aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"),
    Op<ScatterValueReduce>(
        "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor"),
    Op<ScatterAdd>("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"),
    Op<ScatterReduceTwo>("aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
                         "bool include_self=True) -> Tensor"),
    Op<SelectScatter>("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor"),
    Op<SliceScatter>("aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
                     "SymInt step=1) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Scatter() { return kRows; }

}  // namespace flambeau::lower
