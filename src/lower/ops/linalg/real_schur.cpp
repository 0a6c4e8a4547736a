// Francis's implicit double shifts, as LAPACK's lahqr has them: which eigenvalue
// comes where follows from the whole way to it.
//
// Each round looks at the last rows that are still open of each matrix: one
// eigenvalue is done, or two, or a sweep chases a bulge down the open block.
#include "lower/ops/linalg/real_schur.h"

#include <limits>

#include "lower/ops/geometry.h"
#include "lower/ops/linalg/hessenberg.h"
#include "lower/ops/linalg/householder.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/loops.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr int64_t kSweepsPerValue = 30, kFewestSweeps = 300;  // ITMAX of lahqr
constexpr int64_t kExceptional = 10;                          // KEXSH: every so many sweeps the shift is another
constexpr double kTiny = std::numeric_limits<double>::min();

// Elements of what matrices have on and beside their diagonals, [batch, n].
struct Bands {
  Lowering& to;
  Tensor indices, last;  // `last` is n - 1

  // x[i + offset] at each index i, or 0.
  Tensor At(const Tensor& x, int64_t offset) const {
    const Tensor moved = to.Add(indices, to.ConstantInt(offset));
    const Tensor clamped = to.Min({to.Max({moved, to.ConstantInt(0)}), last});
    return OnlyWhere(to, to.Equal(moved, clamped), to.Gather(x, clamped, {.axis = x.rank() - 1}));
  }
  // x[index], the index kept inside.
  Tensor PickAt(const Tensor& x, const Tensor& index) const {
    return Pick(to, x, to.Min({to.Max({index, to.ConstantInt(0)}), last}));
  }
};

Tensor Half(Lowering& to, Tensor x) { return to.Mul(x, Double(to, 0.5)); }
Tensor Squared(Lowering& to, Tensor x) { return to.Mul(x, x); }
// size with the sign of x.
Tensor WithSign(Lowering& to, Tensor size, Tensor x) { return to.Where(to.Less(x, Double(to, 0)), to.Neg(size), size); }

struct Rotation {
  Tensor cosine, sine;
  Tensor splits;  // whether the block has two real eigenvalues
};

// That makes ((a, b), (c, d)) triangular, or its diagonal elements equal: lanv2.
Rotation Standardize(Lowering& to, Tensor a, Tensor b, Tensor c, Tensor d, double epsilon) {
  const Tensor zero = Double(to, 0), one = Double(to, 1);
  auto is_zero = [&](const Tensor& x) { return to.Equal(x, zero); };
  auto same_sign = [&](const Tensor& x, const Tensor& y) { return to.Equal(to.Sign(x), to.Sign(y)); };
  const Tensor difference = to.Sub(a, d), p = Half(to, difference), size_b = to.Abs(b), size_c = to.Abs(c);
  const Tensor larger = to.Max({size_b, size_c}), smaller = to.Mul(to.Min({size_b, size_c}), to.Mul(to.Sign(b), to.Sign(c)));
  const Tensor scale = to.Max({to.Abs(p), larger});
  const Tensor z = to.Add(to.Mul(SafeDiv(to, p, scale), p), to.Mul(SafeDiv(to, larger, scale), smaller));
  // Two real eigenvalues that are apart.
  const Tensor apart = to.GreaterOrEqual(z, Double(to, 4 * epsilon));
  const Tensor root = to.Add(p, WithSign(to, to.Sqrt(to.Abs(to.Mul(scale, z))), p));
  const Tensor length = to.Sqrt(to.Add(Squared(to, root), Squared(to, c)));
  // Else the diagonal is made equal, and then it may turn out that they are real.
  const Tensor sum = to.Add(b, c), hypotenuse = to.Sqrt(to.Add(Squared(to, sum), Squared(to, difference)));
  const Tensor cosine = to.Sqrt(Half(to, to.Add(one, SafeDiv(to, to.Abs(sum), hypotenuse))));
  const Tensor sine = WithSign(to, to.Neg(SafeDiv(to, p, to.Mul(hypotenuse, cosine))), sum);
  const Tensor aa = to.Add(to.Mul(a, cosine), to.Mul(b, sine)), bb = to.Sub(to.Mul(b, cosine), to.Mul(a, sine));
  const Tensor cc = to.Add(to.Mul(c, cosine), to.Mul(d, sine)), dd = to.Sub(to.Mul(d, cosine), to.Mul(c, sine));
  const Tensor right = to.Add(to.Mul(bb, cosine), to.Mul(dd, sine)), below = to.Sub(to.Mul(cc, cosine), to.Mul(aa, sine));
  const Tensor real = to.And(to.Not(is_zero(below)), to.And(to.Not(is_zero(right)), same_sign(right, below)));
  const Tensor turned = to.And(to.Not(is_zero(below)), is_zero(right));
  const Tensor unit = to.Sqrt(to.Abs(to.Add(right, below)));
  const Tensor cosine1 = SafeDiv(to, to.Sqrt(to.Abs(right)), unit), sine1 = SafeDiv(to, to.Sqrt(to.Abs(below)), unit);
  const Tensor cosine2 = to.Where(real, to.Sub(to.Mul(cosine, cosine1), to.Mul(sine, sine1)), to.Where(turned, to.Neg(sine), cosine));
  const Tensor sine2 = to.Where(real, to.Add(to.Mul(cosine, sine1), to.Mul(sine, cosine1)), to.Where(turned, cosine, sine));
  // What needs no computation.
  const Tensor swapped = to.And(is_zero(b), to.Not(is_zero(c)));
  const Tensor stays = to.Or(is_zero(c), to.And(is_zero(difference), to.And(to.Not(is_zero(b)), to.Not(same_sign(b, c)))));
  auto choose = [&](const Tensor& if_stays, const Tensor& if_swapped, const Tensor& if_apart, const Tensor& otherwise) {
    return to.Where(stays, if_stays, to.Where(swapped, if_swapped, to.Where(apart, if_apart, otherwise)));
  };
  return {choose(one, zero, SafeDiv(to, root, length), cosine2), choose(zero, one, SafeDiv(to, c, length), sine2),
          to.Or(is_zero(c), to.And(to.Not(stays), to.Or(swapped, to.Or(apart, to.Or(real, to.Or(turned, is_zero(below)))))))};
}

