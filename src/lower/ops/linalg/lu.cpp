// LU factorization with partial pivoting, as LAPACK's getrf has it, and what
// follows from it: solutions, inverses, determinants.
#include "lower/ops/linalg/lu.h"

#include <algorithm>
#include <limits>

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/linalg/triangular.h"
#include "lower/ops/loops.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {
namespace {

struct Factors {
  Tensor lu;      // U, and L below the diagonal
  Tensor pivots;  // int32, from 1: row k was exchanged with row pivots[k]
};

Factors Factorize(Lowering& to, Tensor a, bool pivot) {
  const Dim m = a.size(-2), side = SmallerSide(to, a);
  const int64_t row_axis = a.rank() - 2;
  const Tensor rows = Iota(to, m), columns = Iota(to, a.size(-1)), steps = Iota(to, side);
  Dims pivot_sizes = BatchSizes(a);
  pivot_sizes.push_back(side);
  const Tensor unmoved = to.ExpandTo(to.Add(steps, to.ConstantInt(1)), pivot_sizes);
  const auto states = Repeat(to, to.Number(side), {a, unmoved}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    Tensor matrix = states[0], pivots = states[1];
    if (pivot) {
      const Tensor open = to.GreaterOrEqual(rows, k);
      const Tensor sizes = PivotSize(to, ColumnAt(to, matrix, k));
      const Tensor best = to.ArgMax(to.Where(open, sizes, to.NumberOf(-1.0, sizes.dtype())), {.axis = row_axis, .keepdims = 1});
      const Tensor order = to.ExpandTo(AsColumn(to, Exchanged(to, rows, k, best)), a.sizes());
      matrix = to.GatherElements(matrix, order, {.axis = row_axis});
      pivots = to.Where(to.Equal(steps, k), to.Add(best, to.ConstantInt(1)), pivots);
    }
    const Tensor column = ColumnAt(to, matrix, k), row = RowAt(to, matrix, k);
    const Tensor below = to.Greater(rows, k);
    const Tensor factor = OnlyWhere(to, below, SafeDiv(to, column, AsColumn(to, ElementAt(to, column, k))));
    const Tensor right = OnlyWhere(to, to.Greater(columns, k), row);
    const Tensor eliminated = to.Sub(matrix, to.Mul(AsColumn(to, factor), AsRow(to, right)));
    const Tensor stored = to.And(to.UnsqueezeAt(below, {1}), to.Equal(columns, k));
    return std::vector<Tensor>{to.Where(stored, AsColumn(to, factor), eliminated), pivots};
  });
  return {states[0], to.CastTo(states[1], DType::kInt32)};
}

// Which row of A is row i of L·U: [batch, rows].
Tensor RowOrder(Lowering& to, Tensor pivots, Dim rows) {
  if (pivots.rank() == 0) onnx::ThrowNoAxis(-1, 0);
  Dims sizes = pivots.sizes();
  sizes.back() = rows;
  const Tensor indices = Iota(to, rows), from_one = to.CastTo(pivots, DType::kInt64);
  return Repeat(to, to.Number(pivots.size(-1)), {to.ExpandTo(indices, sizes)},
                [&](const Tensor& k, const std::vector<Tensor>& states) {
                  const Tensor other = to.Sub(ElementAt(to, from_one, k), to.ConstantInt(1));
                  const Tensor order = to.ExpandTo(Exchanged(to, indices, k, AsColumn(to, other)), sizes);
                  return std::vector<Tensor>{to.GatherElements(states[0], order, {.axis = pivots.rank() - 1})};
                })[0];
}

// P of A = P·L·U.
Tensor Permutation(Lowering& to, Tensor pivots, Dim rows, DType dtype) {
  const Tensor order = RowOrder(to, pivots, rows);
  return to.CastTo(to.Equal(AsRow(to, order), to.UnsqueezeAt(Iota(to, rows), {1})), dtype);
}

struct Triangles {
  Tensor lower, upper;
};
Triangles TrianglesOf(Lowering& to, Tensor lu) {
  const Dim side = SmallerSide(to, lu);
  const Tensor strict = LowerTriangle(to, FirstColumns(to, lu, side), false);
  return {to.Add(strict, IdentityMatrix(to, lu.size(-2), side, lu.dtype())), UpperTriangle(to, FirstRows(to, lu, side))};
}

