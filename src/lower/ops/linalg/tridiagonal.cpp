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
#include "lower/ops/linalg/scaling.h"
#include "lower/ops/loops.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr int64_t kLargest = 25;           // SMLSIZ of stedc: what is larger is divided
constexpr int64_t kSweepsPerValue = 30;    // MAXIT of steqr

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
    const Tensor shifted = to.Gather(beside, to.Mod(to.Add(Iota(to, n), to.Sub(to.Number(n), to.ConstantInt(1))), to.Number(AtLeastOne(to, n))), {.axis = axis});
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

// The states of a matrix: its block goes from `l` to `end`, the sweep is at `i`.
enum Index : size_t { kAgain, kDiagonal, kBeside, kVectors, kNext, kL, kEnd, kI, kPhase, kCosine, kSine, kP, kG, kStates };
enum Phase : int64_t { kChoose, kLook, kSweep, kDone };

// What is the same in each round: one tensor a matrix has an axis of 1 where `indices` are.
struct QlSizes {
  Tensor indices, after, last, size;  // `after`: the index behind each, the last at most
  Tensor zero, one, none, unit;       // integers, and numbers
  Tensor epsilon;
  int64_t axis;
};

QlSizes QlSizesOf(Lowering& to, Tensor diagonal, DType dtype) {
  const Dim n = diagonal.size(-1);
  QlSizes sizes{.indices = Iota(to, n), .size = to.Number(n), .zero = to.ConstantInt(0), .one = to.ConstantInt(1),
                .none = Double(to, 0), .unit = Double(to, 1), .epsilon = Double(to, dtype == DType::kFloat32 ? 0x1p-24 : 0x1p-53),
                .axis = diagonal.rank() - 1};
  sizes.last = to.Sub(sizes.size, sizes.one);
  sizes.after = to.Min({to.Add(sizes.indices, sizes.one), sizes.last});
  return sizes;
}

// A round. Rows of Z are vectors.
struct QlRound : QlSizes {
  QlRound(Lowering& to, const QlSizes& sizes, const std::vector<Tensor>& states)
      : QlSizes(sizes), to(to), d(states[kDiagonal]), e(states[kBeside]), z(states[kVectors]), next(states[kNext]), l(states[kL]),
        end(states[kEnd]), i(states[kI]), phase(states[kPhase]), cosine(states[kCosine]), sine(states[kSine]), p(states[kP]),
        g(states[kG]) {}

  std::vector<Tensor> operator()() {
    Choose();
    const Pairing paired = Look();
    const Plane plane = Sweep();
    Turn(paired, plane);
    return {Any(to, to.Not(Is(kDone))), d, e, z, next, l, end, i, phase, cosine, sine, p, g};
  }

  struct Pairing {
    Tensor where, lower, upper;  // rows that are solved at once
    Rotation rotation;
  };
  struct Plane {
    Tensor where, row, behind;
    Rotation rotation;
  };

  Tensor Is(Phase which) { return to.Equal(phase, to.ConstantInt(which)); }
  Tensor Pick(const Tensor& vector, const Tensor& index) {
    return to.GatherElements(vector, to.Min({to.Max({index, zero}), last}), {.axis = axis});
  }
  Tensor Put(const Tensor& vector, const Tensor& where, const Tensor& index, const Tensor& value) {
    return to.Where(to.And(where, to.Equal(indices, index)), value, vector);
  }
  Tensor First(const Tensor& holds, const Tensor& otherwise) {
    return to.Min({to.ReduceMin(to.Where(holds, indices, size), to.ConstantInts({axis}), {.keepdims = 1}), otherwise});
  }
  // Between an index and the one that comes next on the way from `l` to `end`.
  Tensor Edge(const Tensor& index) { return to.Where(up, index, to.Sub(index, one)); }
  // How large an element beside the diagonal may be, squared.
  Tensor Neighbours() { return to.Mul(to.Abs(d), to.Abs(to.Gather(d, after, {.axis = axis}))); }

