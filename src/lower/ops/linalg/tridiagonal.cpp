// The signs of eigenvectors follow from the whole way to them. This goes LAPACK's
// way: reflections that leave three diagonals (sytrd), then the implicit QL and QR
// method (steqr). Its vectors say no more than signs here: Jacobi's are more exact.
//
// Each round turns one plane of each matrix, or finds where to turn next.
#include "lower/ops/linalg/tridiagonal.h"

#include <cmath>

#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/hessenberg.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/loops.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr int64_t kLargest = 25;           // SMLSIZ of stedc: what is larger is divided
constexpr int64_t kSweepsPerValue = 30;    // MAXIT of steqr

Tensor Hypotenuse(Lowering& to, Tensor x, Tensor y) { return to.Sqrt(to.Add(to.Mul(x, x), to.Mul(y, y))); }

Tensor Reversed(Lowering& to, Tensor x, int64_t axis) {
  const Tensor indices = Iota(to, x.size(axis));
  return to.Gather(x, to.Sub(to.Sub(to.Number(x.size(axis)), to.ConstantInt(1)), indices), {.axis = axis});
}

struct Tridiagonal {
  Tensor diagonal, beside;  // [batch, n]; the last element beside the diagonal is 0
  Tensor q;                 // A = Q·T·Qᴴ
};

// Of the lower triangle; of the upper one the same is done from the other end.
Tridiagonal Reduce(Lowering& to, Tensor a, bool upper) {
  const Dim n = a.size(-1);
  const int64_t axis = a.rank() - 2;
  if (upper) {
    const auto [diagonal, beside, q] = Reduce(to, Reversed(to, Reversed(to, a, axis), axis + 1), false);
    // The absent element stays last.
    const Tensor shifted = to.Gather(beside, to.Mod(to.Add(Iota(to, n), to.Sub(to.Number(n), to.ConstantInt(1))), AtLeastOne(to, n)), {.axis = axis});
    return {Reversed(to, diagonal, axis), Reversed(to, shifted, axis), Reversed(to, Reversed(to, q, axis), axis + 1)};
  }
  const Hessenberg reduced = ReduceToHessenberg(to, a);
  return {RealPart(to, DiagonalOf(to, reduced.h)), RealPart(to, BesideDiagonal(to, reduced.h)), reduced.q};
}

struct Rotation {
  Tensor cosine, sine;
};

// That takes (f, g) to (r, 0): LAPACK's older lartg, whose signs MKL has.
std::pair<Rotation, Tensor> RotationTo(Lowering& to, Tensor f, Tensor g) {
  const Tensor zero = Double(to, 0), one = Double(to, 1);
  const Tensor no_g = to.Equal(g, zero), no_f = to.And(to.Equal(f, zero), to.Not(no_g));
  const Tensor length = Hypotenuse(to, f, g), safe = to.Where(to.Equal(length, zero), one, length);
  const Tensor turned = to.And(to.Greater(to.Abs(f), to.Abs(g)), to.Less(f, zero));
  const Tensor r = to.Where(turned, to.Neg(safe), safe);
  auto choose = [&](const Tensor& if_no_g, const Tensor& if_no_f, const Tensor& otherwise) {
    return to.Where(no_g, if_no_g, to.Where(no_f, if_no_f, otherwise));
  };
  return {{choose(one, zero, to.Div(f, r)), choose(zero, one, to.Div(g, r))}, choose(f, g, r)};
}

struct Pair {
  Tensor larger, smaller;  // by size
  Rotation rotation;
};

