#include "lower/ops/linalg/hessenberg.h"

#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/householder.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/loops.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr int kPowers = 64;            // of 4, beyond which no row is scaled at once
constexpr int64_t kPasses = 100;
constexpr double kGain = 0.95;         // SCLFAC of gebal: less is not worth a pass

struct Permuted {
  Tensor matrix, b;
  Tensor low, high;  // [batch, 1]: rows and columns from low to high are left
};

// The last row without elements left of `high` goes to `high`; where there is none, the first column
// without elements between goes to `low`.
Permuted Permute(Lowering& to, Tensor a) {
  const Dim n = a.size(-1);
  const int64_t axis = a.rank() - 2;
  const Tensor indices = Iota(to, n), size = to.Number(n), zero = to.ConstantInt(0), one = to.ConstantInt(1);
  const Tensor identity = IdentityMatrices(to, BatchSizes(a), n, n, a.dtype());
  const Tensor beside = to.Not(DiagonalMask(to, n, n, to.Of(0)));
  Dims batch = BatchSizes(a);
  batch.push_back(to.Of(1));
  const Tensor low0 = to.ExpandTo(zero, batch), high0 = to.ExpandTo(to.Sub(size, one), batch);
  const Tensor always = to.ConstantOf(true, DType::kBool);
  const auto states = RepeatWhile(to, to.Add(to.Mul(size, to.ConstantInt(2)), one), {always, a, identity, low0, high0}, [&](const Tensor&, const std::vector<Tensor>& states) {
    const Tensor &matrix = states[1], &low = states[3], &high = states[4];
    const Tensor counts = to.And(beside, to.Not(to.Equal(matrix, Double(to, 0))));
    const Tensor before_end = to.LessOrEqual(indices, high), inside = to.And(before_end, to.GreaterOrEqual(indices, low));
    auto none_along = [&](const Tensor& where, int64_t along) {
      const Tensor number = to.ReduceSum(to.CastTo(where, DType::kInt64), to.ConstantInts({along}), {.keepdims = 0});
      return to.Equal(number, zero);
    };
    const Tensor free_row = to.And(before_end, none_along(to.And(counts, AsRow(to, before_end)), axis + 1));
    const Tensor free_column = to.And(inside, none_along(to.And(counts, AsColumn(to, inside)), axis));
    const Tensor row = to.ReduceMax(to.Where(free_row, indices, to.ConstantInt(-1)), to.ConstantInts({axis}), {.keepdims = 1});
    const Tensor column = to.ReduceMin(to.Where(free_column, indices, size), to.ConstantInts({axis}), {.keepdims = 1});
    const Tensor by_row = to.GreaterOrEqual(row, zero);
    const Tensor by_column = to.And(to.Not(by_row), to.Less(column, size));
    const Tensor from = to.Where(by_row, row, column), target = to.Where(by_row, high, low);
    const Tensor moved = to.Or(by_row, by_column);
    const Tensor order = to.Where(moved, Exchanged(to, indices, from, target), indices);
    auto along = [&](const Tensor& x, const Tensor& positions, int64_t which) {
      return to.GatherElements(x, to.ExpandTo(positions, a.sizes()), {.axis = which});
    };
    const Tensor rows = AsColumn(to, order), columns = AsRow(to, order);
    return std::vector<Tensor>{Any(to, moved), along(along(matrix, rows, axis), columns, axis + 1), along(states[2], columns, axis + 1),
                               to.Add(low, to.CastTo(by_column, DType::kInt64)), to.Sub(high, to.CastTo(by_row, DType::kInt64))};
  });
  return {states[1], states[2], states[3], states[4]};
}

}  // namespace

Balanced Balance(Lowering& to, Tensor a) {
  const auto [permuted, permutation, low, high] = Permute(to, a);
  const Dim n = a.size(-1);
  const int64_t axis = a.rank() - 2;
  const Tensor indices = Iota(to, n), size = to.Number(n), zero = Double(to, 0), one = Double(to, 1), half = Double(to, 0.5);
  const Tensor inside = to.And(to.LessOrEqual(indices, high), to.GreaterOrEqual(indices, low));
  const Tensor powers = to.Pow(Double(to, 4), Counting(to, kPowers)), last = to.ConstantInts({axis});
  const Tensor yes = to.ConstantOf(true, DType::kBool), no = to.ConstantOf(false, DType::kBool);
  auto length = [&](const Tensor& vector) {
    const Tensor x = OnlyWhere(to, inside, vector);
    return to.Sqrt(to.ReduceSum(to.Mul(x, x), last, {.keepdims = 1}));
  };
  auto count = [&](const Tensor& where) { return to.ReduceSum(to.CastTo(where, DType::kFloat64), last, {.keepdims = 1}); };
  const auto states = RepeatWhile(to, to.Mul(size, to.ConstantInt(kPasses)), {yes, permuted, permutation, no}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    const Tensor i = to.Mod(k, to.Number(AtLeastOne(to, n))), is_this = to.Equal(indices, i);
    const Tensor column = length(ColumnAt(to, states[1], i)), row = length(RowAt(to, states[1], i));
    // The power of 2 with which the column becomes about as long as the row.
    const Tensor up = count(to.Less(to.Mul(powers, column), to.Mul(row, half)));
    const Tensor down = count(to.LessOrEqual(to.Mul(powers, row), to.Mul(column, half)));
    const Tensor factor = to.Pow(Double(to, 2), to.Sub(up, down));
    const Tensor sum = to.Add(to.Mul(column, factor), to.Div(row, factor));
    const Tensor gains = to.And(to.Less(sum, to.Mul(to.Add(column, row), Double(to, kGain))), to.Greater(to.Mul(column, row), zero));
    const Tensor scaled = to.And(is_this, to.And(inside, gains));
    const Tensor scale = to.Where(scaled, factor, one);
    const Tensor changed = to.Or(states[3], Any(to, scaled));
    const Tensor ends = to.Equal(i, to.Sub(size, to.ConstantInt(1)));
    return std::vector<Tensor>{to.Or(to.Not(ends), changed), to.Mul(to.Div(states[1], AsColumn(to, scale)), AsRow(to, scale)),
                               to.Mul(states[2], AsRow(to, scale)), to.And(changed, to.Not(ends))};
  });
  return {states[1], states[2]};
}

Hessenberg ReduceToHessenberg(Lowering& to, Tensor a) {
  const Dim n = a.size(-1);
  const Tensor identity = IdentityMatrices(to, BatchSizes(a), n, n, a.dtype());
  // The last step of complex numbers leaves a real element.
  const Tensor steps = to.Max({to.Sub(to.Number(n), to.ConstantInt(a.is_complex() ? 1 : 2)), to.ConstantInt(0)});
  const auto states = Repeat(to, steps, {a, identity}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    const Reflector reflector = ReflectorOf(to, ColumnAt(to, states[0], k), to.Add(k, to.ConstantInt(1)));
    const Tensor reflection = to.Sub(identity, to.Mul(AsColumn(to, to.Mul(reflector.v, reflector.tau)), AsRow(to, Conj(to, reflector.v))));
    return std::vector<Tensor>{to.MatMul(to.MatMul(Adjoint(to, reflection), states[0]), reflection), to.MatMul(states[1], reflection)};
  });
  return {to.Trilu(states[0], to.ConstantInt(-1), {.upper = 1}), states[1]};
}

}  // namespace flambeau::lower
