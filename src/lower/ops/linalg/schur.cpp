// Eigenvalues of any square matrix. A real one becomes LAPACK's triangle with
// blocks of 2×2 for conjugate pairs; a complex one is turned into a triangle
// T = Qᴴ·A·Q by QR steps with shifts.
#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/linalg/real_schur.h"
#include "lower/ops/linalg/scaling.h"
#include "lower/ops/loops.h"
#include "onnx/complex.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr DType kWide = DType::kComplex128;
constexpr int64_t kStepsPerValue = 40;
constexpr double kPrecision = 1e-13;  // of the norm; steps themselves leave a hundredth of it
constexpr double kRounding = 2.220446049250313e-16;
constexpr double kTiny = 1e-120, kLong = 1e10;  // the square of a quotient of both is still a number

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

// The eigenvalue of ((a, b), (c, d)) that is nearer to d, as Wilkinson shifts.
Tensor NearerValue(Lowering& to, Tensor a, Tensor b, Tensor c, Tensor d) {
  const Tensor half = to.Mul(to.Sub(a, d), to.NumberOf(0.5, kWide));
  const Tensor root = to.Sqrt(to.Add(to.Mul(half, half), to.Mul(b, c)));
  const Tensor plus = to.Add(half, root), minus = to.Sub(half, root);
  const Tensor larger = to.Where(to.Less(to.Abs(plus), to.Abs(minus)), minus, plus);
  return to.Sub(d, SafeDiv(to, to.Mul(b, c), larger));
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
        return std::vector<Tensor>{Any(to, to.Greater(moved, zero)), to.MatMul(q, step.q), OnlyWhere(to, to.Not(is_cut), next), moved,
                                   to.Where(done, zero, to.Add(tries, one))};
      });
  return {states[1], states[2]};
}

