// QR factorization by Householder's reflections, signs as LAPACK has them.
#include "lower/ops/linalg/householder.h"

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/linalg/scaling.h"
#include "lower/ops/loops.h"

namespace flambeau::lower {
namespace {

// (I - tau·v·vᴴ)·C, with tau [batch, 1].
Tensor Reflected(Lowering& to, Tensor v, Tensor tau, Tensor c) {
  const Tensor projected = to.MatMul(AsRow(to, Conj(to, v)), c);
  return to.Sub(c, to.Mul(to.MatMul(AsColumn(to, v), projected), AsColumn(to, tau)));
}

}  // namespace

Reflector ReflectorOf(Lowering& to, Tensor column, Tensor pivot) {
  const Tensor rows = Iota(to, column.size(-1)), alpha = AsColumn(to, ElementAt(to, column, pivot));
  const Tensor one = to.NumberOf(1.0, column.dtype()), leading = RealPart(to, alpha);
  const Tensor zero = to.NumberOf(0.0, leading.dtype());
  const Tensor below = OnlyWhere(to, to.Greater(rows, pivot), column);
  // What is to become zero: beta is real.
  Tensor rest = to.ReduceSum(SquaredSize(to, below), to.ConstantInts({column.rank() - 1}), {.keepdims = 1});
  if (alpha.is_complex()) rest = to.Add(rest, SquaredSize(to, ImaginaryPart(to, alpha)));
  const Tensor done = to.Equal(rest, zero);
  const Tensor norm = to.Sqrt(to.Add(SquaredSize(to, leading), rest));
  const Tensor beta = to.CastTo(to.Where(done, leading, to.Where(to.Less(leading, zero), norm, to.Neg(norm))), column.dtype());
  const Tensor tau = OnlyWhere(to, to.Not(done), SafeDiv(to, to.Sub(beta, alpha), beta));
  const Tensor tail = to.Div(below, to.Where(done, one, to.Sub(alpha, beta)));
  return {to.Where(to.Equal(rows, pivot), one, tail), tau, beta};
}

Reflectors ReflectColumn(Lowering& to, const Reflectors& reflectors, Tensor k) {
  const Tensor& a = reflectors.vectors;
  const Tensor rows = Iota(to, a.size(-2)), columns = Iota(to, a.size(-1)), steps = Iota(to, reflectors.tau.size(-1));
  const Tensor column = ColumnAt(to, a, k);
  const Tensor is_below = to.Greater(rows, k), is_pivot = to.Equal(rows, k);
  const auto [v, tau, beta] = ReflectorOf(to, column, k);
  const Tensor is_right = to.Greater(columns, k), is_column = to.Equal(columns, k);
  const Tensor reflected = to.Where(is_right, Reflected(to, v, Conj(to, tau), a), a);
  const Tensor stored = to.Where(is_below, v, to.Where(is_pivot, beta, column));
  return {to.Where(is_column, AsColumn(to, stored), reflected), to.Where(to.Equal(steps, k), tau, reflectors.tau)};
}

Reflectors Reflect(Lowering& to, Tensor a) {
  const Dim side = SmallerSide(to, a);
  Dims tau_sizes = BatchSizes(a);
  tau_sizes.push_back(side);
  const auto states = Repeat(to, to.Number(side), {a, to.Full(tau_sizes, 0.0, a.dtype())}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    const auto [vectors, tau] = ReflectColumn(to, {states[0], states[1]}, k);
    return std::vector<Tensor>{vectors, tau};
  });
  return {states[0], states[1]};
}

Tensor ApplyReflectors(Lowering& to, const Reflectors& reflectors, Tensor c, bool adjoint) {
  const Tensor rows = Iota(to, reflectors.vectors.size(-2));
  const Tensor count = to.Number(reflectors.tau.size(-1)), last = to.Sub(count, to.ConstantInt(1));
  const Tensor one = to.NumberOf(1.0, c.dtype()), factors = adjoint ? Conj(to, reflectors.tau) : reflectors.tau;
  return Repeat(to, count, {c}, [&](const Tensor& step, const std::vector<Tensor>& states) {
    const Tensor k = adjoint ? step : to.Sub(last, step);
    const Tensor column = OnlyWhere(to, to.Greater(rows, k), ColumnAt(to, reflectors.vectors, k));
    const Tensor v = to.Where(to.Equal(rows, k), one, column);
    return std::vector<Tensor>{Reflected(to, v, AsColumn(to, ElementAt(to, factors, k)), states[0])};
  })[0];
}

Tensor OrthogonalColumns(Lowering& to, const Reflectors& reflectors, Dim columns) {
  const Tensor& vectors = reflectors.vectors;
  return ApplyReflectors(
      to, reflectors, IdentityMatrices(to, BatchSizes(vectors), vectors.size(-2), columns, vectors.dtype()), false);
}

namespace {

std::tuple<Tensor, Tensor> Qr(Lowering& to, Tensor a, std::string_view mode) {
  const auto [unit, scale] = ToUnitScale(to, a);
  const Reflectors reflectors = Reflect(to, unit);
  const Dim side = mode == "complete" ? a.size(-2) : SmallerSide(to, a);
  const Tensor r = Scaled(to, UpperTriangle(to, FirstRows(to, reflectors.vectors, side)), scale);
  if (mode == "r") return {to.Full(Dims{to.Of(0)}, 0.0, a.dtype()), r};
  return {OrthogonalColumns(to, reflectors, side), r};
}
std::tuple<Tensor, Tensor> OldQr(Lowering& to, Tensor self, bool some) {
  return Qr(to, self, some ? "reduced" : "complete");
}

std::tuple<Tensor, Tensor> Geqrf(Lowering& to, Tensor self) {
  const auto [unit, scale] = ToUnitScale(to, self);
  const auto [vectors, tau] = Reflect(to, unit);
  return {to.Add(Scaled(to, UpperTriangle(to, vectors), scale), LowerTriangle(to, vectors, false)), tau};
}

Tensor HouseholderProduct(Lowering& to, Tensor input, Tensor tau) {
  return OrthogonalColumns(to, {input, tau}, input.size(-1));
}

// Q·C or C·Q, or with Qᴴ.
Tensor Ormqr(Lowering& to, Tensor self, Tensor input2, Tensor input3, bool left, bool transpose) {
  const Reflectors reflectors{self, input2};
  if (left) return ApplyReflectors(to, reflectors, input3, transpose);
  return Adjoint(to, ApplyReflectors(to, reflectors, Adjoint(to, input3), !transpose));
}

constexpr OpRow kRows[] = {
    Op<Geqrf>("aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)"),
    Op<HouseholderProduct>("aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor"),
    Op<Qr>("aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)"),
    Op<HouseholderProduct>("aten::orgqr(Tensor self, Tensor input2) -> Tensor"),
    Op<Ormqr>("aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor"),
    Op<OldQr>("aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)"),
};

}  // namespace

std::span<const OpRow> OrthogonalFactorizations() { return kRows; }

}  // namespace flambeau::lower