  // The next block, up to an element beside the diagonal that is none; it starts at the end with less weight.
  void Choose() {
    const Tensor choosing = to.And(Is(kChoose), to.Less(next, size));
    const Tensor no_edge = to.LessOrEqual(to.Abs(e), to.Mul(to.Sqrt(Neighbours()), epsilon));
    const Tensor stop = First(to.And(no_edge, to.GreaterOrEqual(indices, next)), last);
    e = Put(e, choosing, stop, none);
    const Tensor from_below = to.Less(to.Abs(Pick(d, stop)), to.Abs(Pick(d, next)));
    l = to.Where(choosing, to.Where(from_below, stop, next), l);
    end = to.Where(choosing, to.Where(from_below, next, stop), end);
    phase = to.Where(choosing, to.ConstantInt(kLook), to.Where(Is(kChoose), to.ConstantInt(kDone), phase));
    next = to.Where(choosing, to.Add(stop, one), next);
    up = to.GreaterOrEqual(end, l);
    step = to.Where(up, one, to.ConstantInt(-1));
  }

  // Up to where a sweep goes within the block.
  Tensor SweepEnd() {
    const Tensor tiny = to.LessOrEqual(to.Mul(e, e), to.Mul(to.Mul(epsilon, epsilon), Neighbours()));
    const Tensor above = First(to.And(tiny, to.GreaterOrEqual(indices, l)), end);
    const Tensor low = to.Where(to.And(tiny, to.And(to.GreaterOrEqual(indices, end), to.Less(indices, l))), indices, to.ConstantInt(-1));
    const Tensor under = to.ReduceMax(low, to.ConstantInts({axis}), {.keepdims = 1});
    return to.Where(up, above, to.Where(to.Less(under, zero), end, to.Add(under, one)));
  }

  // One row is a value, two are solved at once, more begin a sweep.
  Pairing Look() {
    const Tensor looking = Is(kLook), m = SweepEnd();
    e = Put(e, to.And(looking, to.Not(to.Equal(m, end))), Edge(m), none);
    const Tensor distance = to.Abs(to.Sub(m, l));
    const Tensor found = to.And(looking, to.Equal(distance, zero)), paired = to.And(looking, to.Equal(distance, one));
    starting = to.And(looking, to.Greater(distance, one));
    const Tensor lower = to.Min({l, m}), upper = to.Add(lower, one);
    const Pair pair = EigenOfPair(to, Pick(d, lower), Pick(e, lower), Pick(d, upper));
    d = Put(Put(d, paired, lower, pair.larger), paired, upper, pair.smaller);
    e = Put(e, paired, lower, none);
    Start(m);
    l = to.Add(l, to.Mul(step, to.Add(to.CastTo(found, DType::kInt64), to.Mul(to.CastTo(paired, DType::kInt64), to.ConstantInt(2)))));
    const Tensor passed = to.Greater(to.Mul(to.Sub(l, end), step), zero);
    phase = to.Where(starting, to.ConstantInt(kSweep), to.Where(to.And(looking, passed), to.ConstantInt(kChoose), phase));
    return {paired, lower, upper, pair.rotation};
  }

  // The shift of a sweep that starts at `m`.
  void Start(const Tensor& m) {
    const Tensor ahead = to.Add(l, step), el = Pick(e, Edge(l)), dl = Pick(d, l);
    const Tensor ratio = SafeDiv(to, to.Sub(Pick(d, ahead), dl), to.Add(el, el)), root = Hypotenuse(to, ratio, unit);
    const Tensor shift = to.Add(ratio, to.Where(to.Less(ratio, none), to.Neg(root), root));
    const Tensor begin = to.Add(to.Sub(Pick(d, m), dl), SafeDiv(to, el, shift));
    i = to.Where(starting, to.Sub(m, step), i);
    cosine = to.Where(starting, unit, cosine);
    sine = to.Where(starting, unit, sine);
    p = to.Where(starting, none, p);
    g = to.Where(starting, begin, g);
  }

