// How often something random happens: the least count up to which the
// probabilities sum to more than one uniform number. They are summed in a Loop,
// from each to the next.
#include <functional>
#include <limits>

#include "lower/op.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/loops.h"
#include "lower/ops/random.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

// `first` is the logarithm of the probability of 0, `step(k)` that of the ratio of those of k and k - 1. Parameters that
// are NaN or infinite count nothing.
Tensor CountByInversion(Lowering& to, Tensor first, const std::function<Tensor(Tensor k)>& step) {
  const Tensor u = RandomUniform(to, first.sizes(), DType::kFloat64), none = to.Full(first.sizes(), 0.0, DType::kFloat64);
  const Tensor sum = to.Exp(first);
  const auto states = RepeatWhile(
      to, to.ConstantInt(std::numeric_limits<int64_t>::max()), {Any(to, to.GreaterOrEqual(u, sum)), first, sum, none},
      [&](const Tensor& turn, const std::vector<Tensor>& states) {
        const Tensor logarithm = to.Add(states[1], step(to.Add(to.CastTo(turn, DType::kFloat64), Double(to, 1))));
        const Tensor next = to.Add(states[2], to.Exp(logarithm));
        const Tensor count = to.Add(states[3], to.CastTo(to.GreaterOrEqual(u, states[2]), DType::kFloat64));
        return std::vector<Tensor>{Any(to, to.GreaterOrEqual(u, next)), logarithm, next, count};
      });
  return states[3];
}

Tensor Poisson(Lowering& to, Tensor self, Unused) {
  const Tensor rate = to.CastTo(self, DType::kFloat64), log_rate = to.Log(rate);
  const Tensor count = CountByInversion(to, to.Neg(rate), [&](const Tensor& k) { return to.Sub(log_rate, to.Log(k)); });
  return to.CastTo(count, self.dtype());
}

Tensor Binomial(Lowering& to, Tensor count, Tensor prob, Unused) {
  const Tensor trials = to.CastTo(count, DType::kFloat64);
  const Tensor certain = to.GreaterOrEqual(prob, to.NumberOf(1.0, prob.dtype()));
  const Tensor p = to.Where(certain, Double(to, 0), to.CastTo(prob, DType::kFloat64)), miss = to.Log(to.Sub(Double(to, 1), p));
  const Tensor odds = to.Sub(to.Log(p), miss);
  const Tensor hits = CountByInversion(to, to.Mul(trials, miss), [&](const Tensor& k) {
    const Tensor left = to.Sub(to.Add(trials, Double(to, 1)), k);
    return to.Add(odds, to.Sub(to.Log(to.Max({left, Double(to, 0)})), to.Log(k)));
  });
  return to.CastTo(to.Where(certain, trials, hits), count.dtype());
}

constexpr OpRow kRows[] = {
    Op<Binomial>("aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor"),
    Op<Poisson>("aten::poisson(Tensor self, Generator? generator=None) -> Tensor"),
};

}  // namespace

std::span<const OpRow> RandomCounts() { return kRows; }

}  // namespace flambeau::lower