struct Shift {
  Tensor re, im;  // of a pair of shifts, conjugate or equal
};

// From the last block of 2×2, or if that led nowhere for long, from elsewhere.
Shift ShiftOf(const Bands& bands, Tensor d, Tensor e, Tensor f, Tensor begin, Tensor end, Tensor tries) {
  Lowering& to = bands.to;
  const Tensor zero = to.ConstantInt(0), before = to.Sub(end, to.ConstantInt(1));
  auto every = [&](int64_t count) { return to.And(to.Greater(tries, zero), to.Equal(to.Mod(tries, to.ConstantInt(count)), zero)); };
  const Tensor at_end = every(2 * kExceptional), at_begin = every(kExceptional);
  auto size_at = [&](const Tensor& index) { return to.Abs(bands.PickAt(e, index)); };
  const Tensor sum = to.Where(at_end, to.Add(size_at(before), size_at(to.Sub(before, to.ConstantInt(1)))),
                              to.Add(size_at(begin), size_at(to.Add(begin, to.ConstantInt(1)))));
  const Tensor from = to.Add(to.Mul(sum, Double(to, 0.75)), bands.PickAt(d, to.Where(at_end, end, begin)));
  auto choose = [&](const Tensor& exceptional, const Tensor& usual) { return to.Where(at_begin, exceptional, usual); };
  Tensor h11 = choose(from, bands.PickAt(d, before)), h12 = choose(to.Mul(sum, Double(to, -0.4375)), bands.PickAt(f, before));
  Tensor h21 = choose(sum, bands.PickAt(e, before)), h22 = choose(from, bands.PickAt(d, end));
  const Tensor scale = to.Add(to.Add(to.Abs(h11), to.Abs(h12)), to.Add(to.Abs(h21), to.Abs(h22)));
  for (Tensor* each : {&h11, &h12, &h21, &h22}) *each = SafeDiv(to, *each, scale);
  const Tensor half_trace = Half(to, to.Add(h11, h22));
  const Tensor determinant = to.Sub(to.Mul(to.Sub(h11, half_trace), to.Sub(h22, half_trace)), to.Mul(h12, h21));
  const Tensor root = to.Sqrt(to.Abs(determinant)), is_pair = to.GreaterOrEqual(determinant, Double(to, 0));
  const Tensor plus = to.Add(half_trace, root), minus = to.Sub(half_trace, root);
  const Tensor nearer = to.Where(to.LessOrEqual(to.Abs(to.Sub(plus, h22)), to.Abs(to.Sub(minus, h22))), plus, minus);
  return {to.Mul(to.Where(is_pair, half_trace, nearer), scale), to.Mul(OnlyWhere(to, is_pair, root), scale)};
}

