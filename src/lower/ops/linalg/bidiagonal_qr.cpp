// The implicit QR method for bidiagonal matrices, as LAPACK's bdsqr has it.
//
// Each round looks at the last block of each matrix that is not diagonal yet: two
// singular values are done, or an element beside the diagonal is none, or a sweep
// chases a bulge through the block, from the end with more weight to the other.
// A sweep upwards is one downwards of the block turned around, with the two sides
// exchanged; so before sweeps the rows are put in the order in which they are met.
//
// Rows are dimension 0 here: [n, batch, 1], and [n, batch, …] of the vectors. What
// belongs to a matrix is [batch, 1].
#include "lower/ops/linalg/bidiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lower/ops/geometry.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/loops.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr int64_t kSweepsPerValue = 6;  // MAXITR

// Tolerances of bdsqr.
struct Precision {
  double epsilon, tolerance, tiny;
};
Precision PrecisionOf(DType dtype) {
  const bool single = dtype == DType::kFloat32;
  const double epsilon = single ? 0x1p-24 : 0x1p-53;
  const double tiny = single ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
  return {epsilon, std::clamp(std::pow(epsilon, -0.125), 10.0, 100.0) * epsilon, tiny};
}

Tensor Negative(Lowering& to, Tensor x) { return to.Less(x, Double(to, 0)); }
Tensor WithSign(Lowering& to, Tensor size, Tensor negative) { return to.Where(negative, to.Neg(size), size); }

struct Rotation {
  Tensor cosine, sine;
};

// That takes (f, g) to (r, 0), and has no negative cosine: lartg since LAPACK 3.10.
std::pair<Rotation, Tensor> RotationTo(Lowering& to, Tensor f, Tensor g) {
  const Tensor one = Double(to, 1), length = Hypotenuse(to, f, g), none = to.Equal(length, Double(to, 0));
  const Tensor safe = to.Where(none, one, length), r = WithSign(to, length, Negative(to, f));
  return {{to.Where(none, one, to.Div(to.Abs(f), safe)), to.Div(g, WithSign(to, safe, Negative(to, f)))}, r};
}

struct Pair {
  Tensor larger, smaller;  // by size
  Rotation right, left;
};

// Singular values of ((f, g), (0, h)), which may be negative, and what turns it into them: lasv2.
Pair SingularPair(Lowering& to, Tensor f, Tensor g, Tensor h, double epsilon) {
  const Tensor one = Double(to, 1), two = Double(to, 2), half = Double(to, 0.5);
  const Tensor swapped = to.Greater(to.Abs(h), to.Abs(f));
  const Tensor p = to.Where(swapped, h, f), q = to.Where(swapped, f, h);
  const Tensor p_size = to.Abs(p), q_size = to.Abs(q), g_size = to.Abs(g);
  // The element beside the diagonal is so large that the others hardly count.
  const Tensor beside = to.And(to.LessOrEqual(p_size, to.Mul(Double(to, epsilon), g_size)), to.Not(to.Equal(g, Double(to, 0))));
  const Tensor gap = SafeDiv(to, to.Sub(p_size, q_size), p_size), slope = SafeDiv(to, g, to.Where(beside, one, p));
  const Tensor sum = to.Sub(two, gap), s = Hypotenuse(to, sum, slope), r = Hypotenuse(to, gap, slope);
  const Tensor a = to.Mul(half, to.Add(s, r));
  const Tensor t = to.Mul(to.Add(to.Div(slope, to.Add(s, sum)), SafeDiv(to, slope, to.Add(r, gap))), to.Add(one, a));
  const Tensor length = Hypotenuse(to, t, two), cosine = to.Div(two, length), sine = to.Div(t, length);
  auto choose = [&](const Tensor& if_beside, const Tensor& otherwise) { return to.Where(beside, if_beside, otherwise); };
  const Tensor cosine_right = choose(SafeDiv(to, p, g), cosine), sine_right = choose(one, sine);
  const Tensor cosine_left = choose(one, to.Div(to.Add(cosine, to.Mul(sine, slope)), a));
  const Tensor sine_left = choose(SafeDiv(to, q, g), to.Div(to.Mul(SafeDiv(to, q, p), sine), a));
  const Tensor larger = choose(g_size, to.Mul(p_size, a)), smaller = to.Mul(SafeDiv(to, p_size, larger), q_size);
  const Tensor negative = Negative(to, choose(g, p)), opposite = to.Xor(Negative(to, f), Negative(to, h));
  auto either = [&](const Tensor& if_swapped, const Tensor& otherwise) { return to.Where(swapped, if_swapped, otherwise); };
  return {WithSign(to, larger, negative), WithSign(to, smaller, to.Xor(negative, opposite)),
          {either(sine_left, cosine_right), either(cosine_left, sine_right)},
          {either(sine_right, cosine_left), either(cosine_right, sine_left)}};
}