// Eigenvalues of ((a, b), (b, c)), and the vector of the first: laev2.
Pair EigenOfPair(Lowering& to, Tensor a, Tensor b, Tensor c) {
  const Tensor zero = Double(to, 0), one = Double(to, 1), half = Double(to, 0.5);
  const Tensor sum = to.Add(a, c), difference = to.Sub(a, c), twice = to.Add(b, b);
  const Tensor root = Hypotenuse(to, difference, twice);
  const Tensor is_negative = to.Less(sum, zero);
  const Tensor larger = to.Mul(half, to.Where(is_negative, to.Sub(sum, root), to.Add(sum, root)));
  const Tensor smaller = to.Where(to.Equal(sum, zero), to.Mul(Double(to, -0.5), root),
                                  SafeDiv(to, to.Sub(to.Mul(a, c), to.Mul(b, b)), larger));
  const Tensor falls = to.GreaterOrEqual(difference, zero);
  const Tensor cs = to.Where(falls, to.Add(difference, root), to.Sub(difference, root));
  const Tensor steep = to.Greater(to.Abs(cs), to.Abs(twice)), none = to.Equal(twice, zero);
  const Tensor cotangent = to.Neg(SafeDiv(to, twice, cs)), tangent = to.Neg(SafeDiv(to, cs, twice));
  auto unit = [&](const Tensor& slope) { return to.Reciprocal(Hypotenuse(to, one, slope)); };
  Tensor sine = to.Where(steep, unit(cotangent), to.Where(none, zero, to.Mul(tangent, unit(tangent))));
  Tensor cosine = to.Where(steep, to.Mul(cotangent, unit(cotangent)), to.Where(none, one, unit(tangent)));
  const Tensor exchanged = to.Xor(is_negative, falls);  // the two signs of laev2 are the same
  return {larger, smaller, {to.Where(exchanged, to.Neg(sine), cosine), to.Where(exchanged, cosine, sine)}};
}

// Rows of Z are vectors. The states of a matrix: its block goes from `l` to `end`, the sweep is at `i`.
enum Index : size_t { kAgain, kDiagonal, kBeside, kVectors, kNext, kL, kEnd, kI, kPhase, kCosine, kSine, kP, kG, kStates };
enum Phase : int64_t { kChoose, kLook, kSweep, kDone };