// Whether the element below the diagonal at each index counts as zero.
Tensor Negligible(const Bands& bands, Tensor d, Tensor e, Tensor f, double epsilon) {
  Lowering& to = bands.to;
  const Tensor next = bands.At(d, 1), ulp = Double(to, epsilon), tiny = Double(to, kTiny);
  const Tensor near = to.Add(to.Abs(d), to.Abs(next)), around = to.Add(to.Abs(bands.At(e, -1)), to.Abs(bands.At(e, 1)));
  const Tensor weight = to.Where(to.Equal(near, Double(to, 0)), around, near);
  const Tensor below = to.Abs(e), right = to.Abs(f), gap = to.Abs(to.Sub(d, next)), size = to.Abs(next);
  const Tensor ab = to.Max({below, right}), ba = to.Min({below, right});
  const Tensor aa = to.Max({size, gap}), bb = to.Min({size, gap}), sum = to.Add(aa, ab);
  const Tensor small = to.LessOrEqual(to.Mul(ba, SafeDiv(to, ab, sum)), to.Max({tiny, to.Mul(ulp, to.Mul(bb, SafeDiv(to, aa, sum)))}));
  return to.Or(to.LessOrEqual(below, tiny), to.And(to.LessOrEqual(below, to.Mul(ulp, weight)), small));
}

struct Start {
  Tensor index;   // [batch, 1]
  Tensor vector;  // [batch, n]: three elements from there, the first column of the shifted product
};

// The last row from which a sweep may begin, since the elements before it are small.
Start StartOf(const Bands& bands, Tensor d, Tensor e, Tensor f, const Shift& shift, Tensor begin, Tensor end, double epsilon) {
  Lowering& to = bands.to;
  const Tensor& indices = bands.indices;
  const Tensor next = bands.At(d, 1), away = to.Sub(d, shift.re);
  const Tensor scale = to.Add(to.Add(to.Abs(away), to.Abs(shift.im)), to.Abs(e)), below = SafeDiv(to, e, scale);
  const Tensor squares = to.Add(to.Mul(away, SafeDiv(to, away, scale)), to.Mul(shift.im, SafeDiv(to, shift.im, scale)));
  Tensor x = to.Add(to.Mul(below, f), squares);
  Tensor y = to.Mul(below, to.Sub(to.Add(d, next), to.Add(shift.re, shift.re)));
  Tensor z = to.Mul(below, bands.At(e, 1));
  const Tensor total = to.Add(to.Abs(x), to.Add(to.Abs(y), to.Abs(z)));
  for (Tensor* each : {&x, &y, &z}) *each = SafeDiv(to, *each, total);
  const Tensor around = to.Add(to.Abs(bands.At(d, -1)), to.Add(to.Abs(d), to.Abs(next)));
  const Tensor left = to.Mul(to.Abs(bands.At(e, -1)), to.Add(to.Abs(y), to.Abs(z)));
  const Tensor small = to.LessOrEqual(left, to.Mul(Double(to, epsilon), to.Mul(to.Abs(x), around)));
  const Tensor allowed = to.And(to.GreaterOrEqual(indices, begin), to.LessOrEqual(indices, to.Sub(end, to.ConstantInt(2))));
  const Tensor starts = to.And(allowed, to.Or(small, to.Equal(indices, begin)));
  const Tensor index = to.ReduceMax(OnlyWhere(to, starts, indices), to.ConstantInts({begin.rank() - 1}), {.keepdims = 1});
  auto put = [&](const Tensor& values, int64_t offset, const Tensor& rest) {
    return to.Where(to.Equal(indices, to.Add(index, to.ConstantInt(offset))), bands.PickAt(values, index), rest);
  };
  return {index, put(x, 0, put(y, 1, put(z, 2, Double(to, 0))))};
}

}  // namespace