  // One plane of a sweep.
  Plane Sweep() {
    const Tensor sweeping = Is(kSweep), row = i, j = to.Add(i, step), ei = Pick(e, Edge(i));
    const Tensor f = to.Mul(sine, ei), b = to.Mul(cosine, ei);
    const auto [turn, r] = RotationTo(to, g, f);
    e = Put(e, to.And(sweeping, to.Not(starting)), Edge(j), r);
    const Tensor dj = to.Sub(Pick(d, j), p);
    const Tensor change = to.Add(to.Mul(to.Sub(Pick(d, i), dj), turn.sine), to.Mul(to.Mul(Double(to, 2), turn.cosine), b));
    const Tensor moved = to.Mul(turn.sine, change), rest = to.Sub(to.Mul(turn.cosine, change), b);
    d = Put(d, sweeping, j, to.Add(dj, moved));
    const Tensor ends = to.And(sweeping, to.Equal(i, l));
    d = Put(d, ends, l, to.Sub(Pick(d, l), moved));
    e = Put(e, ends, Edge(l), rest);
    phase = to.Where(ends, to.ConstantInt(kLook), phase);
    i = to.Where(sweeping, to.Sub(i, step), i);
    cosine = to.Where(sweeping, turn.cosine, cosine);
    sine = to.Where(sweeping, turn.sine, sine);
    p = to.Where(sweeping, moved, p);
    g = to.Where(sweeping, rest, g);
    return {sweeping, row, j, turn};
  }

  // The two rows of vectors.
  void Turn(const Pairing& pair, const Plane& plane) {
    const Tensor row_a = to.Where(pair.where, pair.lower, plane.row), row_b = to.Where(pair.where, pair.upper, plane.behind);
    const Tensor turns = to.Or(pair.where, plane.where);
    const Tensor c = to.Where(pair.where, pair.rotation.cosine, plane.rotation.cosine);
    const Tensor t = to.Where(pair.where, to.Neg(pair.rotation.sine), plane.rotation.sine);
    const Tensor is_a = to.And(turns, to.Equal(indices, row_a)), is_b = to.And(turns, to.Equal(indices, row_b));
    const Tensor order = to.Where(is_a, row_b, to.Where(is_b, row_a, indices));
    const Tensor partners = to.GatherElements(z, to.ExpandTo(AsColumn(to, order), z.sizes()), {.axis = axis});
    const Tensor own = to.Where(to.Or(is_a, is_b), c, unit), other = to.Where(is_a, to.Neg(t), OnlyWhere(to, is_b, t));
    z = to.Add(to.Mul(z, AsColumn(to, own)), to.Mul(partners, AsColumn(to, other)));
  }

  Lowering& to;
  Tensor d, e, z, next, l, end, i, phase, cosine, sine, p, g;
  Tensor up, step, starting;
};

Tensor QlVectors(Lowering& to, const Tridiagonal& given, DType dtype) {
  const Tensor &diagonal = given.diagonal, q = Transposed(to, given.q);
  const QlSizes sizes = QlSizesOf(to, diagonal, dtype);
  Dims batch = diagonal.sizes();
  batch.back() = to.Of(1);
  const Tensor small_enough = to.LessOrEqual(sizes.size, to.ConstantInt(kLargest));
  const Tensor rounds = to.Mul(to.Mul(sizes.size, sizes.size), to.ConstantInt(kSweepsPerValue));
  std::vector<Tensor> states{to.And(small_enough, to.Greater(sizes.size, sizes.one)), diagonal, given.beside, RealRows(to, q)};
  states.resize(kPhase + 1, to.ExpandTo(sizes.zero, batch));
  states.resize(kStates, to.ExpandTo(sizes.none, batch));
  states = RepeatWhile(to, rounds, std::move(states),
                       [&](const Tensor&, const std::vector<Tensor>& now) { return QlRound(to, sizes, now)(); });
  return RowsLike(to, states[kVectors], q);
}

}  // namespace

Tensor WithSignsOfLapack(Lowering& to, Tensor vectors, Tensor symmetric, bool upper, DType dtype) {
  const auto rows = to.AsConstant(symmetric.size(-1));
  if (rows && *rows > kLargest) return vectors;
  const Tensor theirs = QlVectors(to, Reduce(to, ToUnitScale(to, symmetric).matrix, upper), dtype);
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