// The first zero on U's diagonal, counted from 1; 0 if there is none.
Tensor InfoOf(Lowering& to, Tensor lu) {
  const Tensor diagonal = DiagonalOf(to, lu), never = to.ConstantInt(std::numeric_limits<int32_t>::max());
  const Tensor position = to.Add(Iota(to, diagonal.size(-1)), to.ConstantInt(1));
  const Tensor zeros = to.Where(to.Equal(diagonal, to.NumberOf(0.0, lu.dtype())), position, never);
  // The sentinel stands in where the matrix is empty.
  Dims sizes = zeros.sizes();
  sizes.back() = to.Of(1);
  const Tensor guarded = to.Concat({zeros, to.ExpandTo(never, sizes)}, {.axis = zeros.rank() - 1});
  const Tensor first = to.ReduceMin(guarded, to.ConstantInts({zeros.rank() - 1}), {.keepdims = 0});
  return to.CastTo(to.Where(to.Equal(first, never), to.ConstantInt(0), first), DType::kInt32);
}

std::tuple<Tensor, Tensor, Tensor> LuFactorEx(Lowering& to, Tensor a, bool pivot, Unused) {
  const Factors factors = Factorize(to, a, pivot);
  return {factors.lu, factors.pivots, InfoOf(to, factors.lu)};
}
std::tuple<Tensor, Tensor> LuFactor(Lowering& to, Tensor a, bool pivot) {
  const Factors factors = Factorize(to, a, pivot);
  return {factors.lu, factors.pivots};
}

std::tuple<Tensor, Tensor, Tensor> Lu(Lowering& to, Tensor a, bool pivot) {
  const Factors factors = Factorize(to, a, pivot);
  const Triangles triangles = TrianglesOf(to, factors.lu);
  const Tensor permutation = pivot ? Permutation(to, factors.pivots, a.size(-2), a.dtype())
                                   : to.Full(Dims{to.Of(0)}, 0.0, a.dtype());
  return {permutation, triangles.lower, triangles.upper};
}

std::tuple<Tensor, Tensor, Tensor> LuUnpack(Lowering& to, Tensor lu, Tensor pivots, bool unpack_data,
                                            bool unpack_pivots) {
  const Tensor nothing = to.Full(Dims{to.Of(0)}, 0.0, lu.dtype());
  const Tensor permutation = unpack_pivots ? Permutation(to, pivots, lu.size(-2), lu.dtype()) : nothing;
  if (!unpack_data) return {permutation, nothing, nothing};
  const Triangles triangles = TrianglesOf(to, lu);
  return {permutation, triangles.lower, triangles.upper};
}

// A = P·L·U, so A·X = B is X = U⁻¹·L⁻¹·Pᵀ·B, and Aᵀ·X = B is X = P·L⁻ᵀ·U⁻ᵀ·B.
Tensor SolveByFactors(Lowering& to, Tensor lu, Tensor pivots, Tensor b, bool transpose) {
  const auto [factors, right] = WithCommonBatch(to, lu, b);
  const Tensor permutation = Permutation(to, pivots, lu.size(-1), lu.dtype());
  if (transpose) {
    const Tensor transposed = Transposed(to, factors);
    const Tensor half = SolveTriangle(to, transposed, right, {.upper = false});
    return to.MatMul(permutation, SolveTriangle(to, transposed, half, {.upper = true, .unit = true}));
  }
  const Tensor ordered = to.MatMul(Transposed(to, permutation), right);
  const Tensor half = SolveTriangle(to, factors, ordered, {.upper = false, .unit = true});
  return SolveTriangle(to, factors, half, {.upper = true});
}
Tensor LuSolve(Lowering& to, Tensor lu, Tensor pivots, Tensor b, bool left, bool adjoint) {
  if (adjoint) lu = Conj(to, lu);
  if (!left) return Transposed(to, SolveByFactors(to, lu, pivots, Transposed(to, b), !adjoint));
  return SolveByFactors(to, lu, pivots, b, adjoint);
}
Tensor OldLuSolve(Lowering& to, Tensor self, Tensor lu, Tensor pivots) {
  return LuSolve(to, lu, pivots, self, true, false);
}

// --- solutions ------------------------------------------------------------------------

