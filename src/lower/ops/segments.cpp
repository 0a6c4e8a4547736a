// Reductions of segments, which lengths or offsets mark along an axis.
#include <limits>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/nan_order.h"

namespace flambeau::lower {
namespace {

constexpr Restriction kByIndices = {"segments by indices",
                                    "torch.segment_reduce(x, 'sum', indices=torch.tensor([0, 0, 1]))",
                                    "PyTorch refuses them"};

double StartOf(std::string_view reduce) {
  const double infinity = std::numeric_limits<double>::infinity();
  return reduce == "max" ? -infinity : reduce == "min" ? infinity : reduce == "prod" ? 1 : 0;
}

// Every segment sees the whole axis, through a mask: (…, segments, elements, …).
Tensor SegmentReduce(Lowering& to, Tensor data, std::string_view reduce, std::optional<Tensor> lengths,
                     std::optional<Tensor> indices, std::optional<Tensor> offsets, int64_t axis, Unused,
                     std::optional<Const<Scalar>> initial) {
  if (indices || (!lengths && !offsets)) return to.Unsupported(kByIndices);
  axis = to.Axis(axis, data);
  const DType dtype = data.dtype();
  Tensor begins, ends;
  if (lengths) {
    const Tensor counts = to.CastTo(*lengths, DType::kInt64);
    ends = to.CumSum(counts, to.ConstantInt(axis));
    begins = to.Sub(ends, counts);
  } else {
    const Tensor at = to.CastTo(*offsets, DType::kInt64);
    begins = SliceRange(to, at, axis, to.Of(0), to.Of(-1), to.Of(1));
    ends = SliceRange(to, at, axis, to.Of(1), to.Of(INT64_MAX), to.Of(1));
  }
  const Tensor position = Iota(to, data.size(axis));
  Tensor inside = to.And(to.GreaterOrEqual(position, to.UnsqueezeAt(begins, {axis + 1})),
                         to.Less(position, to.UnsqueezeAt(ends, {axis + 1})));
  Ints trailing;
  for (int64_t i = axis + 2; i <= data.rank(); ++i) trailing.push_back(i);
  inside = to.UnsqueezeAt(inside, trailing);
  auto per_segment = [&](Tensor x) {
    for (int64_t& i : trailing) --i;
    x = to.UnsqueezeAt(x, trailing);
    for (int64_t& i : trailing) ++i;
    return x;
  };
  const Tensor start = to.NumberOf(StartOf(reduce), dtype), axes = to.ConstantInts({axis + 1});
  const Tensor elements = to.Where(inside, to.UnsqueezeAt(data, {axis}), start);
  const Tensor first = initial ? to.ConstantOf(initial->value, dtype) : start;
  if (reduce == "max") return to.Max({NanWhereAny(to, to.ReduceMax(elements, axes, {.keepdims = 0}), elements, axes, false), first});
  if (reduce == "min") return to.Min({NanWhereAny(to, to.ReduceMin(elements, axes, {.keepdims = 0}), elements, axes, false), first});
  if (reduce == "prod") return to.Mul(to.ReduceProd(elements, axes, {.keepdims = 0}), first);
  Tensor sum = to.ReduceSum(elements, axes, {.keepdims = 0});
  if (initial) sum = to.Add(sum, first);
  if (reduce == "sum") return sum;
  const Tensor count = per_segment(to.CastTo(to.Sub(ends, begins), dtype));
  // The mean of nothing is the initial value, or NaN.
  return to.Div(sum, initial ? to.Max({count, to.NumberOf(1.0, dtype)}) : count);
}

constexpr OpRow kRows[] = {
    Op<SegmentReduce>("aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, "
                      "Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
                      &kByIndices),
};

}  // namespace

std::span<const OpRow> Segments() { return kRows; }

}  // namespace flambeau::lower