// Of tensors with rows as dimension 0.
struct Vectors {
  Lowering& to;
  Tensor indices, last;  // [n, 1, …, 1], and n - 1

  Tensor Pick(const Tensor& x, const Tensor& index) const {
    const Tensor inside = to.Min({to.Max({index, to.ConstantInt(0)}), last});
    return to.SqueezeAt(to.GatherElements(x, to.UnsqueezeAt(inside, {0}), {.axis = 0}), {0});
  }
  Tensor Put(const Tensor& x, const Tensor& where, const Tensor& index, const Tensor& value) const {
    return to.Where(to.And(where, to.Equal(indices, index)), value, x);
  }
  Tensor Ordered(const Tensor& x, const Tensor& order) const {
    return to.GatherElements(x, to.ExpandTo(order, x.sizes()), {.axis = 0});
  }
  // Each row where the one before it was; the first is last.
  Tensor Next(const Tensor& x) const {
    return Sized(to, to.Concat({Rest(x, to.Of(1)), Start(x, to.Of(1))}, {.axis = 0}), x.sizes());
  }
  Tensor First(const Tensor& x) const { return to.GatherIndex(x, 0, to.Of(0)); }
  Tensor Start(const Tensor& x, Dim count) const {
    return Sized(to, to.SliceAxis(x, 0, to.Of(0), count), WithSize(x.sizes(), 0, count));
  }
  Tensor Rest(const Tensor& x, Dim from) const {
    return to.SliceAxis(x, 0, from, to.Of(std::numeric_limits<int64_t>::max()));
  }
  // The number of rows that an index of each matrix asks for, one at least.
  Dim Count(const Tensor& index) const {
    const Tensor most = to.ReduceMax(index, {}, {.keepdims = 0});
    return to.DimOf(to.Add(to.Max({most, to.ConstantInt(0)}), to.ConstantInt(1)));
  }
  Tensor Least(const Tensor& x) const { return to.ReduceMin(x, to.ConstantInts({0}), {.keepdims = 0}); }
  Tensor Most(const Tensor& x) const { return to.ReduceMax(x, to.ConstantInts({0}), {.keepdims = 0}); }
};

Tensor RowsFirst(Lowering& to, Tensor matrix) {
  Ints order{matrix.rank() - 2};
  for (int64_t i = 0; i < matrix.rank(); ++i)
    if (i != order[0]) order.push_back(i);
  return to.Permute(matrix, order);
}
Tensor RowsLast(Lowering& to, Tensor matrix) {
  Ints order;
  for (int64_t i = 1; i < matrix.rank(); ++i) order.push_back(i);
  order.insert(order.end() - 1, 0);
  return to.Permute(matrix, order);
}

// What no singular value of the first rows is less than by much: [n, batch, 1].
Tensor LowerBounds(Lowering& to, const Vectors& on, Tensor diagonal, Tensor beside, Dim count) {
  const Tensor sizes = to.Abs(diagonal);
  const Rows rows{{on.First(sizes)}, {on.Start(on.Next(sizes), count), on.Start(to.Abs(beside), count)}};
  return ForRows(to, rows, [&](const std::vector<Tensor>& states, const std::vector<Tensor>& rows) {
           const Tensor &bound = states[0], &next = rows[0], &between = rows[1];
           return Rows{{to.Mul(next, SafeDiv(to, bound, to.Add(bound, between)))}, {bound}};
         }).rows[0];
}

// A block as a sweep meets it.
struct Block {
  Tensor diagonal, beside, vectors;  // [n, batch, …]
};

