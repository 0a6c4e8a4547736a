#include "lower/ops/nan_order.h"

#include <limits>

#include "lower/ops/accumulation.h"

namespace flambeau::lower {

bool MayHoldNan(Lowering& to, const Tensor& x) {
  if (!x.is_floating()) return false;
  if (x.is_number()) return true;
  const Value& value = to.graph()[x.id()];
  if (value.kind != ValueKind::kResult || to.graph().op(value.node) != "Cast") return true;
  return IsFloating(to.graph().type(to.graph().operand(value.node, 0)).dtype);
}

// In a wider type, its finite ends stand for the infinities, which leaves these to NaN. float64 has no wider one:
// there the largest finite numbers and infinity count as equal.
Tensor OrderKeys(Lowering& to, Tensor x, NanRank rank) {
  if (!MayHoldNan(to, x)) return x;
  const bool narrow = IsHalf(x.dtype());
  const DType dtype = narrow ? DType::kFloat32 : DType::kFloat64;
  const double end = narrow ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor finite = to.Min({to.Max({to.CastTo(x, dtype), to.NumberOf(-end, dtype)}), to.NumberOf(end, dtype)});
  return to.Where(to.IsNaN(x), to.NumberOf(rank == NanRank::kHighest ? infinity : -infinity, dtype), finite);
}

Tensor NanWhereAny(Lowering& to, Tensor result, Tensor x, Tensor axes, bool keepdim) {
  if (!MayHoldNan(to, x)) return result;
  const Tensor nan = to.CastTo(to.IsNaN(x), DType::kUint8);
  const Tensor any = to.CastTo(to.ReduceMax(nan, axes, {.keepdims = keepdim}), DType::kBool);
  return to.Where(any, to.NumberOf(std::numeric_limits<double>::quiet_NaN(), x.dtype()), result);
}

}  // namespace flambeau::lower
