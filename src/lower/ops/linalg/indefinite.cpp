// Factorization of symmetric matrices that need not be definite, A = L·D·Lᵀ with
// D of blocks of 1×1 and 2×2, pivoted as Bunch and Kaufman do: LAPACK's sytrf of
// the lower triangle. Hermitian ones are L·D·Lᴴ: hetrf.
#include <cmath>

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/linalg/triangular.h"
#include "lower/ops/loops.h"

namespace flambeau::lower {
namespace {

// The largest element of each vector, [batch, 1].
Tensor LargestOf(Lowering& to, Tensor vector) {
  return to.ReduceMax(vector, to.ConstantInts({vector.rank() - 1}), {.keepdims = 1});
}

Tensor Outer(Lowering& to, Tensor column, Tensor row) { return to.Mul(AsColumn(to, column), AsRow(to, row)); }

// Which of both the other triangle mirrors.
struct Symmetry {
  Lowering& to;
  bool hermitian;

  // What stands on the other side of the diagonal.
  Tensor Mirrored(Tensor x) const { return hermitian ? Conj(to, x) : x; }
  Tensor Diagonal(Tensor x) const { return hermitian && x.is_complex() ? to.CastTo(RealPart(to, x), x.dtype()) : x; }
  // The lower triangle and its mirror.
  Tensor Whole(Tensor matrix) const {
    const Tensor below = LowerTriangle(to, matrix, false), diagonal = Diagonal(to.Sub(LowerTriangle(to, matrix), below));
    return to.Add(to.Add(below, diagonal), Mirrored(Transposed(to, below)));
  }
};

// ((a, b̄), (b, c))⁻¹ from the right of the columns x and y, where b̄ is what mirrors b.
struct Block {
  Tensor a, b, c;
};
std::pair<Tensor, Tensor> Divided(const Symmetry& symmetry, Tensor x, Tensor y, const Block& block) {
  Lowering& to = symmetry.to;
  const auto& [a, b, c] = block;
  // b is the largest element; by it all is divided first, as no squares of elements need be numbers.
  const Tensor mirrored = symmetry.Mirrored(b), p = SafeDiv(to, c, b), q = SafeDiv(to, a, mirrored);
  const Tensor inverse = SafeDiv(to, to.NumberOf(1.0, a.dtype()), to.Sub(to.Mul(p, q), to.NumberOf(1.0, a.dtype())));
  return {to.Mul(to.Sub(to.Mul(p, x), y), SafeDiv(to, inverse, mirrored)), to.Mul(to.Sub(to.Mul(q, y), x), SafeDiv(to, inverse, b))};
}

// The pivot for row `at`: this element, that of the column's largest one, or a block of both. All are [batch, 1].
struct Pivot {
  Tensor empty;   // nothing is left in the column
  Tensor alone;   // one element
  Tensor row;     // that changes places with `second`
  Tensor second;  // the last row of the block
};
Pivot ChoosePivot(Lowering& to, Tensor matrix, Tensor at, Tensor indices, Tensor last) {
  const int64_t axis = matrix.rank() - 2;
  const DType dtype = RealDtype(matrix);
  const Tensor one = to.ConstantInt(1), zero = to.NumberOf(0.0, dtype), alpha = to.NumberOf((1 + std::sqrt(17.0)) / 8, dtype);
  const Tensor none = to.NumberOf(-1.0, dtype);  // smaller than what any element is
  const Tensor is_below = to.Greater(indices, at), is_open = to.GreaterOrEqual(indices, at);
  const Tensor column = PivotSize(to, PickRow(to, matrix, at)), sizes = to.Where(is_below, column, none);
  const Tensor largest = to.Max({LargestOf(to, sizes), zero}), diagonal = Pick(to, column, at);
  const Tensor at_largest = to.Max({at, to.ArgMax(sizes, {.axis = axis, .keepdims = 1})});
  const Tensor other = PivotSize(to, PickRow(to, matrix, at_largest));
  const Tensor others = to.And(is_open, to.Not(to.Equal(indices, at_largest)));
  const Tensor across = to.Max({LargestOf(to, to.Where(others, other, none)), zero});
  const Tensor empty = to.Equal(to.Max({largest, diagonal}), zero);
  const Tensor stays = to.Or(empty, to.Or(to.GreaterOrEqual(diagonal, to.Mul(alpha, largest)),
                                          to.GreaterOrEqual(diagonal, to.Mul(to.Mul(alpha, largest), SafeDiv(to, largest, across)))));
  const Tensor alone = to.Or(stays, to.GreaterOrEqual(Pick(to, other, at_largest), to.Mul(alpha, across)));
  return {empty, alone, to.Where(stays, at, at_largest), to.Where(alone, at, to.Min({to.Add(at, one), last}))};
}

// L below D's blocks; a pivot of a 2×2 block is negative, and given twice.
struct Factors {
  Tensor ld, pivots, info;
};

// The trailing matrix is whole; columns before `k` are done.
Factors Factorize(Lowering& to, Tensor self, bool hermitian) {
  const Symmetry symmetry{to, hermitian};
  const Dim n = self.size(-1);
  const int64_t axis = self.rank() - 2;
  const Tensor indices = Iota(to, n), one = to.ConstantInt(1), size = to.Number(n), last = to.Sub(size, one);
  Dims batch = BatchSizes(self);
  batch.push_back(to.Of(1));
  const Tensor start = to.ExpandTo(to.ConstantInts({0}), batch);
  batch.back() = n;
  const Tensor no_pivots = to.ExpandTo(to.Add(indices, one), batch);
  const auto states = Repeat(to, size, {symmetry.Whole(self), no_pivots, start, start}, [&](const Tensor&, const std::vector<Tensor>& states) {
    const Tensor &matrix = states[0], &k = states[2];
    const Tensor open = to.Less(k, size), at = to.Min({k, last}), is_open = to.GreaterOrEqual(indices, at);
    const auto [empty, alone, pivot, second] = ChoosePivot(to, matrix, at, indices, last);
    // Rows and columns of what is open change places.
    const Tensor order = Exchanged(to, indices, second, pivot);
    const Tensor moved_rows = to.GatherElements(matrix, to.ExpandTo(AsColumn(to, order), matrix.sizes()), {.axis = axis});
    const Tensor moved = to.GatherElements(moved_rows, to.ExpandTo(AsRow(to, order), matrix.sizes()), {.axis = axis + 1});
    const Tensor trailing = to.And(AsColumn(to, is_open), AsRow(to, is_open));
    const Tensor swapped = to.Where(to.And(AsColumn(to, open), trailing), moved, matrix);
    // What the block leaves of the rest, and the columns of L.
    const Tensor first_column = symmetry.Mirrored(PickRow(to, swapped, at)), second_column = symmetry.Mirrored(PickRow(to, swapped, second));
    const Block block{Pick(to, first_column, at), Pick(to, first_column, second), Pick(to, second_column, second)};
    const Tensor rest = to.And(to.Greater(indices, second), to.Not(empty));
    const Tensor x = OnlyWhere(to, rest, first_column), y = OnlyWhere(to, rest, second_column);
    const auto [of_first, of_second] = Divided(symmetry, x, y, block);
    const Tensor u = to.Where(alone, SafeDiv(to, x, block.a), of_first), v = OnlyWhere(to, to.Not(alone), of_second);
    const Tensor reduced = to.Sub(swapped, to.Add(Outer(to, u, symmetry.Mirrored(x)), Outer(to, v, symmetry.Mirrored(y))));
    const Tensor is_first = to.And(to.Equal(indices, at), open), is_second = to.And(to.Equal(indices, second), to.And(open, to.Not(alone)));
    auto stored = [&](const Tensor& into, const Tensor& where, const Tensor& values) {
      return to.Where(to.And(AsRow(to, where), AsColumn(to, rest)), AsColumn(to, values), into);
    };
    const Tensor next = stored(stored(to.Where(AsColumn(to, open), reduced, swapped), is_first, u), is_second, v);
    const Tensor from_one = to.Add(pivot, one);
    const Tensor pivots = to.Where(to.Or(is_first, is_second), to.Where(alone, from_one, to.Neg(from_one)), states[1]);
    const Tensor zero_column = to.And(to.And(open, empty), to.Equal(states[3], to.ConstantInt(0)));
    const Tensor step = to.Where(open, to.Add(to.Sub(second, at), one), to.ConstantInt(0));
    return std::vector<Tensor>{next, pivots, to.Add(k, step), to.Where(zero_column, to.Add(at, one), states[3])};
  });
  return {LowerTriangle(to, states[0]), to.CastTo(states[1], DType::kInt32), to.CastTo(to.SqueezeAt(states[3], {axis}), DType::kInt32)};
}

std::tuple<Tensor, Tensor, Tensor> LdlFactorEx(Lowering& to, Tensor self, bool hermitian, Unused) {
  const Factors factors = Factorize(to, self, hermitian);
  return {factors.ld, factors.pivots, factors.info};
}
std::tuple<Tensor, Tensor> LdlFactor(Lowering& to, Tensor self, bool hermitian) {
  const Factors factors = Factorize(to, self, hermitian);
  return {factors.ld, factors.pivots};
}

// The blocks are solved on the way down, so that B becomes D⁻¹·L⁻¹·Pᵀ·B; then Lᵀ, or Lᴴ, from below.
Tensor LdlSolve(Lowering& to, Tensor ld, Tensor given_pivots, Tensor b, bool hermitian) {
  const Symmetry symmetry{to, hermitian};
  const auto [factors, right] = WithCommonBatch(to, ld, b);
  const Dim n = factors.size(-1);
  const int64_t axis = factors.rank() - 2;
  Dims sizes = BatchSizes(factors);
  sizes.push_back(n);
  const Tensor pivots = to.ExpandTo(to.CastTo(given_pivots, DType::kInt64), sizes);
  const Tensor indices = Iota(to, n), one = to.ConstantInt(1), zero = to.ConstantInt(0), size = to.Number(n);
  const Tensor last = to.Sub(size, one);
  const Tensor is_paired = to.Less(pivots, zero), targets = to.Sub(to.Abs(pivots), one);
  // Whether a 2×2 block begins at each index: of a run of negative pivots, every other one.
  const Tensor nowhere = OnlyWhere(to, to.Not(is_paired), to.CastTo(is_paired, DType::kInt64));
  const Tensor begins = Repeat(to, size, {nowhere}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    const Tensor before = to.And(to.Greater(k, zero), to.Equal(ElementAt(to, states[0], to.Max({to.Sub(k, one), zero})), one));
    const Tensor here = to.And(ElementAt(to, is_paired, k), to.Not(before));
    return std::vector<Tensor>{to.Where(to.Equal(indices, k), AsColumn(to, to.CastTo(here, DType::kInt64)), states[0])};
  })[0];
  const Tensor diagonal = symmetry.Diagonal(DiagonalOf(to, factors)), strict = LowerTriangle(to, factors, false);
  auto exchanged = [&](const Tensor& x, const Tensor& i, const Tensor& j) {
    Dims batch = sizes;
    batch.back() = to.Of(1);
    const Tensor order = to.ExpandTo(Exchanged(to, indices, to.ExpandTo(i, batch), j), sizes);
    return to.GatherElements(x, to.ExpandTo(AsColumn(to, order), x.sizes()), {.axis = axis});
  };
  auto at = [&](const Tensor& vector, const Tensor& k) { return AsColumn(to, ElementAt(to, vector, k)); };
  const Tensor down = Repeat(to, size, {right}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    const Tensor next = to.Min({to.Add(k, one), last}), before = to.Max({to.Sub(k, one), zero});
    const Tensor pair = to.Equal(at(begins, k), one);
    const Tensor ends_pair = to.And(to.Greater(k, zero), to.Equal(at(begins, before), one));
    const Tensor swapped = exchanged(states[0], to.Where(pair, next, k), to.Where(ends_pair, k, at(targets, k)));
    const Tensor x = RowAt(to, swapped, k), y = RowAt(to, swapped, next);
    // Below the block its columns are L's.
    const Tensor end = to.Where(pair, next, k);
    const Tensor below = to.Greater(indices, end);
    const Tensor l = OnlyWhere(to, below, ColumnAt(to, strict, k)), m = OnlyWhere(to, to.And(below, pair), ColumnAt(to, strict, next));
    // From the left, the block is the mirror of what it is from the right.
    const Block block{at(diagonal, k), symmetry.Mirrored(at(ColumnAt(to, strict, k), next)), at(diagonal, next)};
    const auto [of_first, second] = Divided(symmetry, x, y, block);
    const Tensor first = to.Where(pair, of_first, to.Div(x, block.a));
    // What is not below stays, even where x or y is infinite.
    const Tensor reduced = to.Sub(swapped, OnlyWhere(to, AsColumn(to, below), to.Add(Outer(to, l, x), Outer(to, m, y))));
    auto put = [&](const Tensor& into, const Tensor& row, const Tensor& values) {
      return to.Where(to.UnsqueezeAt(to.Equal(indices, row), {1}), AsRow(to, values), into);
    };
    const Tensor solved = put(put(reduced, next, to.Where(pair, second, RowAt(to, reduced, next))), k, first);
    return std::vector<Tensor>{to.Where(AsColumn(to, ends_pair), states[0], solved)};
  })[0];
  // The last of a block's rows undoes its exchange, when both rows are done.
  return Repeat(to, size, {down}, [&](const Tensor& step, const std::vector<Tensor>& states) {
    const Tensor k = to.Sub(last, step), next = to.Min({to.Add(k, one), last}), before = to.Max({to.Sub(k, one), zero});
    const Tensor pair = to.Equal(at(begins, k), one);
    const Tensor ends_pair = to.And(to.Greater(k, zero), to.Equal(at(begins, before), one));
    const Tensor below = to.Greater(indices, to.Where(pair, next, k));
    const Tensor l = OnlyWhere(to, below, ColumnAt(to, strict, k));
    const Tensor sum = to.SqueezeAt(to.MatMul(AsRow(to, symmetry.Mirrored(l)), OnlyWhere(to, AsColumn(to, below), states[0])), {axis});
    const Tensor changed = to.Sub(states[0], OnlyWhere(to, to.UnsqueezeAt(to.Equal(indices, k), {1}), AsRow(to, sum)));
    const Tensor end = to.Where(pair, next, k);
    return std::vector<Tensor>{exchanged(changed, end, to.Where(ends_pair, k, at(targets, k)))};
  })[0];
}

constexpr OpRow kRows[] = {
    Op<LdlFactor>("aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)"),
    Op<LdlFactorEx>("aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> "
                    "(Tensor LD, Tensor pivots, Tensor info)"),
    Op<LdlSolve>("aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor"),
};

}  // namespace

std::span<const OpRow> IndefiniteFactorizations() { return kRows; }

}  // namespace flambeau::lower