Tensor QlVectors(Lowering& to, const Tridiagonal& given, DType dtype) {
  const Tensor &d0 = given.diagonal, q = Transposed(to, given.q);
  const Dim n = d0.size(-1);
  const int64_t axis = d0.rank() - 1;
  const Tensor size = to.Number(n), zero = to.ConstantInt(0), one = to.ConstantInt(1), none = Double(to, 0), unit = Double(to, 1);
  const Tensor indices = Iota(to, n), last = to.Sub(size, one), after = to.Min({to.Add(indices, one), last});
  const Tensor epsilon = Double(to, dtype == DType::kFloat32 ? 0x1p-24 : 0x1p-53);
  Dims batch = d0.sizes();
  batch.back() = to.Of(1);
  auto pick = [&](const Tensor& vector, const Tensor& index) {
    return to.GatherElements(vector, to.Min({to.Max({index, zero}), last}), {.axis = axis});
  };
  auto put = [&](const Tensor& vector, const Tensor& where, const Tensor& index, const Tensor& value) {
    return to.Where(to.And(where, to.Equal(indices, index)), value, vector);
  };
  auto first = [&](const Tensor& holds, const Tensor& otherwise) {
    return to.Min({to.ReduceMin(to.Where(holds, indices, size), to.ConstantInts({axis}), {.keepdims = 1}), otherwise});
  };
  const Tensor index0 = to.ExpandTo(zero, batch), number0 = to.ExpandTo(none, batch);
  const Tensor small_enough = to.LessOrEqual(size, to.ConstantInt(kLargest));
  const Tensor rounds = to.Mul(to.Mul(size, size), to.ConstantInt(kSweepsPerValue));
  std::vector<Tensor> states{to.And(small_enough, to.Greater(size, one)), d0, given.beside, RealRows(to, q)};
  states.resize(kPhase + 1, index0);
  states.resize(kStates, number0);
  states = RepeatWhile(to, rounds, std::move(states), [&](const Tensor&, const std::vector<Tensor>& s) {
    Tensor d = s[kDiagonal], e = s[kBeside], next = s[kNext], l = s[kL], end = s[kEnd], i = s[kI], phase = s[kPhase];
    auto is = [&](Phase which) { return to.Equal(phase, to.ConstantInt(which)); };
    // The next block, up to an element beside the diagonal that is none; it starts at the end with less weight.
    const Tensor choosing = to.And(is(kChoose), to.Less(next, size));
    auto neighbours = [&] { return to.Mul(to.Abs(d), to.Abs(to.Gather(d, after, {.axis = axis}))); };
    const Tensor no_edge = to.LessOrEqual(to.Abs(e), to.Mul(to.Sqrt(neighbours()), epsilon));
    const Tensor stop = first(to.And(no_edge, to.GreaterOrEqual(indices, next)), last);
    e = put(e, choosing, stop, none);
    const Tensor from_below = to.Less(to.Abs(pick(d, stop)), to.Abs(pick(d, next)));
    l = to.Where(choosing, to.Where(from_below, stop, next), l);
    end = to.Where(choosing, to.Where(from_below, next, stop), end);
    phase = to.Where(choosing, to.ConstantInt(kLook), to.Where(is(kChoose), to.ConstantInt(kDone), phase));
    next = to.Where(choosing, to.Add(stop, one), next);
    // Within the block: up to where does a sweep go?
    const Tensor looking = is(kLook), up = to.GreaterOrEqual(end, l), step = to.Where(up, one, to.ConstantInt(-1));
    const Tensor tiny = to.LessOrEqual(to.Mul(e, e), to.Mul(to.Mul(epsilon, epsilon), neighbours()));
    const Tensor above = first(to.And(tiny, to.GreaterOrEqual(indices, l)), end);
    const Tensor low = to.Where(to.And(tiny, to.And(to.GreaterOrEqual(indices, end), to.Less(indices, l))), indices, to.ConstantInt(-1));
    const Tensor under = to.ReduceMax(low, to.ConstantInts({axis}), {.keepdims = 1});
    const Tensor m = to.Where(up, above, to.Where(to.Less(under, zero), end, to.Add(under, one)));
    auto edge = [&](const Tensor& index) { return to.Where(up, index, to.Sub(index, one)); };  // between it and the next
    e = put(e, to.And(looking, to.Not(to.Equal(m, end))), edge(m), none);
    const Tensor distance = to.Abs(to.Sub(m, l));
    const Tensor found = to.And(looking, to.Equal(distance, zero)), paired = to.And(looking, to.Equal(distance, one));
    const Tensor starting = to.And(looking, to.Greater(distance, one));
    // Two at once.
    const Tensor lower = to.Min({l, m}), upper = to.Add(lower, one);
    const Pair pair = EigenOfPair(to, pick(d, lower), pick(e, lower), pick(d, upper));
    d = put(put(d, paired, lower, pair.larger), paired, upper, pair.smaller);
    e = put(e, paired, lower, none);
    // The shift.
    const Tensor ahead = to.Add(l, step), el = pick(e, edge(l)), dl = pick(d, l);
    const Tensor ratio = SafeDiv(to, to.Sub(pick(d, ahead), dl), to.Add(el, el)), root = Hypotenuse(to, ratio, unit);
    const Tensor shift = to.Add(ratio, to.Where(to.Less(ratio, none), to.Neg(root), root));
    const Tensor begin = to.Add(to.Sub(pick(d, m), dl), SafeDiv(to, el, shift));
    i = to.Where(starting, to.Sub(m, step), i);
    const Tensor cosine = to.Where(starting, unit, s[kCosine]), sine = to.Where(starting, unit, s[kSine]);
    const Tensor p = to.Where(starting, none, s[kP]), g = to.Where(starting, begin, s[kG]);
    l = to.Add(l, to.Mul(step, to.Add(to.CastTo(found, DType::kInt64), to.Mul(to.CastTo(paired, DType::kInt64), to.ConstantInt(2)))));
    const Tensor passed = to.Greater(to.Mul(to.Sub(l, end), step), zero);
    phase = to.Where(starting, to.ConstantInt(kSweep), to.Where(to.And(looking, passed), to.ConstantInt(kChoose), phase));
    // One plane of a sweep.
    const Tensor sweeping = is(kSweep), j = to.Add(i, step), ei = pick(e, edge(i));
    const Tensor f = to.Mul(sine, ei), b = to.Mul(cosine, ei);
    const auto [turn, r] = RotationTo(to, g, f);
    e = put(e, to.And(sweeping, to.Not(starting)), edge(j), r);
    const Tensor dj = to.Sub(pick(d, j), p);
    const Tensor change = to.Add(to.Mul(to.Sub(pick(d, i), dj), turn.sine), to.Mul(to.Mul(Double(to, 2), turn.cosine), b));
    const Tensor moved = to.Mul(turn.sine, change), rest = to.Sub(to.Mul(turn.cosine, change), b);
    d = put(d, sweeping, j, to.Add(dj, moved));
    const Tensor ends = to.And(sweeping, to.Equal(i, l));
    d = put(d, ends, l, to.Sub(pick(d, l), moved));
    e = put(e, ends, edge(l), rest);
    phase = to.Where(ends, to.ConstantInt(kLook), phase);
    // Vectors a and b turn.
    const Tensor row_a = to.Where(paired, lower, i), row_b = to.Where(paired, upper, j);
    const Tensor turns = to.Or(paired, sweeping);
    const Tensor c = to.Where(paired, pair.rotation.cosine, turn.cosine), t = to.Where(paired, to.Neg(pair.rotation.sine), turn.sine);
    const Tensor is_a = to.And(turns, to.Equal(indices, row_a)), is_b = to.And(turns, to.Equal(indices, row_b));
    const Tensor order = to.Where(is_a, row_b, to.Where(is_b, row_a, indices));
    const Tensor partners = to.GatherElements(s[kVectors], to.ExpandTo(AsColumn(to, order), s[kVectors].sizes()), {.axis = axis});
    const Tensor own = to.Where(to.Or(is_a, is_b), c, unit), other = to.Where(is_a, to.Neg(t), OnlyWhere(to, is_b, t));
    const Tensor vectors = to.Add(to.Mul(s[kVectors], AsColumn(to, own)), to.Mul(partners, AsColumn(to, other)));
    const Tensor again = Any(to, to.Not(is(kDone)));
    return std::vector<Tensor>{again, d, e, vectors, next, l, end, to.Where(sweeping, to.Sub(i, step), i), phase,
                               to.Where(sweeping, turn.cosine, cosine), to.Where(sweeping, turn.sine, sine),
                               to.Where(sweeping, moved, p), to.Where(sweeping, rest, g)};
  });
  return RowsLike(to, states[kVectors], q);
}

}  // namespace