RealSchur RealSchurForm(Lowering& to, Tensor a, DType dtype) {
  const Balanced balanced = Balance(to, a);
  const Hessenberg reduced = ReduceToHessenberg(to, balanced.matrix);
  const Dim n = a.size(-1);
  const double epsilon = dtype == DType::kFloat32 ? 0x1p-23 : 0x1p-52;
  const int64_t axis = a.rank() - 2;
  const Tensor size = to.Number(n), zero = to.ConstantInt(0), one = to.ConstantInt(1), two = to.ConstantInt(2);
  const Tensor indices = Iota(to, n), last = to.Sub(size, one), rows = to.UnsqueezeAt(indices, {1});
  const Tensor identity = IdentityMatrices(to, BatchSizes(a), n, n, DType::kFloat64);
  Dims batch = BatchSizes(a);
  batch.push_back(to.Of(1));
  const Tensor end0 = to.ExpandTo(last, batch), tries0 = to.ExpandTo(zero, batch);
  const Tensor limit = to.Mul(to.Add(size, one), to.Max({to.Mul(size, to.ConstantInt(kSweepsPerValue)), to.ConstantInt(kFewestSweeps)}));
  const Tensor always = to.ConstantOf(true, DType::kBool);
  const auto states = RepeatWhile(to, limit, {always, reduced.h, to.MatMul(balanced.b, reduced.q), end0, tries0}, [&](const Tensor&, const std::vector<Tensor>& states) {
    const Tensor &end = states[3], &tries = states[4];
    const Bands bands{to, indices, last};
    const Tensor d = DiagonalOf(to, states[1]), f = BesideDiagonal(to, states[1]), e0 = BesideDiagonal(to, Transposed(to, states[1]));
    // The open block begins after the last element that counts as zero.
    const Tensor cuts = to.And(Negligible(bands, d, e0, f, epsilon), to.Less(indices, end));
    const Tensor begin = to.ReduceMax(OnlyWhere(to, cuts, to.Add(indices, one)), to.ConstantInts({axis}), {.keepdims = 1});
    const Tensor is_cut = to.Equal(to.Add(indices, one), begin), e = OnlyWhere(to, to.Not(is_cut), e0);
    const Tensor below = to.Equal(rows, to.Add(indices, one));
    const Tensor cut = OnlyWhere(to, to.Not(to.And(below, AsRow(to, is_cut))), states[1]);
    const Tensor before = to.Sub(end, one);
    const Tensor open = to.GreaterOrEqual(end, zero), single = to.And(open, to.Equal(begin, end));
    const Tensor paired = to.And(open, to.Equal(begin, before)), sweeping = to.And(open, to.Less(begin, before));
    // Two at once.
    const Rotation turn = Standardize(to, bands.PickAt(d, before), bands.PickAt(f, before), bands.PickAt(e, before), bands.PickAt(d, end), epsilon);
    auto element = [&](const Tensor& row, const Tensor& column) {
      return to.And(AsColumn(to, to.And(paired, to.Equal(indices, row))), AsRow(to, to.Equal(indices, column)));
    };
    auto put = [&](const Tensor& where, const Tensor& value, const Tensor& rest) { return to.Where(where, AsColumn(to, value), rest); };
    const Tensor on_diagonal = to.Or(element(before, before), element(end, end));
    const Tensor rotation = put(on_diagonal, turn.cosine, put(element(before, end), turn.sine, put(element(end, before), to.Neg(turn.sine), identity)));
    const Tensor turned = to.MatMul(to.MatMul(rotation, cut), Transposed(to, rotation));
    const Tensor split = to.And(element(end, before), AsColumn(to, turn.splits));
    const Tensor h = OnlyWhere(to, to.Not(split), turned), z = to.MatMul(states[2], Transposed(to, rotation));
    // A sweep.
    const Tensor count = to.Where(sweeping, to.Add(tries, one), zero);
    const Shift shift = ShiftOf(bands, d, e, f, begin, end, count);
    const Start start = StartOf(bands, d, e, f, shift, begin, end, epsilon);
    const auto swept = Repeat(to, last, {h, z}, [&](const Tensor& k, const std::vector<Tensor>& states) {
      const Tensor is_first = to.Equal(k, start.index);
      const Tensor active = to.And(sweeping, to.And(to.GreaterOrEqual(k, start.index), to.Less(k, end)));
      const Tensor window = to.And(to.GreaterOrEqual(indices, k), to.LessOrEqual(indices, to.Min({to.Add(k, two), end})));
      const Tensor left = ColumnAt(to, states[0], to.Max({to.Sub(k, one), zero}));
      const Reflector reflector = ReflectorOf(to, to.Where(is_first, start.vector, OnlyWhere(to, window, left)), k);
      const Tensor tau = AsColumn(to, OnlyWhere(to, active, reflector.tau));
      const Tensor column = AsColumn(to, reflector.v), row = AsRow(to, reflector.v), scaled = to.Mul(column, tau);
      const Tensor reflected = to.Sub(states[0], to.MatMul(scaled, to.MatMul(row, states[0])));
      const Tensor is_left = to.And(to.Equal(indices, to.Sub(k, one)), to.Greater(rows, k));
      const Tensor cleared = OnlyWhere(to, to.Not(to.And(AsColumn(to, active), is_left)), reflected);
      auto from_right = [&](const Tensor& x) { return to.Sub(x, to.MatMul(to.MatMul(x, column), to.Mul(row, tau))); };
      return std::vector<Tensor>{from_right(cleared), from_right(states[1])};
    });
    const Tensor done = to.Add(to.CastTo(single, DType::kInt64), to.Mul(to.CastTo(paired, DType::kInt64), two));
    const Tensor rest = to.Sub(end, done);
    return std::vector<Tensor>{Any(to, to.GreaterOrEqual(rest, zero)), swept[0], swept[1], rest, count};
  });
  return {states[1], states[2]};
}

}  // namespace flambeau::lower