// Eigenvectors of the triangle, one a column, by substitution from below. Values of it that are closer to a column's than
// rounding tells are taken to be that far from it, as trevc does; columns are shortened before they grow beyond what a number holds.
Tensor TriangleVectors(Lowering& to, Tensor t) {
  const Dim n = t.size(-1);
  const Tensor columns = Iota(to, n), values = DiagonalOf(to, t), last = to.Sub(to.Number(n), to.ConstantInt(1));
  const Tensor one = to.NumberOf(1.0, kWide), none = to.Full(t.sizes(), 0.0, kWide);
  const Tensor least = to.Max({to.Mul(to.Abs(values), Double(to, kRounding)), Double(to, kTiny)});
  return Repeat(to, to.Number(n), {none}, [&](const Tensor& step, const std::vector<Tensor>& states) {
    const Tensor j = to.Sub(last, step), row = RowAt(to, t, j);
    const Tensor sums = to.SqueezeAt(to.MatMul(AsRow(to, row), states[0]), {t.rank() - 2});
    const Tensor distance = to.Sub(values, AsColumn(to, ElementAt(to, row, j)));
    const Tensor safe = to.Where(to.Less(to.Abs(distance), least), to.CastTo(to.Neg(least), kWide), distance);
    const Tensor found = to.Where(to.Equal(columns, j), one, OnlyWhere(to, to.Greater(columns, j), to.Div(sums, safe)));
    const Tensor is_row = to.UnsqueezeAt(to.Equal(columns, j), {1});
    const Tensor size = to.Abs(found), shorter = to.Where(to.Greater(size, Double(to, kLong)), to.Reciprocal(size), Double(to, 1));
    return std::vector<Tensor>{to.Mul(to.Where(is_row, AsRow(to, found), states[0]), to.CastTo(AsRow(to, shorter), kWide))};
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

// Of a real matrix: the blocks of its Schur form, and what makes that a triangle.
struct PairedSpectrum {
  Tensor values;       // [batch, n]
  Tensor is_first;     // where a conjugate pair begins
  Tensor triangle, g;  // T·G = G·triangle, G unitary
  Tensor turns_back;   // where trevc gives the vectors of a pair the other sign
};

PairedSpectrum SplitPairs(Lowering& to, Tensor t) {
  const Dim n = t.size(-1);
  const Tensor zero = Double(to, 0), one = Double(to, 1), indices = Iota(to, n), rows = to.UnsqueezeAt(indices, {1});
  const Tensor d = DiagonalOf(to, t), right = BesideDiagonal(to, t), below = BesideDiagonal(to, Transposed(to, t));
  const Tensor is_first = to.Not(to.Equal(below, zero));
  // The element before each.
  const Tensor left = to.Max({to.Sub(indices, to.ConstantInt(1)), to.ConstantInt(0)});
  auto before = [&](const Tensor& x) { return to.Gather(x, left, {.axis = x.rank() - 1}); };
  const Tensor is_second = to.And(before(is_first), to.Greater(indices, to.ConstantInt(0)));
  const Tensor imaginary = OnlyWhere(to, is_first, to.Mul(to.Sqrt(to.Abs(right)), to.Sqrt(to.Abs(below))));
  const Tensor first = onnx::ComplexOf(to, {d, imaginary});
  const Tensor values = to.Where(is_second, Conj(to, before(first)), first);
  // A block's vector is (right, i · imaginary).
  const Tensor length = to.Sqrt(to.Add(to.Mul(right, right), to.Mul(imaginary, imaginary)));
  const Tensor x = to.Where(is_first, SafeDiv(to, right, length), one), y = SafeDiv(to, imaginary, length);
  const Tensor diagonal = to.Where(is_second, before(x), x);
  auto placed = [&](const Tensor& where, const Tensor& column) { return OnlyWhere(to, where, AsRow(to, column)); };
  const Tensor re = placed(to.Equal(rows, indices), diagonal);
  const Tensor beside = OnlyWhere(to, is_first, y);
  const Tensor im = to.Add(placed(to.Equal(rows, to.Add(indices, to.ConstantInt(1))), beside),
                           placed(to.Equal(to.Add(rows, to.ConstantInt(1)), indices), OnlyWhere(to, is_second, before(beside))));
  const Tensor g = onnx::ComplexOf(to, {re, im});
  const Tensor triangle = to.MatMul(to.MatMul(Conj(to, Transposed(to, g)), to.CastTo(t, kWide)), g);
  const Tensor turns_back = to.And(to.Less(to.Abs(right), to.Abs(below)), to.Greater(below, zero));
  return {values, is_first, UpperTriangle(to, triangle), g, turns_back};
}

// As geev leaves them: columns of length 1; those of a conjugate pair with a real largest element.
Tensor VectorsOfPairs(Lowering& to, const RealSchur& schur, const PairedSpectrum& spectrum, DType dtype) {
  const Tensor zero = Double(to, 0), indices = Iota(to, schur.t.size(-1));
  const Tensor inner = to.MatMul(spectrum.g, TriangleVectors(to, spectrum.triangle));
  const auto [re, im] = onnx::PartsOf(to, to.MatMul(to.CastTo(schur.z, kWide), inner));
  const Tensor real_rows = Transposed(to, re), is_first = AsColumn(to, spectrum.is_first);
  // What trevc starts with has a real first element.
  const Tensor start = DiagonalOf(to, inner), size = to.Abs(start);
  const Tensor is_none = to.Equal(size, zero);
  const Tensor phase = to.Where(is_none, to.NumberOf(1.0, kWide), to.Div(Conj(to, start), to.CastTo(to.Where(is_none, Double(to, 1), size), kWide)));
  const Tensor given = to.Mul(onnx::ComplexOf(to, {real_rows, Transposed(to, im)}),
                              AsColumn(to, to.Where(spectrum.turns_back, to.Neg(phase), phase)));
  const Tensor sizes = to.Abs(given);
  const Tensor largest = to.GatherElements(given, to.ArgMax(sizes, {.axis = given.rank() - 1, .keepdims = 1}), {.axis = given.rank() - 1});
  // The turn that makes it real is lartg's: in MKL's float64 positive, unless it was real rather than imaginary and negative.
  const auto [f, g] = onnx::PartsOf(to, largest);
  const Tensor counts = dtype == DType::kFloat64 ? to.Greater(to.Abs(f), to.Abs(g)) : to.ConstantOf(true, DType::kBool);
  const Tensor back = to.And(to.Less(f, zero), counts), turn = Conj(to, to.Sign(largest));
  const Tensor turned = to.Mul(given, to.Where(back, to.Neg(turn), turn));
  const Tensor rows = to.Where(is_first, turned, onnx::ComplexOf(to, {real_rows, to.Mul(real_rows, zero)}));
  // The second of a pair is the first's conjugate.
  const Tensor left = to.Max({to.Sub(indices, to.ConstantInt(1)), to.ConstantInt(0)});
  auto before = [&](const Tensor& x, int64_t axis) { return to.Gather(x, left, {.axis = axis}); };
  const Tensor is_second = to.And(before(spectrum.is_first, spectrum.is_first.rank() - 1), to.Greater(indices, to.ConstantInt(0)));
  const Tensor all = to.Where(AsColumn(to, is_second), Conj(to, before(rows, rows.rank() - 2)), rows);
  const Tensor length = to.Sqrt(SquaredLength(to, all));
  return Transposed(to, to.Div(all, to.CastTo(AsColumn(to, length), kWide)));
}

DType ResultDtype(const Tensor& self) { return self.is_complex() ? self.dtype() : onnx::ComplexDtype(self.dtype()); }

Tensor EigenvaluesOf(Lowering& to, Tensor self) {
  const auto [unit, scale] = ToUnitScale(to, Wide(to, self));
  const Tensor values = self.is_complex() ? DiagonalOf(to, Triangularize(to, unit).t) : SplitPairs(to, RealSchurForm(to, unit, self.dtype()).t).values;
  return ValuesAt(to, values, scale);
}

std::vector<Tensor> EigenOf(Lowering& to, Tensor self) {
  const auto [unit, scale] = ToUnitScale(to, Wide(to, self));
  if (!self.is_complex()) {
    const RealSchur schur = RealSchurForm(to, unit, self.dtype());
    const PairedSpectrum spectrum = SplitPairs(to, schur.t);
    return {ValuesAt(to, spectrum.values, scale), VectorsOfPairs(to, schur, spectrum, self.dtype())};
  }
  const Schur schur = Triangularize(to, unit);
  const Tensor vectors = Normalized(to, to.MatMul(schur.q, TriangleVectors(to, UpperTriangle(to, schur.t))));
  return {ValuesAt(to, DiagonalOf(to, schur.t), scale), vectors};
}

// Of matrices without elements.
Tensor NoValues(Lowering& to, const Tensor& self) {
  Dims sizes = self.sizes();
  sizes.pop_back();
  return to.Full(sizes, 0.0, kWide);
}

Tensor Eigvals(Lowering& to, Tensor self) {
  const std::vector<Tensor> values = UnlessNone(
      to, self.size(-1), [&] { return std::vector<Tensor>{EigenvaluesOf(to, self)}; }, [&] { return std::vector<Tensor>{NoValues(to, self)}; });
  return to.CastTo(values[0], ResultDtype(self));
}

std::tuple<Tensor, Tensor> Eig(Lowering& to, Tensor self) {
  const std::vector<Tensor> parts = UnlessNone(
      to, self.size(-1), [&] { return EigenOf(to, self); },
      [&] { return std::vector<Tensor>{NoValues(to, self), to.Full(self.sizes(), 0.0, kWide)}; });
  return {to.CastTo(parts[0], ResultDtype(self)), to.CastTo(parts[1], ResultDtype(self))};
}

constexpr OpRow kRows[] = {
    Op<Eigvals>("aten::_linalg_eigvals(Tensor self) -> Tensor"),
    Op<Eig>("aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)"),
    Op<Eigvals>("aten::linalg_eigvals(Tensor self) -> Tensor"),
};

}  // namespace

std::span<const OpRow> GeneralSpectra() { return kRows; }

}  // namespace flambeau::lower