// One sweep through the first `width` + 1 rows. `first_turn` says of each column of the vectors whether the first
// rotation of each step turns it, or the second. Without a shift nothing is subtracted, so small values stay exact.
Block Sweep(Lowering& to, const Vectors& on, const Block& block, Tensor width, Tensor shift, Tensor first_turn) {
  const Tensor one = Double(to, 1), zero = to.ConstantInt(0);
  const Tensor plain = to.Equal(shift, Double(to, 0));
  auto choose = [&](const Tensor& if_plain, const Tensor& otherwise) { return to.Where(plain, if_plain, otherwise); };
  const Tensor head = on.First(block.diagonal);
  const Tensor sign = WithSign(to, one, Negative(to, head));
  const Tensor begin = to.Mul(to.Sub(to.Abs(head), shift), to.Add(sign, SafeDiv(to, shift, head)));
  const Dim count = on.Count(to.Sub(width, to.ConstantInt(1)));
  Rows rows{{on.First(block.vectors), choose(head, begin), head, to.ExpandTo(one, head.sizes()), to.ExpandTo(one, head.sizes())},
            {on.Start(on.indices, count), on.Start(on.Next(block.diagonal), count), on.Start(block.beside, count),
             on.Start(on.Next(block.vectors), count)}};
  rows = ForRows(to, rows, [&](const std::vector<Tensor>& states, const std::vector<Tensor>& rows) {
    const Tensor &vector = states[0], &f = states[1], &d = states[2], &c0 = states[3], &s0 = states[4];
    const Tensor &next = rows[1], &between = rows[2], &next_vector = rows[3];
    const Tensor active = to.Less(rows[0], width);
    auto keep = [&](const Tensor& value, const Tensor& before) { return to.Where(active, value, before); };
    const Tensor factor = choose(s0, one), e = to.Mul(c0, between);
    // Nothing to turn away leaves all as it is.
    const Tensor g = OnlyWhere(to, active, to.Mul(choose(one, s0), between));
    const auto [a, r] = RotationTo(to, f, g);
    const Tensor ahead = to.Mul(a.cosine, next), bulge = to.Mul(a.sine, next);
    const Tensor across = to.Sub(to.Mul(a.cosine, e), to.Mul(a.sine, d));
    const auto [b, length] = RotationTo(to, choose(to.Mul(c0, r), to.Add(to.Mul(a.cosine, d), to.Mul(a.sine, e))), bulge);
    const Tensor f_next = choose(ahead, to.Add(to.Mul(b.cosine, across), to.Mul(b.sine, ahead)));
    const Tensor d_next = choose(next, to.Sub(to.Mul(b.cosine, ahead), to.Mul(b.sine, across)));
    const Tensor cosine = to.Where(first_turn, a.cosine, b.cosine), sine = to.Where(first_turn, a.sine, b.sine);
    const Tensor turned = to.Add(to.Mul(cosine, vector), to.Mul(sine, next_vector));
    const Tensor carried = to.Sub(to.Mul(cosine, next_vector), to.Mul(sine, vector));
    return Rows{{carried, keep(f_next, f), keep(d_next, d), keep(b.cosine, c0), keep(b.sine, s0)},
                {length, to.Mul(factor, r), turned}};
  });
  const Tensor &f = rows.states[1], &d = rows.states[2], &c = rows.states[3], &s = rows.states[4];
  const Tensor before = to.Sub(width, to.ConstantInt(1));
  auto joined = [&](const TensorList& parts, const Tensor& like) { return Sized(to, to.Concat(parts, {.axis = 0}), like.sizes()); };
  const Tensor lengths = joined({rows.rows[0], on.Rest(block.diagonal, count)}, block.diagonal);
  const Tensor beside = joined({on.Rest(rows.rows[1], to.Of(1)), on.Rest(block.beside, to.Minus(count, to.Of(1)))}, block.beside);
  // Where there is one row, it is there twice.
  const Tensor vectors = on.Start(to.Concat({rows.rows[2], to.UnsqueezeAt(rows.states[0], {0}), on.Rest(block.vectors, to.Plus(count, to.Of(1)))}, {.axis = 0}),
                                  block.vectors.size(0));
  const Tensor sweeps = to.Greater(width, zero);
  const Tensor diagonal = to.Where(to.Less(on.indices, width), lengths, block.diagonal);
  return {on.Put(diagonal, sweeps, width, choose(to.Mul(f, c), d)),
          on.Put(to.Where(to.Less(on.indices, before), beside, block.beside), sweeps, before, to.Mul(f, choose(s, one))),
          vectors};
}

// The first two rows turned.
Tensor TurnedPair(Lowering& to, const Vectors& on, Tensor vectors, Tensor where, Tensor cosine, Tensor sine) {
  const Tensor zero = to.ConstantInt(0), one = to.ConstantInt(1);
  const Tensor partners = on.Ordered(vectors, to.Min({Exchanged(to, on.indices, zero, one), on.last}));
  const Tensor is_first = to.And(where, to.Equal(on.indices, zero)), is_second = to.And(where, to.Equal(on.indices, one));
  const Tensor own = to.Where(to.Or(is_first, is_second), cosine, Double(to, 1));
  const Tensor other = to.Where(is_first, sine, OnlyWhere(to, is_second, to.Neg(sine)));
  return to.Add(to.Mul(vectors, own), to.Mul(partners, other));
}

