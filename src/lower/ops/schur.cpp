// Eigenvalues of any square matrix: complex QR steps with shifts turn it into a
// triangle T = Qᴴ·A·Q, which has them on its diagonal. All in complex128.
#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/loops.h"
#include "lower/ops/matrices.h"
#include "onnx/complex.h"

namespace flambeau::lower {
namespace {

constexpr DType kWide = DType::kComplex128;
constexpr int64_t kStepsPerValue = 40;
constexpr double kPrecision = 1e-13;  // of the norm; steps themselves leave a hundredth of it

Tensor Double(Lowering& to, double value) { return to.NumberOf(value, DType::kFloat64); }

// Σ |x|² over the last axis.
Tensor SquaredLength(Lowering& to, Tensor x) {
  const Tensor size = to.Abs(x);
  return to.ReduceSum(to.Mul(size, size), to.ConstantInts({x.rank() - 1}), {.keepdims = 0});
}

struct Unitary {
  Tensor q, r;
};

// A = Q·R by reflections.
Unitary Decompose(Lowering& to, Tensor a) {
  const Dim n = a.size(-1);
  const Tensor rows = Iota(to, n), zero = Double(to, 0), one = Double(to, 1);
  const Tensor identity = IdentityMatrices(to, BatchSizes(a), n, n, kWide);
  const auto states = Repeat(to, to.Number(n), {identity, a}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    const Tensor x = OnlyWhere(to, to.GreaterOrEqual(rows, k), ColumnAt(to, states[1], k));
    const Tensor alpha = ElementAt(to, x, k), length = to.Sqrt(SquaredLength(to, x));
    const Tensor phase = to.Where(to.Equal(to.Abs(alpha), zero), to.NumberOf(1.0, kWide), to.Sign(alpha));
    const Tensor shift = AsColumn(to, to.Mul(phase, to.CastTo(length, kWide)));
    const Tensor v = to.Add(x, OnlyWhere(to, to.Equal(rows, k), shift));
    const Tensor square = SquaredLength(to, v);
    const Tensor factor = to.Div(Double(to, 2), to.Where(to.Equal(square, zero), one, square));
    const Tensor column = AsColumn(to, v), row = AsRow(to, Conj(to, v));
    const Tensor scaled = to.Mul(column, to.CastTo(AsColumn(to, AsColumn(to, factor)), kWide));
    return std::vector<Tensor>{to.Sub(states[0], to.MatMul(to.MatMul(states[0], scaled), row)),
                               to.Sub(states[1], to.MatMul(scaled, to.MatMul(row, states[1])))};
  });
  return {states[0], states[1]};
}

// Element `index` [batch, 1] of each vector [batch, n].
Tensor Pick(Lowering& to, Tensor vector, Tensor index) {
  return to.GatherElements(vector, index, {.axis = vector.rank() - 1});
}

// The eigenvalue of ((a, b), (c, d)) that is nearer to d, as Wilkinson shifts.
Tensor NearerValue(Lowering& to, Tensor a, Tensor b, Tensor c, Tensor d) {
  const Tensor half = to.Mul(to.Sub(a, d), to.NumberOf(0.5, kWide));
  const Tensor root = to.Sqrt(to.Add(to.Mul(half, half), to.Mul(b, c)));
  const Tensor plus = to.Add(half, root), minus = to.Sub(half, root);
  const Tensor larger = to.Where(to.Less(to.Abs(plus), to.Abs(minus)), minus, plus);
  return to.Sub(d, SafeDiv(to, to.Mul(b, c), larger));
}

// Of each matrix row `index` [batch, 1]: [batch, n].
Tensor PickRow(Lowering& to, Tensor matrix, Tensor index) {
  Dims sizes = matrix.sizes();
  sizes[sizes.size() - 2] = to.Of(1);
  const Tensor row = to.GatherElements(matrix, to.ExpandTo(AsColumn(to, index), sizes), {.axis = matrix.rank() - 2});
  return to.SqueezeAt(row, {matrix.rank() - 2});
}

struct Schur {
  Tensor q, t;
};

// The last row of what is still open loses its elements before the diagonal;
// then the one before it is the last. QR steps leave rows that are done alone.
Schur Triangularize(Lowering& to, Tensor a) {
  const Dim n = a.size(-1);
  const int64_t last = a.rank() - 2;  // axis of a batch of vectors
  const Tensor zero = to.ConstantInt(0), one = to.ConstantInt(1), columns = Iota(to, n);
  const Tensor identity = IdentityMatrices(to, BatchSizes(a), n, n, kWide);
  const Tensor scale = to.Sqrt(SquaredLength(to, to.CastTo(to.Sqrt(SquaredLength(to, a)), kWide)));
  const Tensor limit = to.UnsqueezeAt(to.Mul(scale, Double(to, kPrecision)), {last});
  Dims index_sizes = BatchSizes(a);
  index_sizes.push_back(to.Of(1));
  const Tensor open = to.ExpandTo(to.Sub(to.Number(n), one), index_sizes);
  const Tensor always = to.ConstantOf(true, DType::kBool);
  const auto states = RepeatWhile(
      to, to.Mul(to.Number(n), to.ConstantInt(kStepsPerValue)), {always, identity, a, open, to.Sub(open, open)},
      [&](const Tensor&, const std::vector<Tensor>& states) {
        const Tensor &q = states[1], &t = states[2], &index = states[3], &tries = states[4];
        const Tensor above = to.Max({to.Sub(index, one), zero});
        const Tensor lower = PickRow(to, t, index), upper = PickRow(to, t, above);
        const Tensor corner = Pick(to, lower, index);
        Tensor shift = NearerValue(to, Pick(to, upper, above), Pick(to, upper, index), Pick(to, lower, above), corner);
        // Where steps go round in circles, an odd shift gets out of them.
        const Tensor stuck = to.Equal(to.Mod(tries, to.ConstantInt(11)), to.ConstantInt(10));
        shift = to.Where(stuck, to.Add(shift, to.CastTo(to.Abs(Pick(to, lower, above)), kWide)), shift);
        const Tensor shifts = to.Mul(IdentityMatrix(to, n, n, kWide), AsColumn(to, shift));
        const Unitary step = Decompose(to, to.Sub(t, shifts));
        const Tensor next = to.Add(to.MatMul(step.r, step.q), shifts);
        const Tensor is_left = to.Less(columns, index);
        const Tensor before = OnlyWhere(to, is_left, PickRow(to, next, index));
        const Tensor rest = to.UnsqueezeAt(to.Sqrt(SquaredLength(to, before)), {last});
        const Tensor done = to.LessOrEqual(rest, limit);
        // Exact zeros stay; anything else would grow again under later shifts.
        const Tensor is_cut = to.And(AsColumn(to, to.Equal(columns, index)), AsRow(to, to.And(is_left, done)));
        const Tensor moved = to.Max({to.Where(done, to.Sub(index, one), index), zero});
        const Tensor again = to.Greater(to.ReduceMax(moved, {}, {.keepdims = 0}), zero);
        return std::vector<Tensor>{again, to.MatMul(q, step.q), OnlyWhere(to, to.Not(is_cut), next), moved,
                                   to.Where(done, zero, to.Add(tries, one))};
      });
  return {states[1], states[2]};
}

// Eigenvectors of the triangle, one a column, by substitution from below.
Tensor TriangleVectors(Lowering& to, Tensor t) {
  const Dim n = t.size(-1);
  const Tensor columns = Iota(to, n), values = DiagonalOf(to, t), last = to.Sub(to.Number(n), to.ConstantInt(1));
  const Tensor tiny = to.NumberOf(1e-300, kWide), one = to.NumberOf(1.0, kWide);
  const Tensor none = to.Full(t.sizes(), 0.0, kWide);
  return Repeat(to, to.Number(n), {none}, [&](const Tensor& step, const std::vector<Tensor>& states) {
    const Tensor j = to.Sub(last, step), row = RowAt(to, t, j);
    const Tensor sums = to.SqueezeAt(to.MatMul(AsRow(to, row), states[0]), {t.rank() - 2});
    const Tensor distance = to.Sub(values, AsColumn(to, ElementAt(to, row, j)));
    const Tensor safe = to.Where(to.Equal(distance, to.NumberOf(0.0, kWide)), tiny, distance);
    const Tensor found = to.Where(to.Equal(columns, j), one, OnlyWhere(to, to.Greater(columns, j), to.Div(sums, safe)));
    const Tensor is_row = to.UnsqueezeAt(to.Equal(columns, j), {1});
    return std::vector<Tensor>{to.Where(is_row, AsRow(to, found), states[0])};
  })[0];
}

// Columns of length 1 whose largest element is real.
Tensor Normalized(Lowering& to, Tensor vectors) {
  const Tensor rows = Transposed(to, vectors);
  const Tensor sizes = to.Abs(rows);
  const Tensor largest = to.ArgMax(sizes, {.axis = rows.rank() - 1, .keepdims = 1});
  const Tensor turn = Conj(to, to.Sign(to.GatherElements(rows, largest, {.axis = rows.rank() - 1})));
  const Tensor length = to.CastTo(AsColumn(to, to.Sqrt(SquaredLength(to, rows))), kWide);
  return Transposed(to, to.Mul(rows, to.Div(turn, length)));
}

DType ResultDtype(const Tensor& self) { return self.is_complex() ? self.dtype() : onnx::ComplexDtype(self.dtype()); }

Tensor Eigvals(Lowering& to, Tensor self) {
  return to.CastTo(DiagonalOf(to, Triangularize(to, to.CastTo(self, kWide)).t), ResultDtype(self));
}

std::tuple<Tensor, Tensor> Eig(Lowering& to, Tensor self) {
  const Schur schur = Triangularize(to, to.CastTo(self, kWide));
  const Tensor vectors = Normalized(to, to.MatMul(schur.q, TriangleVectors(to, UpperTriangle(to, schur.t))));
  const DType dtype = ResultDtype(self);
  return {to.CastTo(DiagonalOf(to, schur.t), dtype), to.CastTo(vectors, dtype)};
}

constexpr OpRow kRows[] = {
    Op<Eigvals>("aten::_linalg_eigvals(Tensor self) -> Tensor"),
    Op<Eig>("aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)"),
    Op<Eigvals>("aten::linalg_eigvals(Tensor self) -> Tensor"),
};

}  // namespace

std::span<const OpRow> GeneralSpectra() { return kRows; }

}  // namespace flambeau::lower
