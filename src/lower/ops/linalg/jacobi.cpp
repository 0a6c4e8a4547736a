// Jacobi's methods: matrices are turned in planes until they are diagonal
// (eigenvalues), or until their columns are orthogonal (singular values).
//
// A round turns n/2 planes at once: in round r the indices i and j with
// i + j ≡ r (mod n) are partners, so n rounds make a sweep over all pairs. All is
// computed in float64; sweeps end when nothing is left to turn.
#include "lower/ops/linalg/jacobi.h"

#include <functional>
#include <utility>

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/bidiagonal.h"
#include "lower/ops/linalg/householder.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/linalg/scaling.h"
#include "lower/ops/linalg/tridiagonal.h"
#include "lower/ops/loops.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr int64_t kMaxSweeps = 40;
constexpr double kPrecision = 1e-14;

// For each index its partner in round r: [n].
Tensor Partners(Lowering& to, Tensor indices, Tensor round, Tensor n) {
  return to.Mod(to.Sub(round, indices), n);
}

// Cosine and sine by which row i turns with its partner: i' = cos·i - sin·partner. The sine has the phase of complex
// numbers, too.
struct Rotation {
  Tensor cosine, sine;  // [batch, n]
};

// Of the plane's Hermitian matrix ((d, off), (…, d_partner)); none where off is 0.
Rotation RotationOf(Lowering& to, Tensor d, Tensor d_partner, Tensor off, Tensor is_first) {
  if (off.is_complex()) {
    const Rotation real = RotationOf(to, d, d_partner, to.Abs(off), is_first);
    return {real.cosine, to.Mul(to.CastTo(real.sine, off.dtype()), to.Sign(off))};
  }
  const Tensor zero = Double(to, 0), one = Double(to, 1);
  const Tensor none = to.Equal(off, zero);
  const Tensor theta = to.Div(to.Sub(d_partner, d), to.Mul(to.Where(none, one, off), Double(to, 2)));
  const Tensor forward = to.Or(to.Greater(theta, zero), to.And(to.Equal(theta, zero), is_first));
  const Tensor size = to.Reciprocal(to.Add(to.Abs(theta), to.Sqrt(to.Add(to.Mul(theta, theta), one))));
  const Tensor tangent = to.Where(none, zero, to.Where(forward, size, to.Neg(size)));
  const Tensor cosine = to.Reciprocal(to.Sqrt(to.Add(to.Mul(tangent, tangent), one)));
  return {cosine, to.Mul(tangent, cosine)};
}

// What two partners have between them, [batch, n], as both see it. Where rounding makes two of it they would turn by angles
// of their own, which differ in sign where their values are equal.
Tensor Mutual(Lowering& to, Tensor between, Tensor partners) {
  const Tensor mirrored = Conj(to, to.Gather(between, partners, {.axis = between.rank() - 1}));
  return Scaled(to, to.Add(between, mirrored), Double(to, 0.5));
}

// Rows of `matrix` turned with their partners; columns as the rows are of a Hermitian matrix.
Tensor TurnRows(Lowering& to, Tensor matrix, Tensor partners, const Rotation& rotation) {
  const Tensor others = to.Gather(matrix, partners, {.axis = matrix.rank() - 2});
  return to.Sub(Scaled(to, matrix, AsColumn(to, rotation.cosine)), to.Mul(others, AsColumn(to, rotation.sine)));
}
Tensor TurnColumns(Lowering& to, Tensor matrix, Tensor partners, const Rotation& rotation) {
  const Tensor others = to.Gather(matrix, partners, {.axis = matrix.rank() - 1});
  return to.Sub(Scaled(to, matrix, AsRow(to, rotation.cosine)), to.Mul(others, AsRow(to, Conj(to, rotation.sine))));
}

Tensor Largest(Lowering& to, Tensor x) {
  // The 0 stands in where there is nothing.
  const Tensor flat = to.Concat({to.Reshape(x, to.ConstantInts({-1})), to.CastTo(to.ConstantInts({0}), x.dtype())}, {.axis = 0});
  return to.ReduceMax(flat, to.ConstantInts({0}), {.keepdims = 0});
}

