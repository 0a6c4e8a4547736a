// Triangular systems, and the factorization of Cholesky that makes them.
#include "lower/ops/linalg/triangular.h"

#include <algorithm>
#include <utility>

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/loops.h"

namespace flambeau::lower {

namespace {

Dims WithMatrix(Dims batch, const Tensor& matrix) {
  batch.insert(batch.end(), {matrix.size(-2), matrix.size(-1)});
  return batch;
}

}  // namespace

std::pair<Tensor, Tensor> WithCommonBatch(Lowering& to, Tensor a, Tensor b) {
  const Dims batch_a = BatchSizes(a), batch_b = BatchSizes(b);
  if (batch_a == batch_b) return {a, b};
  const Dims batch = BroadcastDims(to, batch_a, batch_b);
  const auto unknown = [&](Dim size) { return to.exprs().HasAnonymous(size.expr) && !to.HasSource(size.expr); };
  if (std::ranges::any_of(batch, unknown)) {
    // Which of two sizes wins is known at run time only.
    const auto shape_of = [&](const Dims& own) {
      Dims sizes(batch.size() - own.size(), to.Of(1));
      sizes.insert(sizes.end(), own.begin(), own.end());
      return to.Shape1(sizes);
    };
    const Tensor of_a = shape_of(batch_a), of_b = shape_of(batch_b);
    const Tensor common = to.Where(to.Equal(of_a, to.ConstantInts({1})), of_b, of_a);
    const auto with_common = [&](const Tensor& matrix) {
      const Tensor expanded = to.Expand(matrix, to.Concat({common, to.Shape1(Dims{matrix.size(-2), matrix.size(-1)})}, {.axis = 0}));
      return Sized(to, expanded, WithMatrix(batch, matrix));
    };
    const std::pair<Tensor, Tensor> both = {with_common(a), with_common(b)};
    to.BindSizes(both.first);
    return both;
  }
  return {to.ExpandTo(a, WithMatrix(batch, a)), to.ExpandTo(b, WithMatrix(batch, b))};
}

// Row by row: what is found of X is taken out of the rows that follow.
Tensor SolveTriangle(Lowering& to, Tensor a, Tensor b, Triangle triangle) {
  const Dim n = a.size(-1);
  const Tensor rows = Iota(to, n), last = to.Sub(to.Number(n), to.ConstantInt(1));
  return Repeat(to, to.Number(n), {b}, [&](const Tensor& step, const std::vector<Tensor>& states) {
    const Tensor& rest = states[0];
    const Tensor k = triangle.upper ? to.Sub(last, step) : step;
    const Tensor column = ColumnAt(to, a, k);
    Tensor found = RowAt(to, rest, k);
    if (!triangle.unit) found = to.Div(found, AsColumn(to, ElementAt(to, column, k)));
    const Tensor open = triangle.upper ? to.Less(rows, k) : to.Greater(rows, k);
    // What is done stays even where `found` is infinite.
    const Tensor reduced = to.Sub(rest, to.Mul(AsColumn(to, column), AsRow(to, found)));
    const Tensor done = to.Where(to.UnsqueezeAt(to.Equal(rows, k), {1}), AsRow(to, found), rest);
    return std::vector<Tensor>{to.Where(to.UnsqueezeAt(open, {1}), reduced, done)};
  })[0];
}

namespace {

// Of another dtype, PyTorch copies the right side into one of the matrix's.
Tensor SolveTriangular(Lowering& to, Tensor self, Tensor b, bool upper, bool left, bool unitriangular) {
  b = to.CastTo(b, self.dtype());
  if (!left) {
    // X·A = B is Aᵀ·Xᵀ = Bᵀ.
    return Transposed(to, SolveTriangular(to, Transposed(to, self), Transposed(to, b), !upper, true, unitriangular));
  }
  const auto [a, right] = WithCommonBatch(to, self, b);
  return SolveTriangle(to, a, right, {.upper = upper, .unit = unitriangular});
}

std::tuple<Tensor, Tensor> TriangularSolve(Lowering& to, Tensor self, Tensor a, bool upper, bool transpose,
                                           bool unitriangular) {
  const auto [matrices, right] = WithCommonBatch(to, a, self);
  const Tensor solution = transpose ? SolveTriangular(to, Transposed(to, matrices), right, !upper, true, unitriangular)
                                    : SolveTriangular(to, matrices, right, upper, true, unitriangular);
  return {solution, matrices};
}

// --- Cholesky -------------------------------------------------------------------------

struct Factor {
  Tensor lower;
  Tensor info;  // int32: which leading minor is not positive; 0 if all are
};

// L of A = L·Lᴴ, of the lower triangle of A: each step takes the outer product of
// a column of L from what is left of A. Where that fails, the rest stays as it
// was, but for the element on the diagonal: so LAPACK leaves it.
Factor Cholesky(Lowering& to, Tensor a) {
  const Dim n = a.size(-1);
  const Tensor indices = Iota(to, n), zero32 = to.NumberOf(0, DType::kInt32);
  const Tensor info = to.Full(BatchSizes(a), 0, DType::kInt32);
  const auto states =
      Repeat(to, to.Number(n), {a, LowerTriangle(to, a), info}, [&](const Tensor& k, const std::vector<Tensor>& states) {
        const Tensor column = ColumnAt(to, states[0], k), square = RealPart(to, ElementAt(to, column, k));
        const Tensor is_below = to.GreaterOrEqual(indices, k);
        const Tensor scaled = OnlyWhere(to, is_below, to.Div(column, AsColumn(to, to.Sqrt(square))));
        const Tensor rest = to.Sub(states[0], to.Mul(AsColumn(to, scaled), AsRow(to, Conj(to, scaled))));
        const Tensor positive = to.Greater(square, to.NumberOf(0.0, square.dtype()));
        const Tensor sound = to.Equal(states[2], zero32), fails = to.And(sound, to.Not(positive));
        auto each = [&](const Tensor& matrixwise) { return AsColumn(to, AsColumn(to, matrixwise)); };
        const Tensor is_column = to.Equal(indices, k), is_pivot = to.And(to.UnsqueezeAt(is_column, {1}), is_column);
        Tensor lower = to.Where(to.And(each(to.And(sound, positive)), is_column), AsColumn(to, scaled), states[1]);
        lower = to.Where(to.And(each(fails), is_pivot), each(square), lower);
        const Tensor minor = to.CastTo(to.Add(k, to.ConstantInt(1)), DType::kInt32);
        return std::vector<Tensor>{rest, lower, to.Where(fails, minor, states[2])};
      });
  return {states[1], states[2]};
}

std::tuple<Tensor, Tensor> CholeskyEx(Lowering& to, Tensor self, bool upper, Unused) {
  const Factor factor = Cholesky(to, upper ? Adjoint(to, self) : self);
  return {upper ? Adjoint(to, factor.lower) : factor.lower, factor.info};
}
Tensor CholeskyOnly(Lowering& to, Tensor self, bool upper) { return std::get<0>(CholeskyEx(to, self, upper, {})); }

// X of A·X = B, of A's factor.
Tensor CholeskySolve(Lowering& to, Tensor self, Tensor input2, bool upper) {
  const auto [factor, right] = WithCommonBatch(to, input2, self);
  const Tensor lower = upper ? Adjoint(to, factor) : factor;
  const Tensor half = SolveTriangle(to, lower, right, {.upper = false});
  return SolveTriangle(to, Adjoint(to, lower), half, {.upper = true});
}

Tensor CholeskyInverse(Lowering& to, Tensor self, bool upper) {
  return CholeskySolve(to, IdentityMatrices(to, BatchSizes(self), self.size(-1), self.size(-1), self.dtype()), self, upper);
}

constexpr OpRow kRows[] = {
    Op<CholeskyOnly>("aten::cholesky(Tensor self, bool upper=False) -> Tensor"),
    Op<CholeskyInverse>("aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor"),
    Op<CholeskySolve>("aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor"),
    Op<CholeskyOnly>("aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor"),
    Op<CholeskyEx>("aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, "
                   "Tensor info)"),
    Op<SolveTriangular>("aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
                        "unitriangular=False) -> Tensor"),
    Op<TriangularSolve>("aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
                        "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)"),
};

}  // namespace

std::span<const OpRow> TriangularSystems() { return kRows; }

}  // namespace flambeau::lower