// The order of LAPACK's selection sort, descending; equal values may change places. Rows are dimension 0.
Tensor DescendingOrder(Lowering& to, const Vectors& on, Tensor values) {
  const Tensor positions = to.ExpandTo(on.indices, values.sizes());
  return Repeat(to, on.last, {positions}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    const Tensor end = to.Sub(on.last, k), open = to.LessOrEqual(on.indices, end);
    const Tensor sorted = on.Ordered(values, states[0]);
    const Tensor least = on.Least(to.Where(open, sorted, on.Most(sorted)));
    const Tensor found = on.Most(to.Where(to.And(open, to.Equal(sorted, least)), on.indices, to.ConstantInt(-1)));
    return std::vector<Tensor>{on.Ordered(states[0], Exchanged(to, on.indices, found, end))};
  })[0];
}

enum Index : size_t { kAgain, kDiagonal, kBeside, kVectors, kEnd, kBegan, kForward, kStates };

// What the rounds have in common.
struct Method {
  Lowering& to;
  const Precision precision;
  const Vectors on;
  const Dim n;
  const Tensor size, count;  // n, as an integer and as a float
  const Tensor zero, one, tolerance;
  const Tensor threshold;    // elements beside the diagonal that are no larger are none
  const Tensor is_right;     // of the columns of the vectors

  std::vector<Tensor> Round(const std::vector<Tensor>& states) const;
  // Values positive and in descending order.
  SingularRows Finished(const std::vector<Tensor>& states, const Bidiagonal& given) const;

 private:
  // The block at hand of each matrix: of two rows, or longer.
  struct Place {
    Tensor begin, end, width, paired, longer;
  };
  Place LastBlock(const Tensor& beside, const Tensor& before) const;

  // Where rows of the block are when a sweep meets them, and where they come from; the same of what is between them.
  struct Order {
    Tensor rows, rows_back, edges, edges_back;
  };
  Order OrderOf(const Place& place, const Tensor& forward) const;

  // What a sweep through a block looks at.
  struct Look {
    Dim rows;              // of the longest block
    Tensor bounds, sizes;  // no singular value is less; of what is beside the diagonal
    Tensor inside, within;
  };
  Look LookAt(const Block& block, const Place& place) const;
  // The first element beside the diagonal that is none beside what it is between; n where all are some.
  Tensor FirstNone(const Block& block, const Place& place, const Look& look) const;
  Tensor Shift(const Block& block, const Look& look, const Pair& pair) const;
};

Method::Place Method::LastBlock(const Tensor& beside, const Tensor& before) const {
  const Tensor none = to.Equal(beside, Double(to, 0)), later = to.Add(on.indices, one);
  const Tensor end = on.Most(OnlyWhere(to, to.And(to.Not(none), to.Less(on.indices, before)), later));
  const Tensor begin = on.Most(OnlyWhere(to, to.And(none, to.Less(on.indices, end)), later)), width = to.Sub(end, begin);
  return {begin, end, width, to.Equal(width, one), to.Greater(width, one)};
}

Method::Order Method::OrderOf(const Place& place, const Tensor& forward) const {
  auto wrapped = [&](const Tensor& if_forward, const Tensor& otherwise) {
    return to.Mod(to.Where(forward, if_forward, otherwise), to.Number(AtLeastOne(to, n)));
  };
  const Tensor onwards = to.Add(place.begin, on.indices), since = to.Sub(on.indices, place.begin);
  const Tensor rows = to.Sub(place.end, on.indices), edges = to.Sub(to.Sub(place.end, one), on.indices);
  return {wrapped(onwards, rows), wrapped(since, rows), wrapped(onwards, edges), wrapped(since, edges)};
}

Method::Look Method::LookAt(const Block& block, const Place& place) const {
  const Dim rows = on.Count(place.width);
  const Tensor bounds = LowerBounds(to, on, block.diagonal, block.beside, rows), starts = on.Start(on.indices, rows);
  return {rows, bounds, on.Start(to.Abs(block.beside), rows), to.Less(starts, place.width), to.LessOrEqual(starts, place.width)};
}

