#include "lower/ops/linalg/scaling.h"

#include <numbers>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/matrices.h"
#include "onnx/complex.h"

namespace flambeau::lower {
namespace {

// The size of the largest element of each matrix: [batch, 1]; 0 where there is none. A complex number's is that of its larger part.
Tensor LargestOfEach(Lowering& to, Tensor a) {
  Dims flat = BatchSizes(a);
  const Dim count = to.Times(a.size(-2), a.size(-1));
  flat.push_back(a.is_complex() ? to.Times(count, to.Of(2)) : count);
  Tensor sizes = to.ReshapeTo(to.Abs(a.is_complex() ? onnx::Pairs(to, a) : a), flat);
  if (to.exprs().RangeOf(count.expr).min < 1) {
    flat.back() = to.Of(1);
    sizes = to.Concat({sizes, to.Full(flat, 0.0, sizes.dtype())}, {.axis = sizes.rank() - 1});
  }
  return to.ReduceMax(sizes, to.ConstantInts({sizes.rank() - 1}), {.keepdims = 1});
}

}  // namespace

Tensor Scaled(Lowering& to, Tensor matrix, Tensor factors) {
  if (!matrix.is_complex()) return to.Mul(matrix, factors);
  return onnx::OfPairs(to, to.Mul(onnx::Pairs(to, matrix), to.UnsqueezeAt(factors, {factors.rank()})));
}

UnitScale ToUnitScale(Lowering& to, Tensor a) {
  const Tensor largest = LargestOfEach(to, a);
  const DType dtype = largest.dtype();
  // So far, a power of 2 and its reciprocal are normal numbers.
  const double furthest = dtype == DType::kFloat64 ? 1021 : 125;
  const Tensor exponent = to.Floor(to.Mul(to.Log(largest), to.NumberOf(std::numbers::log2e, dtype)));
  const Tensor within = to.Max({to.Min({exponent, to.NumberOf(furthest, dtype)}), to.NumberOf(-furthest, dtype)});
  const Tensor scale = AsColumn(to, to.Pow(to.NumberOf(2.0, dtype), within));
  return {Scaled(to, a, to.Reciprocal(scale)), scale};
}

Tensor ValuesAt(Lowering& to, Tensor values, Tensor scale) { return Scaled(to, values, to.SqueezeAt(scale, {scale.rank() - 1})); }

}  // namespace flambeau::lower
