#include "lower/ops/antialias.h"

#include <algorithm>
#include <cmath>

namespace flambeau::lower {
namespace {

double WeightAt(AntialiasFilter filter, double x) {
  x = std::abs(x);
  if (filter == AntialiasFilter::kLinear) return x < 1 ? 1 - x : 0;
  constexpr double kA = -0.5;
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

// (out, in): row i holds the filter around (i + 1/2)·scale, stretched where that shrinks, of sum 1.
std::vector<double> Weights(int64_t in, int64_t out, double scale, AntialiasFilter filter) {
  const double reach = (filter == AntialiasFilter::kLinear ? 1.0 : 2.0) * std::max(scale, 1.0);
  std::vector<double> weights(static_cast<size_t>(in * out));
  for (int64_t i = 0; i < out; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(center - reach + 0.5), 0);
    const int64_t end = std::min<int64_t>(static_cast<int64_t>(center + reach + 0.5), in);
    double* row = weights.data() + i * in;
    double total = 0;
    for (int64_t j = begin; j < end; ++j)
      total += row[j] = WeightAt(filter, (static_cast<double>(j) - center + 0.5) / std::max(scale, 1.0));
    for (int64_t j = begin; j < end && total != 0; ++j) row[j] /= total;
  }
  return weights;
}

}  // namespace

Tensor AntialiasByMatrices(Lowering& to, Tensor x, const Ints& sizes, const Floats& factors, bool align_corners,
                           AntialiasFilter filter) {
  const auto spatial = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t axis = x.rank() - spatial + i, out = sizes[static_cast<size_t>(i)];
    const int64_t in = to.AsConstant(x.size(axis)).value_or(1);
    double scale = static_cast<double>(in) / static_cast<double>(out);
    if (align_corners) {
      scale = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    } else if (!factors.empty()) {
      scale = 1 / factors[static_cast<size_t>(i)];
    }
    const Tensor matrix = to.ConstantFloats(Weights(in, out, scale, filter), x.dtype(), Ints{out, in});
    x = axis == x.rank() - 1 ? to.MatMul(x, to.Permute(matrix, {1, 0})) : to.MatMul(matrix, x);
  }
  return x;
}

}  // namespace flambeau::lower