Tensor Method::FirstNone(const Block& block, const Place& place, const Look& look) const {
  const Tensor small = to.And(look.inside, to.LessOrEqual(look.sizes, to.Mul(look.bounds, tolerance)));
  const Tensor before = to.Sub(place.width, one), starts = on.Start(on.indices, look.rows);
  const Tensor last = to.Abs(on.Pick(block.diagonal, place.width));
  const Tensor last_small = to.LessOrEqual(to.Abs(on.Pick(block.beside, before)), to.Mul(last, tolerance));
  return to.Where(last_small, before, on.Least(to.Where(small, starts, size)));
}

// None where the least value would lose digits.
Tensor Method::Shift(const Block& block, const Look& look, const Pair& pair) const {
  const Tensor head = to.Abs(on.First(block.diagonal)), least = on.Least(to.Where(look.within, look.bounds, head));
  const Tensor diagonals = on.Start(to.Abs(block.diagonal), look.rows);
  const Tensor most = to.Max({on.Most(OnlyWhere(to, look.within, diagonals)), on.Most(OnlyWhere(to, look.inside, look.sizes))});
  const Tensor relative = to.Mul(to.Mul(count, tolerance), SafeDiv(to, least, most));
  const Tensor ratio = SafeDiv(to, to.Abs(pair.smaller), head);
  const Tensor none = to.Or(to.LessOrEqual(relative, Double(to, std::max(precision.epsilon, 0.01 * precision.tolerance))),
                            to.Less(to.Mul(ratio, ratio), Double(to, precision.epsilon)));
  return OnlyWhere(to, to.Not(none), to.Abs(pair.smaller));
}

std::vector<Tensor> Method::Round(const std::vector<Tensor>& states) const {
  const Tensor &d = states[kDiagonal], &began = states[kBegan], none = Double(to, 0);
  const Tensor e = OnlyWhere(to, to.Greater(to.Abs(states[kBeside]), threshold), states[kBeside]);
  const Place place = LastBlock(e, states[kEnd]);
  // A block that was not there before is swept from the end with more weight.
  const Tensor down = to.GreaterOrEqual(to.Abs(on.Pick(d, place.begin)), to.Abs(on.Pick(d, place.end)));
  const Tensor forward = to.Where(to.Less(place.end, began), down, states[kForward]), order_forward = to.Or(forward, place.paired);
  // The block's end from which the shift comes, or all of it.
  const Tensor upper = to.Where(order_forward, to.Sub(place.end, one), place.begin);
  const Pair pair = SingularPair(to, on.Pick(d, upper), on.Pick(e, upper), on.Pick(d, to.Add(upper, one)), precision.epsilon);
  const Order order = OrderOf(place, order_forward);
  const Block block{on.Ordered(d, order.rows), on.Ordered(e, order.edges), on.Ordered(states[kVectors], order.rows)};
  const Look look = LookAt(block, place);
  const Tensor none_at = FirstNone(block, place, look), found = to.And(place.longer, to.Less(none_at, size));
  const Tensor sweeping = to.And(place.longer, to.Not(found)), shift = Shift(block, look, pair);

  auto of_side = [&](const Tensor& right, const Tensor& left) { return to.Where(is_right, right, left); };
  const Tensor turned = TurnedPair(to, on, block.vectors, place.paired, of_side(pair.right.cosine, pair.left.cosine),
                                   of_side(pair.right.sine, pair.left.sine));
  const Tensor values = on.Put(on.Put(block.diagonal, place.paired, zero, pair.larger), place.paired, one, pair.smaller);
  const Tensor without = on.Put(on.Put(block.beside, found, none_at, none), place.paired, zero, none);
  const Block swept = Sweep(to, on, {values, without, turned}, OnlyWhere(to, sweeping, place.width), shift, to.Equal(order_forward, is_right));
  const Tensor rest = to.Where(place.paired, place.begin, place.end);
  return {Any(to, to.Greater(rest, zero)), on.Ordered(swept.diagonal, order.rows_back), on.Ordered(swept.beside, order.edges_back),
          on.Ordered(swept.vectors, order.rows_back), rest, to.Where(sweeping, place.begin, began), forward};
}