// Rounds until a whole sweep found nothing larger than what rounding leaves.
// `turn` gives the states after a round and what it found.
using Turn = std::function<std::pair<std::vector<Tensor>, Tensor>(const Tensor& partners, const std::vector<Tensor>& states)>;
std::vector<Tensor> Sweeps(Lowering& to, Dim n, std::vector<Tensor> states, const Turn& turn) {
  const Tensor size = to.Number(AtLeastOne(to, n)), indices = Iota(to, n);
  states.insert(states.begin(), {to.ConstantOf(true, DType::kBool), Double(to, 0)});
  states = RepeatWhile(to, to.Mul(to.Number(n), to.ConstantInt(kMaxSweeps)), std::move(states),
                       [&](const Tensor& k, const std::vector<Tensor>& states) {
                         const Tensor round = to.Mod(k, size);
                         auto [turned, found] =
                             turn(Partners(to, indices, round, size), {states.begin() + 2, states.end()});
                         const Tensor most = to.Max({states[1], found});
                         const Tensor ends = to.Equal(round, to.Sub(size, to.ConstantInt(1)));
                         const Tensor busy = to.Greater(most, Double(to, kPrecision));
                         turned.insert(turned.begin(), {to.Or(to.Not(ends), busy), to.Where(ends, Double(to, 0), most)});
                         return turned;
                       });
  return {states.begin() + 2, states.end()};
}

struct Sorted {
  Tensor values, order;
};
Sorted Sort(Lowering& to, Tensor values, bool descending) {
  const auto [sorted, order] = to.TopK(values, to.Number1(values.size(-1)), {.largest = descending});
  return {Sized(to, sorted, values.sizes()), Sized(to, order, values.sizes())};
}

// Rows of the matrix in that order, [batch, n].
Tensor OrderedRows(Lowering& to, Tensor matrix, Tensor order) {
  Dims sizes = matrix.sizes();
  sizes[sizes.size() - 2] = order.size(-1);
  return to.GatherElements(matrix, to.ExpandTo(AsColumn(to, order), sizes), {.axis = matrix.rank() - 2});
}

// Only one triangle counts, and the real part of the diagonal.
Tensor Symmetric(Lowering& to, Tensor a, bool upper) {
  const Tensor half = upper ? Adjoint(to, UpperTriangle(to, a)) : LowerTriangle(to, a);
  const Tensor whole = to.Add(half, Adjoint(to, LowerTriangle(to, half, false)));
  if (!a.is_complex()) return whole;
  return to.Where(DiagonalMask(to, a.size(-1), a.size(-1), to.Of(0)), to.CastTo(RealPart(to, whole), whole.dtype()), whole);
}

}  // namespace

Eigen SymmetricEigen(Lowering& to, Tensor a, bool upper) {
  const Dim n = a.size(-1);
  const auto [symmetric, scale] = ToUnitScale(to, Symmetric(to, Wide(to, a), upper));
  const Tensor indices = Iota(to, n);
  const Tensor identity = IdentityMatrices(to, BatchSizes(a), n, n, symmetric.dtype());
  const auto states = Sweeps(to, n, {symmetric, identity}, [&](const Tensor& partners, const std::vector<Tensor>& states) {
    const Tensor diagonal = RealPart(to, DiagonalOf(to, states[0]));
    Dims one_a_row = diagonal.sizes();
    one_a_row.push_back(to.Of(1));
    const Tensor chosen = to.ExpandTo(AsColumn(to, partners), one_a_row);
    const Tensor picked = to.SqueezeAt(to.GatherElements(states[0], chosen, {.axis = a.rank() - 1}), {a.rank() - 1});
    const Tensor off = OnlyWhere(to, to.Not(to.Equal(partners, indices)), Mutual(to, picked, partners));
    const Tensor partner_diagonal = to.Gather(diagonal, partners, {.axis = diagonal.rank() - 1});
    const Rotation rotation = RotationOf(to, diagonal, partner_diagonal, off, to.Less(indices, partners));
    const Tensor turned = TurnColumns(to, TurnRows(to, states[0], partners, rotation), partners, rotation);
    const Tensor size = to.Abs(off);  // a matrix that has become NaN is done, and the others of the batch are not
    return std::pair{std::vector<Tensor>{turned, TurnRows(to, states[1], partners, rotation)}, Largest(to, OnlyWhere(to, to.Greater(size, Double(to, 0)), size))};
  });
  const auto [values, order] = Sort(to, RealPart(to, DiagonalOf(to, states[0])), false);
  const Tensor vectors = Adjoint(to, OrderedRows(to, states[1], order));
  return {to.CastTo(ValuesAt(to, values, scale), RealDtype(a)), to.CastTo(vectors, a.dtype())};
}

