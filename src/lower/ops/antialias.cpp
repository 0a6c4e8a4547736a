#include "lower/ops/antialias.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lower/ops/geometry.h"

namespace flambeau::lower {
namespace {

// What an output element is made of.
struct Kernel {
  AntialiasFilter filter;
  bool antialias;      // stretched where that shrinks; else elements beyond the border are those on it
  bool align_corners;  // of no antialias: elements are at their corners
};

// Elements on either side that a filter reaches, unstretched.
constexpr double ReachOf(AntialiasFilter filter) {
  switch (filter) {
    case AntialiasFilter::kLinear: return 1;
    case AntialiasFilter::kCubic: return 2;
    case AntialiasFilter::kLanczos: return 3;
  }
  return 0;
}

double Sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

double CubicOf(const Kernel& kernel) { return kernel.antialias ? -0.5 : -0.75; }

double WeightAt(const Kernel& kernel, double x) {
  x = std::abs(x);
  if (kernel.filter == AntialiasFilter::kLinear) return x < 1 ? 1 - x : 0;
  if (kernel.filter == AntialiasFilter::kLanczos) return x < 3 ? Sinc(x) * Sinc(x / 3) : 0;
  const double a = CubicOf(kernel);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// The same, of distances that are known at run time.
Tensor WeightsAt(Lowering& to, const Kernel& kernel, Tensor x) {
  auto number = [&](double value) { return to.NumberOf(value, DType::kFloat64); };
  const Tensor one = number(1), none = number(0);
  x = to.Abs(x);
  auto polynomial = [&](std::initializer_list<double> coefficients) {
    Tensor sum = none;
    for (const double coefficient : coefficients) sum = to.Add(to.Mul(sum, x), number(coefficient));
    return sum;
  };
  auto sinc = [&](const Tensor& t) {
    const Tensor angle = to.Mul(t, number(std::numbers::pi));
    return to.Where(to.Equal(t, none), one, to.Div(to.Sin(angle), angle));
  };
  if (kernel.filter == AntialiasFilter::kLinear) return to.Relu(to.Sub(one, x));
  if (kernel.filter == AntialiasFilter::kLanczos)
    return to.Where(to.Less(x, number(3)), to.Mul(sinc(x), sinc(to.Div(x, number(3)))), none);
  const double a = CubicOf(kernel);
  return to.Where(to.Less(x, one), polynomial({a + 2, -(a + 3), 0, 1}),
                  to.Where(to.Less(x, number(2)), polynomial({a, -5 * a, 8 * a, -4 * a}), none));
}

// (out, in): row i holds the filter around (i + 1/2)·scale, of sum 1.
std::vector<double> Weights(int64_t in, int64_t out, double scale, const Kernel& kernel) {
  const double stretch = kernel.antialias ? std::max(scale, 1.0) : 1.0;
  const double reach = ReachOf(kernel.filter) * stretch;
  const double middle = kernel.align_corners && !kernel.antialias ? 0 : 0.5;
  std::vector<double> weights(static_cast<size_t>(in * out));
  for (int64_t i = 0; i < out; ++i) {
    const double center = scale * (static_cast<double>(i) + middle);
    auto begin = static_cast<int64_t>(std::floor(center - reach + 1 - middle));
    auto end = static_cast<int64_t>(std::floor(center + reach + 1 - middle));
    if (kernel.antialias) {
      begin = std::max<int64_t>(begin, 0);
      end = std::min(end, in);
    }
    double* row = weights.data() + i * in;
    double total = 0;
    for (int64_t j = begin; j < end; ++j) {
      const double weight = WeightAt(kernel, (static_cast<double>(j) - center + middle) / stretch);
      row[std::clamp<int64_t>(j, 0, in - 1)] += weight;
      total += weight;
    }
    for (int64_t j = 0; j < in && total != 0; ++j) row[j] /= total;
  }
  return weights;
}

// Input elements that a step of one output element covers.
double ScaleOf(int64_t in, int64_t out, std::optional<double> factor, bool align_corners) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  return factor ? 1 / *factor : static_cast<double>(in) / static_cast<double>(out);
}

// The same of sizes that are known at run time.
Tensor WeightsOf(Lowering& to, Dim in, Dim out, std::optional<double> factor, const Kernel& kernel) {
  auto number = [&](double value) { return to.NumberOf(value, DType::kFloat64); };
  auto as_double = [&](const Tensor& x) { return to.CastTo(x, DType::kFloat64); };
  auto among = [&](Dim count) { return as_double(Iota(to, count)); };
  const Tensor one = number(1), none = number(0), size = as_double(to.Number(in)), wanted = as_double(to.Number(out));
  Tensor scale = factor ? to.Where(to.Equal(size, wanted), one, number(1 / *factor)) : to.Div(size, wanted);
  if (kernel.align_corners)
    scale = to.Where(to.Greater(wanted, one), to.Div(to.Sub(size, one), to.Max({to.Sub(wanted, one), one})), none);
  const double middle = kernel.align_corners && !kernel.antialias ? 0 : 0.5, reach = ReachOf(kernel.filter);
  const Tensor center = to.UnsqueezeAt(to.Mul(scale, to.Add(among(out), number(middle))), {1}), column = among(in);
  if (!kernel.antialias) {
    // As many elements each; those beyond the border are the ones on it.
    const Tensor begin = to.Floor(to.Add(center, number(1 - middle - reach)));
    Tensor weights = none;
    for (int i = 0; i < 2 * static_cast<int>(reach); ++i) {
      const Tensor j = to.Add(begin, number(i)), at = to.Min({to.Max({j, none}), to.Sub(size, one)});
      const Tensor weight = WeightsAt(to, kernel, to.Add(to.Sub(j, center), number(middle)));
      weights = to.Add(weights, to.Where(to.Equal(column, at), weight, none));
    }
    return weights;
  }
  const Tensor stretch = to.Max({scale, one}), stretched = to.Mul(stretch, number(reach)), half = number(middle);
  const Tensor begin = to.Floor(to.Add(to.Sub(center, stretched), half)), end = to.Floor(to.Add(to.Add(center, stretched), half));
  Tensor weight = WeightsAt(to, kernel, to.Div(to.Add(to.Sub(column, center), half), stretch));
  weight = to.Where(to.And(to.GreaterOrEqual(column, begin), to.Less(column, end)), weight, none);
  const Tensor total = to.ReduceSum(weight, to.ConstantInts({1}), {.keepdims = 1});
  return to.Div(weight, to.Where(to.Equal(total, none), one, total));
}

Tensor TimesMatrix(Lowering& to, const Tensor& x, int64_t axis, const Tensor& matrix) {
  return axis == x.rank() - 1 ? to.MatMul(x, to.Permute(matrix, {1, 0})) : to.MatMul(matrix, x);
}

constexpr int kMostBits = 22;

// PyTorch's fixed point: the weights as integers of as many bits as keep the largest below 2^15. Returns those bits.
int ToFixedPoint(std::vector<double>& weights) {
  const double largest = weights.empty() ? 0 : std::ranges::max(weights);
  int bits = 0;
  while (bits < kMostBits && std::floor(std::ldexp(largest, bits + 1) + 0.5) < 0x1p15) ++bits;
  for (double& weight : weights) weight = std::round(std::ldexp(weight, bits));
  return bits;
}

// The same at run time; returns two to the power of those bits.
Tensor ToFixedPoint(Lowering& to, Tensor& weights) {
  auto number = [&](double value) { return to.NumberOf(value, DType::kFloat64); };
  std::vector<double> powers;
  for (int bits = 1; bits <= kMostBits; ++bits) powers.push_back(std::ldexp(1.0, bits));
  const Tensor steps = to.ConstantFloats(powers, DType::kFloat64, Ints{kMostBits}), half = number(0.5);
  const Tensor largest = to.ReduceMax(weights, to.ConstantInts({0, 1}), {.keepdims = 0});
  const Tensor fits = to.Less(to.Add(to.Mul(steps, largest), half), number(0x1p15));
  const Tensor step = to.ReduceMax(to.Where(fits, steps, number(1)), to.ConstantInts({0}), {.keepdims = 0});
  const Tensor size = to.Floor(to.Add(to.Mul(to.Abs(weights), step), half));  // halves away from 0
  weights = to.Where(to.Less(weights, number(0)), to.Neg(size), size);
  return step;
}

}  // namespace

Tensor AntialiasByMatrices(Lowering& to, Tensor x, const Dims& sizes, const Floats& factors, bool align_corners,
                           AntialiasFilter filter) {
  const auto spatial = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t axis = x.rank() - spatial + i;
    const Dim wanted = sizes[static_cast<size_t>(i)];
    if (wanted == x.size(axis)) continue;  // whatever the factor
    std::optional<double> factor;
    if (!factors.empty()) factor = factors[static_cast<size_t>(i)];
    const auto in = to.AsConstant(x.size(axis)), out = to.AsConstant(wanted);
    if (!in || !out || !HoldsWeights(*in, *out)) {
      x = TimesMatrix(to, x, axis, to.CastTo(WeightsOf(to, x.size(axis), wanted, factor, {filter, true, align_corners}), x.dtype()));
      continue;
    }
    const auto weights = Weights(*in, *out, ScaleOf(*in, *out, factor, align_corners), {filter, true, align_corners});
    x = TimesMatrix(to, x, axis, to.ConstantFloats(weights, x.dtype(), Ints{*out, *in}));
  }
  return x;
}

