// Counts of elements by bins, and areas by the trapezoidal rule.
#include <algorithm>
#include <array>

#include "lower/op.h"
#include "lower/ops/cumulative.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/geometry.h"
#include "lower/ops/reduction.h"
#include "lower/ops/scatter.h"

namespace flambeau::lower {
namespace {

// --- histograms -----------------------------------------------------------------

// Which of the bins between ascending edges each element is in, and whether it
// is in any.
struct Binned {
  Tensor bin, inside;
};
Binned BinOf(Lowering& to, Tensor x, Tensor edges) {
  const Tensor last = to.GatherIndex(edges, 0, to.Of(-1));
  const Tensor passed = to.GreaterOrEqual(to.UnsqueezeAt(x, {1}), edges);
  const Tensor count = to.ReduceSum(to.CastTo(passed, DType::kInt64), to.ConstantInts({1}), {.keepdims = 0});
  const Tensor inside = to.And(to.GreaterOrEqual(x, to.GatherIndex(edges, 0, to.Of(0))), to.LessOrEqual(x, last));
  // The last bin includes its upper edge.
  const Dim bins = to.Minus(edges.size(0), to.Of(1));
  const Tensor bin = to.Clip(to.Sub(count, to.ConstantInt(1)), to.ConstantInt(0), to.Number(to.Minus(bins, to.Of(1))));
  return {bin, inside};
}

// bins + 1 edges between the ends, or the ends of the data.
Tensor UniformEdges(Lowering& to, Tensor x, int64_t bins, const std::optional<std::array<double, 2>>& range) {
  const DType dtype = x.dtype();
  auto number = [&](double value) { return to.ConstantOf(value, dtype); };
  Tensor low, high;
  if (range) {
    low = number((*range)[0]);
    high = number((*range)[1]);
  } else if (to.AsConstant(x.size(0)) == 0) {
    low = number(0);
    high = number(1);
  } else {
    low = to.ReduceMin(x, {}, {.keepdims = 0});
    high = to.ReduceMax(x, {}, {.keepdims = 0});
  }
  const Tensor flat = to.Equal(low, high);
  low = to.Where(flat, to.Sub(low, number(0.5)), low);
  high = to.Where(flat, to.Add(high, number(0.5)), high);
  // The first half counts from the start, the second from the end.
  const Tensor positions = to.CastTo(Iota(to, to.Of(bins + 1)), dtype);
  const Tensor step = to.Div(to.Sub(high, low), to.ConstantOf(bins, dtype));
  const Tensor from_end = to.Sub(high, to.Mul(step, to.Sub(to.ConstantOf(bins, dtype), positions)));
  const Tensor first_half = to.Less(positions, to.ConstantOf((bins + 1) / 2, dtype));
  return to.Where(first_half, to.Add(low, to.Mul(step, positions)), from_end);
}

// Points [count, dimensions], edges for each dimension.
Tensor Histogram(Lowering& to, Tensor points, const TensorList& edges, const std::optional<Tensor>& weight,
                 bool density) {
  const DType dtype = points.dtype();
  Tensor bin, inside;
  Dims sizes;
  for (size_t d = 0; d < edges.size(); ++d) {
    const Binned one = BinOf(to, to.GatherIndex(points, 1, to.Of(static_cast<int64_t>(d))), edges[d]);
    const Dim bins = to.Minus(edges[d].size(0), to.Of(1));
    bin = bin ? to.Add(to.Mul(bin, to.Number(bins)), one.bin) : one.bin;
    inside = inside ? to.And(inside, one.inside) : one.inside;
    sizes.push_back(bins);
  }
  Tensor counted = to.CastTo(inside, dtype);
  if (weight)
    counted = to.Where(inside, to.CastTo(Flat(to, AtLeast1d(to, *weight)), dtype), to.ConstantOf(int64_t{0}, dtype));
  const Tensor none = to.Full(Dims{to.Product(sizes)}, int64_t{0}, dtype);
  Tensor counts = to.ReshapeTo(ScatterAxis(to, none, 0, bin, counted, Combine::kAdd), sizes);
  if (!density) return counts;
  counts = to.Div(counts, to.ReduceSum(counts, {}, {.keepdims = 0}));
  for (size_t d = 0; d < edges.size(); ++d) {
    const Dim one = to.Of(1);
    const Tensor widths = to.Sub(SliceRange(to, edges[d], 0, one, to.Of(INT64_MAX), one),
                                 SliceRange(to, edges[d], 0, to.Of(0), to.Of(-1), one));
    Ints shape(edges.size(), 1);
    shape[d] = -1;
    counts = to.Div(counts, edges.size() == 1 ? widths : to.ReshapeTo(widths, shape));
  }
  return counts;
}

using HistogramResult = std::tuple<Tensor, Tensor>;
using HistogramddResult = std::tuple<Tensor, TensorList>;

// All dimensions but the last are one of points.
Tensor PointsOf(Lowering& to, Tensor self) {
  const Dim dimensions = self.size(-1);
  Dims leading = self.sizes();
  leading.pop_back();
  return to.ReshapeTo(self, Dims{to.Product(leading), dimensions});
}

HistogramddResult HistogramddBins(Lowering& to, Tensor self, Ints bins, std::optional<Floats> range,
                                  std::optional<Tensor> weight, bool density) {
  const Tensor points = PointsOf(to, self);
  TensorList edges;
  for (size_t d = 0; d < bins.size(); ++d) {
    std::optional<std::array<double, 2>> ends;
    if (range && range->size() >= 2 * d + 2) ends = std::array{(*range)[2 * d], (*range)[2 * d + 1]};
    edges.push_back(UniformEdges(to, to.GatherIndex(points, 1, to.Of(static_cast<int64_t>(d))), bins[d], ends));
  }
  return {Histogram(to, points, edges, weight, density), edges};
}
constexpr Restriction kUnknownDimensions = {"one number of bins for a number of dimensions that is not known",
                                            "torch.histogramdd(x, 2) with x[:, n] of a size n known at run time only",
                                            "the result has one list of edges a dimension"};

HistogramddResult HistogramddInt(Lowering& to, Tensor self, int64_t bins, std::optional<Floats> range,
                                 std::optional<Tensor> weight, bool density) {
  const auto dimensions = to.AsConstant(self.size(-1));
  if (!dimensions) return to.Unsupported(kUnknownDimensions);
  return HistogramddBins(to, self, Ints(static_cast<size_t>(*dimensions), bins), std::move(range), weight, density);
}
HistogramddResult HistogramddEdges(Lowering& to, Tensor self, TensorList bins, std::optional<Floats>,
                                   std::optional<Tensor> weight, bool density) {
  return {Histogram(to, PointsOf(to, self), bins, weight, density), bins};
}
TensorList BinEdges(Lowering& to, Tensor self, Ints bins, std::optional<Floats> range, std::optional<Tensor>, Unused) {
  return std::get<1>(HistogramddBins(to, self, std::move(bins), std::move(range), {}, false));
}
Tensor FromBinCounts(Lowering& to, Tensor self, Ints bins, std::optional<Floats> range, std::optional<Tensor> weight,
                     bool density) {
  return std::get<0>(HistogramddBins(to, self, std::move(bins), std::move(range), weight, density));
}
Tensor FromBinTensors(Lowering& to, Tensor self, TensorList bins, std::optional<Tensor> weight, bool density) {
  return Histogram(to, PointsOf(to, self), bins, weight, density);
}

Tensor AsColumn(Lowering& to, Tensor self) { return to.UnsqueezeAt(Flat(to, AtLeast1d(to, self)), {1}); }
HistogramResult HistogramCount(Lowering& to, Tensor self, int64_t bins, std::optional<Floats> range,
                               std::optional<Tensor> weight, bool density) {
  auto [counts, edges] = HistogramddBins(to, AsColumn(to, self), {bins}, std::move(range), weight, density);
  return {counts, edges.front()};
}
HistogramResult HistogramEdges(Lowering& to, Tensor self, Tensor bins, std::optional<Tensor> weight, bool density) {
  return {Histogram(to, AsColumn(to, self), {bins}, weight, density), bins};
}

// --- trapezoidal rule -------------------------------------------------------------

Tensor From(Lowering& to, Tensor x, int64_t axis) {
  return SliceRange(to, x, axis, to.Of(1), to.Of(INT64_MAX), to.Of(1));
}
Tensor UpTo(Lowering& to, Tensor x, int64_t axis) { return SliceRange(to, x, axis, to.Of(0), to.Of(-1), to.Of(1)); }

Tensor Neighbours(Lowering& to, Tensor y, int64_t axis) { return to.Add(From(to, y, axis), UpTo(to, y, axis)); }

// Twice the area over each step, `width` apart. Products of integers wrap before they are summed as int64.
Tensor Areas(Lowering& to, Tensor y, Tensor width, int64_t axis) {
  const auto [dtype, heights, widths] = Promoted(to, Neighbours(to, y, axis), width);
  const Tensor areas = to.Mul(heights, widths);
  return areas.is_floating() || areas.is_complex() ? areas : to.CastTo(areas, DType::kInt64);
}
Tensor Half(Lowering& to, Tensor x) { return to.Mul(to.ToFloat(x), to.ConstantOf(0.5, to.FloatDtype({x}))); }

Tensor Widths(Lowering& to, Tensor y, Tensor x, int64_t axis) {
  // Abscissae of one dimension are along the axis of integration.
  if (x.rank() == 1) {
    const Tensor widths = to.Sub(From(to, x, 0), UpTo(to, x, 0));
    Ints trailing;
    for (int64_t i = 1; i < y.rank() - axis; ++i) trailing.push_back(i);
    return to.UnsqueezeAt(widths, trailing);
  }
  const int64_t own = axis - y.rank() + x.rank();
  return to.Sub(From(to, x, own), UpTo(to, x, own));
}

Tensor Summed(Lowering& to, Tensor areas, int64_t axis) {
  return Half(to, to.ReduceSum(areas, to.ConstantInts({axis}), {.keepdims = 0}));
}
Tensor Accumulated(Lowering& to, Tensor areas, int64_t axis) {
  return Half(to, CumulativeSum(to, areas, axis));
}

// Of nothing PyTorch gives zeros of the heights' own dtype.
Tensor AreaOfNothing(Lowering& to, Tensor y, int64_t axis) {
  Dims sizes = y.sizes();
  sizes.erase(sizes.begin() + axis);
  return to.Full(sizes, int64_t{0}, y.dtype());
}

template <Tensor (*kCombine)(Lowering&, Tensor, int64_t)>
Tensor TrapezoidX(Lowering& to, Tensor y, Tensor x, int64_t dim) {
  const int64_t axis = to.Axis(dim, y);
  if (kCombine == &Summed && to.AsConstant(y.size(axis)) == 0) return AreaOfNothing(to, y, axis);
  const Tensor areas = Areas(to, y, Widths(to, y, x, axis), axis);
  return kCombine(to, areas, axis - y.rank() + areas.rank());
}
// By one width, which is a float: what it multiplies does not wrap.
template <Tensor (*kCombine)(Lowering&, Tensor, int64_t)>
Tensor TrapezoidDx(Lowering& to, Tensor y, Scalar dx, int64_t dim) {
  const int64_t axis = to.Axis(dim, y);
  if (kCombine == &Summed && to.AsConstant(y.size(axis)) == 0) return AreaOfNothing(to, y, axis);
  const Tensor width = internal::AsResult(to, dx);
  const DType dtype = to.FloatDtype({y, width});
  auto scaled = [&](const Tensor& heights) { return to.Mul(to.CastTo(heights, dtype), to.CastTo(width, dtype)); };
  if (kCombine != &Summed || y.is_floating() || y.is_complex())
    return kCombine(to, scaled(Neighbours(to, y, axis)), axis);
  // Of integers the ends are taken from twice the sum.
  const Tensor ends = to.Add(to.GatherIndex(y, axis, to.Of(0)), to.GatherIndex(y, axis, to.Of(-1)));
  const Tensor sum = Sum(to, y, Ints{axis}, false, std::nullopt);
  return Half(to, scaled(to.Sub(to.Add(sum, sum), to.CastTo(ends, DType::kInt64))));
}
Tensor TrapzDx(Lowering& to, Tensor y, Scalar dx, int64_t dim) { return TrapezoidDx<Summed>(to, y, dx, dim); }

constexpr OpRow kRows[] = {
    Op<BinEdges>("aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, "
                 "bool density=False) -> Tensor[]"),
    Op<FromBinCounts>("aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, "
                      "Tensor? weight=None, bool density=False) -> Tensor"),
    Op<FromBinTensors>("aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, "
                       "bool density=False) -> Tensor"),
    Op<TrapezoidDx<Accumulated>>("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor"),
    Op<TrapezoidX<Accumulated>>("aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
    Op<HistogramCount>("aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, "
                       "bool density=False) -> (Tensor hist, Tensor bin_edges)"),
    Op<HistogramEdges>("aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, "
                       "bool density=False) -> (Tensor hist, Tensor bin_edges)"),
    Op<HistogramddBins>("aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, "
                        "bool density=False) -> (Tensor hist, Tensor[] bin_edges)"),
    Op<HistogramddEdges>("aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, "
                         "Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)"),
    Op<HistogramddInt>("aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, "
                       "bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
                       &kUnknownDimensions),
    Op<TrapezoidDx<Summed>>("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor"),
    Op<TrapezoidX<Summed>>("aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
    Op<TrapzDx>("aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor"),
    Op<TrapezoidX<Summed>>("aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Histograms() { return kRows; }

}  // namespace flambeau::lower