Tensor WithSignsOfLapack(Lowering& to, Tensor vectors, Tensor symmetric, bool upper, DType dtype) {
  const auto rows = to.AsConstant(symmetric.size(-1));
  if (rows && *rows > kLargest) return vectors;
  const Tensor theirs = QlVectors(to, Reduce(to, symmetric, upper), dtype);
  if (vectors.is_complex()) {
    const Tensor nearness = to.MatMul(Conj(to, theirs), vectors), size = to.Abs(nearness);
    const Tensor cubes = to.Mul(nearness, to.CastTo(to.Mul(size, size), nearness.dtype()));
    const Tensor sum = to.ReduceSum(cubes, to.ConstantInts({cubes.rank() - 2}), {.keepdims = 1});
    const Tensor none = to.Equal(to.Abs(sum), Double(to, 0));
    return to.Mul(vectors, to.Where(none, to.NumberOf(1.0, vectors.dtype()), Conj(to, to.Sign(sum))));
  }
  // One of their vectors is nearly this one, or its opposite: the cubes make it count most.
  const Tensor nearness = to.MatMul(theirs, vectors);
  const Tensor cubes = to.Mul(nearness, to.Mul(nearness, nearness));
  const Tensor sum = to.ReduceSum(cubes, to.ConstantInts({cubes.rank() - 2}), {.keepdims = 1});
  return to.Where(to.Less(sum, Double(to, 0)), to.Neg(vectors), vectors);
}

}  // namespace flambeau::lower