// Whether B is a batch of vectors, as torch.linalg.solve takes it.
bool IsVectors(Lowering& to, const Tensor& a, const Tensor& b) {
  if (b.rank() == 1) return true;
  if (a.rank() - 1 != b.rank()) return false;
  auto differ = [&](Dim x, Dim y) { return to.AsConstant(x) && to.AsConstant(y) && x != y; };
  bool same_batch = true;
  for (int64_t i = 0; i < b.rank(); ++i) {
    if (differ(a.size(i), b.size(i))) return false;
    if (i + 1 < b.rank()) same_batch = same_batch && a.size(i) == b.size(i);
  }
  // Matrices would have as many rows as A. Where neither is known, it is the batch of A that tells: of matrices it would be
  // the number of rows, too.
  const bool same_rows = a.size(-2) == b.size(-2);
  return (same_batch && (a.size(-2) == b.size(-1) || !same_rows)) || differ(a.size(-2), b.size(-2));
}

Tensor Solve(Lowering& to, Tensor a, Tensor b, bool left) {
  if (!IsVectors(to, a, b)) return SolveMatrices(to, a, b, left);
  return to.SqueezeAt(SolveMatrices(to, a, AsColumn(to, b), true), {std::max(a.rank(), b.rank() + 1) - 1});
}

// What the internal variants return of the factors is for gradients.
std::tuple<Tensor, Tensor, Tensor, Tensor> SolveInternal(Lowering& to, Tensor a, Tensor b, bool left, Unused) {
  return {Solve(to, a, b, left), {}, {}, InfoOf(to, Factorize(to, a, true).lu)};
}
std::tuple<Tensor, Tensor> SolveEx(Lowering& to, Tensor a, Tensor b, bool left, Unused) {
  return {Solve(to, a, b, left), InfoOf(to, Factorize(to, a, true).lu)};
}
std::tuple<Tensor, Tensor> InverseEx(Lowering& to, Tensor a, Unused) {
  return {InverseMatrix(to, a), InfoOf(to, Factorize(to, a, true).lu)};
}

// --- determinants ----------------------------------------------------------------------

// -1 for an odd number of exchanges, else 1.
Tensor Parity(Lowering& to, Tensor pivots, DType dtype) {
  const Tensor rows = to.Add(Iota(to, pivots.size(-1)), to.ConstantInt(1));
  const Tensor moved = to.CastTo(to.Not(to.Equal(to.CastTo(pivots, DType::kInt64), rows)), DType::kInt64);
  const Tensor count = to.ReduceSum(moved, to.ConstantInts({pivots.rank() - 1}), {.keepdims = 0});
  const Tensor odd = to.Mod(count, to.ConstantInt(2));
  return to.CastTo(to.Sub(to.ConstantInt(1), to.Mul(odd, to.ConstantInt(2))), dtype);
}

struct SignAndLog {
  Tensor sign, log;
};
SignAndLog LogDeterminant(Lowering& to, Tensor a) {
  const Factors factors = Factorize(to, a, true);
  const Tensor diagonal = DiagonalOf(to, factors.lu), last = to.ConstantInts({diagonal.rank() - 1});
  const Tensor signs = ProdDim(to, to.Sign(diagonal), -1, false, std::nullopt);
  const Tensor log = to.ReduceSum(to.Log(to.Abs(diagonal)), last, {.keepdims = 0});
  return {to.Mul(signs, Parity(to, factors.pivots, a.dtype())), log};
}

std::tuple<Tensor, Tensor> Slogdet(Lowering& to, Tensor a) {
  const auto [sign, log] = LogDeterminant(to, a);
  return {sign, log};
}
std::tuple<Tensor, Tensor, Tensor, Tensor> SlogdetInternal(Lowering& to, Tensor a) {
  const auto [sign, log] = LogDeterminant(to, a);
  return {sign, log, {}, {}};
}
std::tuple<Tensor, Tensor, Tensor> DetInternal(Lowering& to, Tensor a) { return {Determinant(to, a), {}, {}}; }

Tensor Logdet(Lowering& to, Tensor self) {
  const auto [sign, log] = LogDeterminant(to, self);
  if (self.is_complex()) return to.Add(to.Log(sign), log);
  const Tensor nan = to.NumberOf(std::numeric_limits<double>::quiet_NaN(), self.dtype());
  return to.Where(to.Less(sign, to.NumberOf(0.0, self.dtype())), nan, log);
}

