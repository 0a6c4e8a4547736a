// The signs of singular vectors follow from the whole way to them. This goes the way of
// LAPACK's gesdd as MKL has it: reflections that leave two diagonals (gebrd), of a triangle
// where rows (of complex matrices columns, too) are many, then the implicit QR method.
#include "lower/ops/linalg/bidiagonal.h"

#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/householder.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/linalg/scaling.h"
#include "lower/ops/loops.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr int64_t kLargest = 25;  // SMLSIZ of bdsdc: what is larger is divided

// A = Q·B·Pᴴ, where rows are no fewer than columns. B is real.
struct Reduced {
  Tensor diagonal, beside;
  Tensor qt, ph;  // Qᵀ and Pᴴ: [batch, count or columns, rows], [batch, columns, columns]
};
Reduced Reduce(Lowering& to, Tensor a, Dim count) {
  const Dim columns = a.size(-1);
  const Tensor last = to.Sub(to.Number(columns), to.ConstantInt(1));
  const Tensor identity = IdentityMatrices(to, BatchSizes(a), columns, columns, a.dtype());
  Dims tau_sizes = BatchSizes(a);
  tau_sizes.push_back(columns);
  const auto states = Repeat(to, to.Number(columns), {a, to.Full(tau_sizes, 0.0, a.dtype()), identity}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    const auto [matrix, tau] = ReflectColumn(to, {states[0], states[1]}, k);
    // To the right of the last two columns nothing is left to do.
    const Reflector right = ReflectorOf(to, Conj(to, RowAt(to, matrix, k)), to.Min({to.Add(k, to.ConstantInt(1)), last}));
    const Tensor scaled = to.Mul(AsRow(to, Conj(to, right.v)), AsColumn(to, right.tau));
    auto reflected = [&](const Tensor& rows) { return to.Sub(rows, to.MatMul(to.MatMul(rows, AsColumn(to, right.v)), scaled)); };
    return std::vector<Tensor>{reflected(matrix), tau, reflected(states[2])};
  });
  const Tensor q = OrthogonalColumns(to, {states[0], states[1]}, count);
  const Tensor square = FirstRows(to, states[0], columns);
  return {RealPart(to, DiagonalOf(to, square)), RealPart(to, BesideDiagonal(to, square)), Transposed(to, q), Adjoint(to, states[2])};
}

// `then` where the number is not negative.
std::vector<Tensor> WhereNotNegative(Lowering& to, Dim number, const std::function<std::vector<Tensor>()>& then,
                                     const std::function<std::vector<Tensor>()>& otherwise) {
  const ExprPool::Range range = to.exprs().RangeOf(number.expr);
  if (range.min >= 0) return then();
  if (range.max < 0) return otherwise();
  return to.Choose(to.GreaterOrEqual(to.Number(number), to.ConstantInt(0)), then, otherwise);
}

// Rows after the first `count`, joined to those.
Tensor Joined(Lowering& to, Tensor first, Tensor all, Dim count) {
  const int64_t axis = all.rank() - 2;
  const Dim size = all.size(axis);
  if (size == count) return first;
  return Sized(to, to.Concat({first, to.SliceAxis(all, axis, count, size)}, {.axis = axis}), all.sizes());
}

// From how many rows on R is taken first. MKL has a rule of its own for real matrices; LAPACK's real one is 11/6.
Dim ManyRows(Lowering& to, const Tensor& a, Dim columns) {
  ExprPool& exprs = to.exprs();
  if (a.is_complex()) return {exprs.FloorDiv(to.Times(columns, to.Of(17)).expr, exprs.Constant(9))};
  return to.Plus(columns, {exprs.FloorDiv(columns.expr, exprs.Constant(2))});
}

// diagonal, beside, left, right; `left` has `count` rows.
std::vector<Tensor> ReduceTall(Lowering& to, Tensor a, Dim count) {
  const Dim m = a.size(-2), n = a.size(-1);
  return WhereNotNegative(to, to.Minus(m, ManyRows(to, a, n)), [&] {
    const Reflectors reflectors = Reflect(to, a);
    const Tensor qt = Transposed(to, OrthogonalColumns(to, reflectors, count));
    const Reduced r = Reduce(to, UpperTriangle(to, FirstRows(to, reflectors.vectors, n)), n);
    return std::vector<Tensor>{r.diagonal, r.beside, Joined(to, to.MatMul(r.qt, FirstRows(to, qt, n)), qt, n), r.ph};
  }, [&] {
    const Reduced reduced = Reduce(to, a, count);
    return std::vector<Tensor>{reduced.diagonal, reduced.beside, reduced.qt, reduced.ph};
  });
}