SingularRows Method::Finished(const std::vector<Tensor>& states, const Bidiagonal& given) const {
  // Values are made positive by the vectors on the right, or on the left if there is but one.
  const Tensor negative = Negative(to, states[kDiagonal]), alone = to.Equal(size, one);
  const Tensor flipped = to.And(negative, to.Equal(is_right, to.Not(alone)));
  const Tensor values = to.Abs(states[kDiagonal]), order = DescendingOrder(to, on, values);
  const Tensor vectors = RowsLast(to, on.Ordered(WithSign(to, states[kVectors], flipped), order));
  const Tensor sorted = RowsLast(to, on.Ordered(values, order));
  const int64_t axis = vectors.rank() - 1;
  const Dim right_width = given.right.size(-1);
  return {Sized(to, to.SqueezeAt(sorted, {axis}), given.diagonal.sizes()),
          Sized(to, to.SliceAxis(vectors, axis, right_width, vectors.size(axis)), given.left.sizes()),
          Sized(to, to.SliceAxis(vectors, axis, to.Of(0), right_width), given.right.sizes())};
}

}  // namespace

Bidiagonal UpperFromLower(Lowering& to, const Bidiagonal& lower) {
  const Tensor d = RowsFirst(to, AsColumn(to, lower.diagonal)), e = RowsFirst(to, AsColumn(to, lower.beside));
  const Tensor left = RowsFirst(to, lower.left);
  const Vectors on{to, {}, {}};
  // After the last row comes the first again; with nothing beside it.
  const Rows given{{on.First(d), on.First(left)}, {e, on.Next(d), on.Next(left)}};
  const Rows upper = ForRows(to, given, [&](const std::vector<Tensor>& states, const std::vector<Tensor>& rows) {
    const auto [turn, r] = RotationTo(to, states[0], rows[0]);
    const Tensor turned = to.Add(to.Mul(turn.cosine, states[1]), to.Mul(turn.sine, rows[2]));
    const Tensor carried = to.Sub(to.Mul(turn.cosine, rows[2]), to.Mul(turn.sine, states[1]));
    return Rows{{to.Mul(turn.cosine, rows[1]), carried}, {r, to.Mul(turn.sine, rows[1]), turned}};
  });
  auto vector = [&](const Tensor& x) { return to.SqueezeAt(RowsLast(to, x), {x.rank() - 1}); };
  return {vector(upper.rows[0]), vector(upper.rows[1]), RowsLast(to, upper.rows[2]), lower.right};
}

SingularRows Diagonalize(Lowering& to, const Bidiagonal& given, DType dtype) {
  const Precision precision = PrecisionOf(dtype);
  const Dim n = given.diagonal.size(-1);
  const int64_t rank = given.diagonal.rank() + 1;
  const Tensor size = to.Number(n), zero = to.ConstantInt(0), one = to.ConstantInt(1), last = to.Sub(size, one);
  Ints axes;
  for (int64_t axis = 1; axis < rank; ++axis) axes.push_back(axis);
  const Vectors on{to, to.UnsqueezeAt(Iota(to, n), axes), last};
  const Tensor tolerance = Double(to, precision.tolerance), count = to.CastTo(size, DType::kFloat64);
  const Tensor diagonal = RowsFirst(to, AsColumn(to, given.diagonal)), beside = RowsFirst(to, AsColumn(to, given.beside));
  // What turns vectors of both sides is the same.
  const Tensor vectors = RowsFirst(to, to.Concat({given.right, given.left}, {.axis = given.left.rank() - 1}));
  const Tensor is_right = to.Less(Iota(to, vectors.size(-1)), to.Number(given.right.size(-1)));
  const Tensor bound = on.Least(LowerBounds(to, on, diagonal, beside, n));
  const Tensor floor = to.Mul(Double(to, kSweepsPerValue * precision.tiny), to.Mul(count, count));
  const Tensor threshold = to.Max({to.Mul(to.Div(bound, to.Sqrt(count)), tolerance), floor});
  const Method method{to, precision, on, n, size, count, zero, one, tolerance, threshold, is_right};

  Dims batch = BatchSizes(given.left);
  batch.push_back(to.Of(1));
  auto once = [&](const Tensor& value) { return to.ExpandTo(value, batch); };
  std::vector<Tensor> states{to.Greater(last, zero), diagonal, beside, vectors, once(last), once(size), once(to.ConstantOf(true, DType::kBool))};
  const Tensor rounds = to.Mul(to.Mul(size, to.Add(size, one)), to.ConstantInt(kSweepsPerValue));
  states = RepeatWhile(to, rounds, std::move(states), [&](const Tensor&, const std::vector<Tensor>& each) { return method.Round(each); });
  return method.Finished(states, given);
}

}  // namespace flambeau::lower