// --- tensors as matrices ------------------------------------------------------------------

// The first `ind` dimensions are the rows of a matrix, which is inverted.
Tensor TensorInverse(Lowering& to, Tensor self, int64_t ind) {
  const Dims sizes = self.sizes();
  if (ind < 1 || ind >= self.rank()) throw onnx::BadOperand("takes a number of dimensions that leaves some on both sides");
  const Dims rows(sizes.begin(), sizes.begin() + ind);
  Dims result(sizes.begin() + ind, sizes.end());
  const Dim count = to.Product(rows);
  result.insert(result.end(), rows.begin(), rows.end());
  return to.ReshapeTo(InverseMatrix(to, to.ReshapeTo(self, Dims{count, to.Product({result.data(), sizes.size() - rows.size()})})), result);
}

// Σ self·x = other over the last dimensions of self, or over `dims`, moved there.
Tensor TensorSolve(Lowering& to, Tensor self, Tensor other, std::optional<Ints> dims) {
  Tensor a = self;
  if (dims) {
    Ints order;
    const Ints moved = to.Axes(*dims, self);
    for (int64_t axis = 0; axis < self.rank(); ++axis)
      if (std::ranges::find(moved, axis) == moved.end()) order.push_back(axis);
    order.insert(order.end(), moved.begin(), moved.end());
    a = to.Permute(self, order);
  }
  const Dims sizes = a.sizes();
  if (other.rank() > a.rank()) throw onnx::BadOperand("solves for a right side of more dimensions than the left one has");
  const Dims result(sizes.begin() + other.rank(), sizes.end());
  const Dim count = to.Product(result);
  const Tensor matrix = to.ReshapeTo(a, Dims{count, count});
  const Tensor solution = SolveMatrices(to, matrix, to.ReshapeTo(other, Dims{count, to.Of(1)}), true);
  return to.ReshapeTo(solution, result);
}

}  // namespace

Tensor SolveMatrices(Lowering& to, Tensor a, Tensor b, bool left) {
  const Factors factors = Factorize(to, a, true);
  return LuSolve(to, factors.lu, factors.pivots, b, left, false);
}

Tensor InverseMatrix(Lowering& to, Tensor a) {
  return SolveMatrices(to, a, IdentityMatrices(to, BatchSizes(a), a.size(-1), a.size(-1), a.dtype()), true);
}

Tensor Determinant(Lowering& to, Tensor a) {
  const Factors factors = Factorize(to, a, true);
  const Tensor diagonal = DiagonalOf(to, factors.lu);
  const Tensor product = ProdDim(to, diagonal, -1, false, std::nullopt);
  return to.Mul(product, Parity(to, factors.pivots, a.dtype()));
}

namespace {

constexpr OpRow kRows[] = {
    Op<DetInternal>("aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)"),
    Op<SlogdetInternal>("aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)"),
    Op<SolveInternal>("aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
                      "(Tensor result, Tensor LU, Tensor pivots, Tensor info)"),
    Op<LuFactorEx>("aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor "
                   "pivots, Tensor info)"),
    Op<Determinant>("aten::det(Tensor self) -> Tensor"),
    Op<InverseMatrix>("aten::inverse(Tensor self) -> Tensor"),
    Op<Determinant>("aten::linalg_det(Tensor A) -> Tensor"),
    Op<InverseMatrix>("aten::linalg_inv(Tensor A) -> Tensor"),
    Op<InverseEx>("aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)"),
    Op<Lu>("aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)"),
    Op<LuFactor>("aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)"),
    Op<LuFactorEx>("aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, "
                   "Tensor pivots, Tensor info)"),
    Op<LuSolve>("aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> "
                "Tensor"),
    Op<Slogdet>("aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)"),
    Op<Solve>("aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor"),
    Op<SolveEx>("aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor "
                "result, Tensor info)"),
    Op<TensorInverse>("aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor"),
    Op<TensorSolve>("aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor"),
    Op<Logdet>("aten::logdet(Tensor self) -> Tensor"),
    Op<OldLuSolve>("aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor"),
    Op<LuUnpack>("aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> "
                 "(Tensor P, Tensor L, Tensor U)"),
    Op<Slogdet>("aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)"),
};

}  // namespace

std::span<const OpRow> LuFactorizations() { return kRows; }

}  // namespace flambeau::lower