namespace {

// Rows are turned until they are orthogonal; their lengths are the singular values.
struct Orthogonalized {
  Tensor rows;    // [batch, n, m]
  Tensor turned;  // the identity, turned as the rows were: [batch, n, n]
};
Orthogonalized Orthogonalize(Lowering& to, Tensor rows) {
  const Dim n = rows.size(-2);
  const Tensor indices = Iota(to, n), last = to.ConstantInts({rows.rank() - 1});
  const Tensor identity = IdentityMatrices(to, BatchSizes(rows), n, n, rows.dtype());
  // What is this much shorter than the longest, which is about 1 in each matrix, counts as zero.
  auto squares = [&](const Tensor& matrix) { return to.ReduceSum(SquaredSize(to, matrix), last, {.keepdims = 0}); };
  const Tensor lengths = squares(rows), finite = OnlyWhere(to, to.Less(lengths, Double(to, 0x1p100)), lengths);
  const Tensor floor = to.Mul(Largest(to, finite), Double(to, kPrecision * kPrecision));
  const auto states = Sweeps(to, n, {rows, identity}, [&](const Tensor& partners, const std::vector<Tensor>& states) {
    const Tensor lengths = squares(states[0]);
    const Tensor others = to.Gather(states[0], partners, {.axis = rows.rank() - 2});
    const Tensor products = Mutual(to, to.ReduceSum(to.Mul(states[0], Conj(to, others)), last, {.keepdims = 0}), partners);
    const Tensor partner_lengths = to.Gather(lengths, partners, {.axis = lengths.rank() - 1});
    const Tensor cosines = to.Div(to.Abs(products), to.Add(to.Sqrt(to.Mul(lengths, partner_lengths)), floor));
    const Tensor is_open = to.And(to.Not(to.Equal(partners, indices)), to.Greater(cosines, Double(to, kPrecision)));
    const Tensor off = OnlyWhere(to, is_open, products);
    const Rotation rotation = RotationOf(to, lengths, partner_lengths, off, to.Less(indices, partners));
    return std::pair{std::vector<Tensor>{TurnRows(to, states[0], partners, rotation),
                                         TurnRows(to, states[1], partners, rotation)},
                     Largest(to, OnlyWhere(to, is_open, cosines))};
  });
  return {states[0], states[1]};
}

Tensor Lengths(Lowering& to, Tensor rows) {
  return to.Sqrt(to.ReduceSum(SquaredSize(to, rows), to.ConstantInts({rows.rank() - 1}), {.keepdims = 0}));
}

// Whether it is known now that columns are more than rows. To turn rows into
// columns then only saves work.
bool IsWide(Lowering& to, const Tensor& a) {
  return to.exprs().RangeOf(to.Minus(a.size(-1), a.size(-2)).expr).min > 0;
}

// The first `count` elements of the last axis.
Tensor First(Lowering& to, Tensor vectors, Dim count) {
  const int64_t last = vectors.rank() - 1;
  if (vectors.size(last) == count) return vectors;
  return Sized(to, to.SliceAxis(vectors, last, to.Of(0), count), WithSize(vectors.sizes(), last, count));
}

// Orthonormal columns that go on where those given end, or are zero.
Tensor Completed(Lowering& to, Tensor columns, Dim count) {
  const Reflectors reflectors = Reflect(to, columns);
  const Tensor q = OrthogonalColumns(to, reflectors, count);
  // The reflections may have turned a column around.
  const Tensor r = RealPart(to, DiagonalOf(to, reflectors.vectors));
  const Tensor given = to.Where(to.Less(r, Double(to, 0)), Double(to, -1), Double(to, 1));
  const Dim rest = to.Minus(count, r.size(-1));
  Dims sizes = given.sizes();
  sizes.back() = rest;
  const Tensor signs = to.Concat({given, to.Full(sizes, 1.0, DType::kFloat64)}, {.axis = given.rank() - 1});
  return Scaled(to, q, AsRow(to, to.AsConstant(rest) == 0 ? given : signs));
}

}  // namespace

Tensor SingularValues(Lowering& to, Tensor a) {
  const auto [unit, scale] = ToUnitScale(to, Wide(to, a));
  const Tensor rows = IsWide(to, a) ? unit : Transposed(to, unit);
  const Tensor sorted = Sort(to, Lengths(to, Orthogonalize(to, rows).rows), true).values;
  return to.CastTo(ValuesAt(to, First(to, sorted, SmallerSide(to, a)), scale), RealDtype(a));
}