// The same where columns are more than rows; `right` has `count` rows.
std::vector<Tensor> ReduceWide(Lowering& to, Tensor a, Dim count) {
  const Tensor adjoint = Adjoint(to, a);
  const Dim m = a.size(-2), n = a.size(-1);
  auto at_once = [&] {
    const Reduced reduced = Reduce(to, adjoint, count);
    const Tensor left = Conj(to, reduced.ph);
    const Bidiagonal upper = UpperFromLower(to, {reduced.diagonal, reduced.beside, RealRows(to, left), Conj(to, reduced.qt)});
    return std::vector<Tensor>{upper.diagonal, upper.beside, RowsLike(to, upper.left, left), upper.right};
  };
  if (!a.is_complex()) return at_once();  // MKL takes no triangle of real matrices first
  return WhereNotNegative(to, to.Minus(n, ManyRows(to, a, m)), [&] {
    const Reflectors reflectors = Reflect(to, adjoint);
    const Tensor qh = Adjoint(to, OrthogonalColumns(to, reflectors, count));
    const Reduced l = Reduce(to, Adjoint(to, UpperTriangle(to, FirstRows(to, reflectors.vectors, m))), m);
    return std::vector<Tensor>{l.diagonal, l.beside, l.qt, Joined(to, to.MatMul(l.ph, FirstRows(to, qh, m)), qh, m)};
  }, at_once);
}

std::vector<Tensor> Decompose(Lowering& to, Tensor a, bool full) {
  const auto [unit, scale] = ToUnitScale(to, Wide(to, a));
  const Dim m = a.size(-2), n = a.size(-1), side = SmallerSide(to, a);
  auto sizes = [&](Dim rows, Dim columns) {
    Dims all = BatchSizes(a);
    all.insert(all.end(), {rows, columns});
    return all;
  };
  Dims values = BatchSizes(a);
  values.push_back(side);
  const Dims left_sizes = sizes(full ? m : side, m), right_sizes = sizes(full ? n : side, n);
  auto sized = [&](const std::vector<Tensor>& parts) {
    return std::vector<Tensor>{Sized(to, parts[0], values), Sized(to, parts[1], values), Sized(to, parts[2], left_sizes), Sized(to, parts[3], right_sizes)};
  };
  const std::vector<Tensor> parts = WhereNotNegative(
      to, to.Minus(m, n), [&] { return sized(ReduceTall(to, unit, left_sizes[left_sizes.size() - 2])); },
      [&] { return sized(ReduceWide(to, unit, right_sizes[right_sizes.size() - 2])); });
  const Tensor left = FirstRows(to, parts[2], side), right = FirstRows(to, parts[3], side);
  const SingularRows rows = Diagonalize(to, {parts[0], parts[1], RealRows(to, left), RealRows(to, right)}, RealDtype(a));
  return {to.CastTo(Transposed(to, Joined(to, RowsLike(to, rows.left, left), parts[2], side)), a.dtype()),
          to.CastTo(ValuesAt(to, rows.values, scale), RealDtype(a)),
          to.CastTo(Joined(to, RowsLike(to, rows.right, right), parts[3], side), a.dtype())};
}

}  // namespace

Singular SignedSingularDecomposition(Lowering& to, Tensor a, bool full) {
  const Dim m = a.size(-2), n = a.size(-1), side = SmallerSide(to, a);
  auto many = [&] {
    const Singular singular = SingularDecomposition(to, a, full);
    return std::vector<Tensor>{singular.u, singular.values, singular.vt};
  };
  auto some = [&] { return WhereNotNegative(to, to.Minus(to.Of(kLargest), side), [&] { return Decompose(to, a, full); }, many); };
  auto none = [&] {
    const Dims batch = BatchSizes(a);
    Dims values = batch;
    values.push_back(side);
    return std::vector<Tensor>{IdentityMatrices(to, batch, m, full ? m : side, a.dtype()), to.Full(values, 0.0, RealDtype(a)),
                               IdentityMatrices(to, batch, full ? n : side, n, a.dtype())};
  };
  const std::vector<Tensor> parts = UnlessNone(to, side, some, none);
  return {parts[0], parts[1], parts[2]};
}

}  // namespace flambeau::lower