Tensor BytesByMatrices(Lowering& to, Tensor x, const Dims& sizes, const Floats& factors, bool align_corners,
                       bool antialias, AntialiasFilter filter) {
  auto number = [&](double value) { return to.NumberOf(value, DType::kFloat32); };
  const Kernel kernel = {filter, antialias, align_corners};
  const DType dtype = x.dtype();
  x = to.CastTo(x, DType::kFloat32);  // which holds the sums of 15 + 8 bits exactly
  for (size_t i = sizes.size(); i-- > 0;) {
    const int64_t axis = x.rank() - static_cast<int64_t>(sizes.size() - i);
    if (sizes[i] == x.size(axis)) continue;  // whatever the factor
    std::optional<double> factor;
    if (!factors.empty()) factor = factors[i];
    const auto in = to.AsConstant(x.size(axis)), out = to.AsConstant(sizes[i]);
    Tensor matrix, half, part;
    if (in && out && HoldsWeights(*in, *out)) {
      auto weights = Weights(*in, *out, ScaleOf(*in, *out, factor, align_corners), kernel);
      const int bits = ToFixedPoint(weights);
      matrix = to.ConstantFloats(weights, DType::kFloat32, Ints{*out, *in});
      half = number(std::ldexp(0.5, bits));
      part = number(std::ldexp(1.0, -bits));
    } else {
      Tensor weights = WeightsOf(to, x.size(axis), sizes[i], factor, kernel);
      const Tensor step = to.CastTo(ToFixedPoint(to, weights), DType::kFloat32);
      matrix = to.CastTo(weights, DType::kFloat32);
      half = to.Mul(step, number(0.5));
      part = to.Div(number(1), step);
    }
    x = TimesMatrix(to, x, axis, matrix);
    x = to.Clip(to.Floor(to.Mul(to.Add(x, half), part)), number(0), number(255));
  }
  return to.CastTo(x, dtype);
}

}  // namespace flambeau::lower