Singular SingularDecomposition(Lowering& to, Tensor a, bool full) {
  if (IsWide(to, a)) {
    const Singular transposed = SingularDecomposition(to, Transposed(to, a), full);
    return {Transposed(to, transposed.vt), transposed.values, Transposed(to, transposed.u)};
  }
  const auto [unit_scaled, scale] = ToUnitScale(to, Wide(to, a));
  // The columns of A as rows.
  const Orthogonalized orthogonal = Orthogonalize(to, Transposed(to, unit_scaled));
  const auto [all_values, order] = Sort(to, Lengths(to, orthogonal.rows), true);
  // There are no more than rows; the others are zeros.
  const Dim side = SmallerSide(to, a);
  const Tensor values = First(to, all_values, side), kept = First(to, order, side);
  const Tensor rows = OrderedRows(to, orthogonal.rows, kept);
  // Directions of what is only rounding are none.
  const Tensor most = to.SliceAxis(values, values.rank() - 1, to.Of(0), to.Of(1));
  const Tensor is_zero = Sized(to, to.LessOrEqual(values, to.Mul(most, Double(to, kPrecision))), values.sizes());
  const Tensor directed = OnlyWhere(to, AsColumn(to, to.Not(is_zero)), rows);
  const Tensor unit = Scaled(to, directed, AsColumn(to, to.Reciprocal(to.Where(is_zero, Double(to, 1), values))));
  const Tensor u = Completed(to, Transposed(to, unit), full ? a.size(-2) : side);
  const Tensor vt = Conj(to, OrderedRows(to, orthogonal.turned, full ? order : kept));
  return {to.CastTo(u, a.dtype()), to.CastTo(ValuesAt(to, values, scale), RealDtype(a)), to.CastTo(vt, a.dtype())};
}

namespace {

std::tuple<Tensor, Tensor> Eigh(Lowering& to, Tensor self, std::string_view uplo) {
  const bool upper = uplo == "U" || uplo == "u";
  const Eigen eigen = SymmetricEigen(to, self, upper);
  const Tensor symmetric = Symmetric(to, Wide(to, self), upper);
  const Tensor vectors = WithSignsOfLapack(to, Wide(to, eigen.vectors), symmetric, upper, RealDtype(self));
  return {eigen.values, to.CastTo(vectors, self.dtype())};
}
std::tuple<Tensor, Tensor> EighInternal(Lowering& to, Tensor a, std::string_view uplo, bool compute_v) {
  const auto [values, vectors] = Eigh(to, a, uplo);
  return {values, compute_v ? vectors : to.Full(Dims{to.Of(0)}, 0.0, a.dtype())};
}
Tensor Eigvalsh(Lowering& to, Tensor self, std::string_view uplo) { return std::get<0>(Eigh(to, self, uplo)); }

std::tuple<Tensor, Tensor, Tensor> Svd(Lowering& to, Tensor a, bool full_matrices, std::optional<std::string_view>) {
  const Singular singular = SignedSingularDecomposition(to, a, full_matrices);
  return {singular.u, singular.values, singular.vt};
}
std::tuple<Tensor, Tensor, Tensor> SvdInternal(Lowering& to, Tensor a, bool full_matrices, bool compute_uv,
                                               std::optional<std::string_view> driver) {
  if (compute_uv) return Svd(to, a, full_matrices, driver);
  const Tensor nothing = to.Full(Dims{to.Of(0)}, 0.0, a.dtype());
  return {nothing, SingularValues(to, a), nothing};
}
Tensor Svdvals(Lowering& to, Tensor a, std::optional<std::string_view>) { return SingularValues(to, a); }

// V, not its transpose; zeros where it is not computed.
std::tuple<Tensor, Tensor, Tensor> OldSvd(Lowering& to, Tensor self, bool some, bool compute_uv) {
  if (!compute_uv) {
    const Dims batch = BatchSizes(self);
    auto zeros = [&](Dim size) {
      Dims sizes = batch;
      sizes.insert(sizes.end(), {size, size});
      return to.Full(sizes, 0.0, self.dtype());
    };
    return {zeros(self.size(-2)), SingularValues(to, self), zeros(self.size(-1))};
  }
  const Singular singular = SignedSingularDecomposition(to, self, !some);
  return {singular.u, singular.values, Adjoint(to, singular.vt)};
}

constexpr OpRow kRows[] = {
    Op<EighInternal>("aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor "
                     "eigenvectors)"),
    Op<SvdInternal>("aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) "
                    "-> (Tensor U, Tensor S, Tensor Vh)"),
    Op<Eigh>("aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)"),
    Op<Eigvalsh>("aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor"),
    Op<Svd>("aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor "
            "Vh)"),
    Op<Svdvals>("aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor"),
    Op<OldSvd>("aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)"),
};

}  // namespace

std::span<const OpRow> Spectral() { return kRows; }

}  // namespace flambeau::lower
