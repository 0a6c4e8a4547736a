// Gamma-distributed numbers, by Marsaglia and Tsang's rejection, as PyTorch draws them: in float64. All attempts are drawn
// at once, not in a Loop: onnxruntime seeds a generator by its node's place in the graph around it, so the bodies of two
// Loops would draw the same numbers.
#include <cmath>
#include <limits>
#include <numeric>

#include "lower/op.h"
#include "lower/ops/random.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr int64_t kAttempts = 8;  // each is accepted with a probability of 0.95 at least: all are rejected once in 10^10

Tensor LogOfUniform(Lowering& to, const Dims& sizes) {  // of (0, 1]
  return to.Log(to.Sub(Double(to, 1), RandomUniform(to, sizes, DType::kFloat64)));
}

// Of concentrations of 1 and more: depth · v, where depth = alpha - 1/3 and v is the cube of a number around 1.
Tensor DrawnByRejection(Lowering& to, Tensor alpha) {
  Dims sizes = alpha.sizes();
  sizes.insert(sizes.begin(), to.Of(kAttempts));
  const Tensor one = Double(to, 1), zero = Double(to, 0);
  const Tensor depth = to.Sub(alpha, Double(to, 1.0 / 3));
  const Tensor width = to.Div(one, to.Sqrt(to.Mul(depth, Double(to, 9))));
  const Tensor x = RandomNormal(to, sizes, DType::kFloat64), root = to.Add(one, to.Mul(width, x));
  const Tensor v = to.Mul(root, to.Mul(root, root)), inside = to.Greater(root, zero);
  const Tensor log_v = to.Log(to.Where(inside, v, one));
  const Tensor bound = to.Add(to.Mul(to.Mul(x, x), Double(to, 0.5)), to.Mul(depth, to.Add(to.Sub(one, v), log_v)));
  const Tensor accepted = to.And(inside, to.Less(LogOfUniform(to, sizes), bound));
  // The last attempt is always taken, so that NaN and infinity find their own as well.
  Ints numbers(kAttempts), axes(static_cast<size_t>(alpha.rank()));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::iota(axes.begin(), axes.end(), 1);
  const Tensor number = to.UnsqueezeAt(to.ConstantInts(numbers), axes);
  const Tensor last = to.Equal(number, to.ConstantInt(kAttempts - 1));
  const Tensor order = to.Where(to.Or(accepted, last), number, to.ConstantInt(kAttempts));
  const Tensor first = to.Equal(order, to.ReduceMin(order, to.ConstantInts({0}), {.keepdims = 1}));
  return to.Mul(depth, to.ReduceSum(to.Where(first, v, zero), to.ConstantInts({0}), {.keepdims = 0}));
}

// Below 1, a draw for alpha + 1, times uniform^(1 / alpha).
Tensor DrawnGamma(Lowering& to, Tensor self) {
  const Tensor alpha = to.CastTo(self, DType::kFloat64), one = Double(to, 1);
  const Tensor small = to.Less(alpha, one);
  const Tensor drawn = DrawnByRejection(to, to.Where(small, to.Add(alpha, one), alpha));
  const Tensor shrunk = to.Mul(drawn, to.Exp(to.Div(LogOfUniform(to, alpha.sizes()), alpha)));
  return to.Where(small, shrunk, drawn);
}

struct Range {
  double smallest;   // that is normal
  double below_one;  // the last one
};

// What PyTorch keeps samples within, so that their logarithms are finite. Its narrow floats have no such kernels.
Range RangeOf(DType dtype) {
  if (dtype == DType::kFloat64) return {std::numeric_limits<double>::min(), std::nextafter(1.0, 0.0)};
  return {std::numeric_limits<float>::min(), std::nextafter(1.0F, 0.0F)};
}

Tensor StandardGamma(Lowering& to, Tensor self, Unused) {
  return to.CastTo(to.Max({DrawnGamma(to, self), Double(to, RangeOf(self.dtype()).smallest)}), self.dtype());
}

Tensor SampleDirichlet(Lowering& to, Tensor self, Unused) {
  const Tensor gamma = DrawnGamma(to, self);
  const Tensor sum = self.rank() == 0 ? gamma : to.ReduceSum(gamma, to.ConstantInts({gamma.rank() - 1}), {.keepdims = 1});
  const Range range = RangeOf(self.dtype());
  const Tensor within = to.Min({to.Max({to.Div(gamma, sum), Double(to, range.smallest)}), Double(to, range.below_one)});
  return to.CastTo(within, self.dtype());
}

constexpr OpRow kRows[] = {
    Op<SampleDirichlet>("aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor"),
    Op<StandardGamma>("aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor"),
};

}  // namespace

std::span<const OpRow> RandomGamma() { return kRows; }

}  // namespace flambeau::lower
