// Functions of float64 that onnxruntime computes of float32 only, and of all floats where the opset has no operator for
// them, to within a few units in the last place.
#include <array>
#include <cmath>

#include "onnx/legalize/rule.h"
#include "onnx/near_zero.h"

namespace flambeau::onnx {
namespace {

// Inverted above 1 and halved twice, then Taylor's series.
Tensor Arctangent(Builder& to, const Tensor& x) {
  constexpr size_t kTerms = 13;  // tan(π/16)^27 / 27 is below 1e-20
  std::array<double, kTerms> taylor;
  for (size_t n = 0; n < kTerms; ++n) taylor[n] = (n % 2 == 0 ? 1.0 : -1.0) / static_cast<double>(2 * n + 1);
  const Tensor one = Double(to, 1), is_large = to.Greater(to.Abs(x), one);
  Tensor y = to.Where(is_large, to.Reciprocal(x), x);
  for (int i = 0; i < 2; ++i) y = to.Div(y, to.Add(to.Sqrt(to.Add(to.Mul(y, y), one)), one));
  const Tensor angle = to.Mul(to.Mul(y, PowerSeries(to, to.Mul(y, y), taylor)), Double(to, 4));
  return to.Where(is_large, to.Sub(to.Mul(to.Sign(x), Double(to, M_PI_2)), angle), angle);
}

Tensor Arcsine(Builder& to, const Tensor& x) {
  const Tensor one = Double(to, 1);
  return Arctangent(to, to.Div(x, to.Sqrt(to.Mul(to.Sub(one, x), to.Add(one, x)))));
}

// By half the angle, which keeps the digits near 1.
Tensor Arccosine(Builder& to, const Tensor& x) {
  const Tensor one = Double(to, 1);
  return to.Mul(Arctangent(to, to.Sqrt(to.Div(to.Sub(one, x), to.Add(one, x)))), Double(to, 2));
}

Tensor Tangent(Builder& to, const Tensor& x) { return to.Div(to.Sin(x), to.Cos(x)); }

// log(x + √(x² + 1)); of large numbers that is log(2x).
Tensor AreaSine(Builder& to, const Tensor& x) {
  const Tensor size = to.Abs(x), one = Double(to, 1), is_large = to.Greater(size, Double(to, 0x1p30));
  const Tensor small = to.Where(is_large, one, size), square = to.Mul(small, small);
  const Tensor near = Log1p(to, to.Add(small, to.Div(square, to.Add(one, to.Sqrt(to.Add(square, one))))));
  return to.Mul(to.Sign(x), to.Where(is_large, to.Add(to.Log(size), Double(to, M_LN2)), near));
}

Tensor AreaCosine(Builder& to, const Tensor& x) {
  const Tensor above = to.Sub(x, Double(to, 1));
  return Log1p(to, to.Add(above, to.Mul(to.Sqrt(above), to.Sqrt(to.Add(x, Double(to, 1))))));
}

Tensor AreaTangent(Builder& to, const Tensor& x) {
  const Tensor ratio = to.Div(to.Add(x, x), to.Sub(Double(to, 1), x));
  return to.Mul(Log1p(to, ratio), Double(to, 0.5));
}

// log(1 + e^x)
Tensor SoftMaximum(Builder& to, const Tensor& x) {
  return to.Add(to.Max({x, Double(to, 0)}), Log1p(to, to.Exp(to.Neg(to.Abs(x)))));
}

template <Tensor (*kFunction)(Builder&, const Tensor&)>
Results Computed(Builder& to, const Request& request) {
  const Tensor& x = request.operands[0];
  if (!to.Has(request.op)) return {{to.CastTo(kFunction(to, to.CastTo(x, DType::kFloat64)), x.dtype())}};
  if (!LacksKernelOfDouble(to, request)) return std::nullopt;
  return {{kFunction(to, x)}};
}

// --- activations that are straight on one side -----------------------------------------

// below where x is negative, else x; times `scale`.
Tensor Bent(Builder& to, const Tensor& x, const Tensor& below, double scale = 1) {
  const Tensor bent = to.Where(to.Less(x, Double(to, 0)), below, x);
  return scale == 1 ? bent : to.Mul(bent, Double(to, scale));
}

Tensor ExponentialBelow(Builder& to, const Tensor& x, double alpha) {
  const Tensor negative = to.Min({x, Double(to, 0)});
  return to.Mul(to.Sub(to.Exp(negative), Double(to, 1)), Double(to, alpha));
}

Results EluOfDouble(Builder& to, const Request& request) {
  if (!LacksKernelOfDouble(to, request)) return std::nullopt;
  const Tensor x = request.operands[0];
  return {{Bent(to, x, ExponentialBelow(to, x, request.Float("alpha", 1)))}};
}

Results SeluOfDouble(Builder& to, const Request& request) {
  if (!LacksKernelOfDouble(to, request)) return std::nullopt;
  const Tensor x = request.operands[0];
  const double alpha = request.Float("alpha", 1.6732632423543772), gamma = request.Float("gamma", 1.0507009873554805);
  return {{Bent(to, x, ExponentialBelow(to, x, alpha), gamma)}};
}

Results LeakyReluOfDouble(Builder& to, const Request& request) {
  if (!LacksKernelOfDouble(to, request)) return std::nullopt;
  const Tensor x = request.operands[0];
  return {{Bent(to, x, to.Mul(x, Double(to, request.Float("alpha", 0.01))))}};
}

Results HardSigmoidOfDouble(Builder& to, const Request& request) {
  if (!LacksKernelOfDouble(to, request)) return std::nullopt;
  const Tensor scaled = to.Mul(request.operands[0], Double(to, request.Float("alpha", 0.2)));
  return {{to.Clip(to.Add(scaled, Double(to, request.Float("beta", 0.5))), Double(to, 0), Double(to, 1))}};
}

constexpr LegalizeRule kRules[] = {
    {"Acos", kNever, &Computed<Arccosine>},
    {"Acosh", kNever, &Computed<AreaCosine>},
    {"Asin", kNever, &Computed<Arcsine>},
    {"Asinh", kNever, &Computed<AreaSine>},
    {"Atan", kNever, &Computed<Arctangent>},
    {"Atanh", kNever, &Computed<AreaTangent>},
    {"Elu", kNever, &EluOfDouble},
    {"HardSigmoid", kNever, &HardSigmoidOfDouble},
    {"LeakyRelu", kNever, &LeakyReluOfDouble},
    {"Selu", kNever, &SeluOfDouble},
    {"Softplus", kNever, &Computed<SoftMaximum>},
    {"Tan", kNever, &Computed<Tangent>},
};

}  // namespace

std::span<const LegalizeRule> DoubleForms() { return kRules; }

}  // namespace flambeau::onnx
