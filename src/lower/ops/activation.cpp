// Activation functions, softmax and dropout.
#include "lower/ops/activation.h"

#include "lower/ops/arithmetic.h"
#include "lower/ops/elementwise.h"
#include "lower/op.h"
#include "lower/ops/random.h"

namespace flambeau::lower {
namespace {

Tensor Gelu(Lowering& to, Tensor self, std::string_view approximate) {
  if (approximate != "none" && approximate != "tanh") throw onnx::BadOperand("approximates by 'tanh' or not");
  return to.Gelu(self, {.approximate = std::string(approximate)});
}

// x·sigmoid(x); Swish has no kernel yet, and bfloat16 or float64 would find none.
Tensor Silu(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self);
  return to.Mul(x, to.Sigmoid(x));
}

// Mish has no kernel, but a body in terms of Softplus, which takes float32 (and float16 by casts).
Tensor Mish(Lowering& to, Tensor self) {
  if (self.dtype() == DType::kFloat32) return to.Mish(self);
  return to.Mul(self, to.Tanh(to.Softplus(self)));
}

Tensor Hardtanh(Lowering& to, Tensor self, Scalar min_val, Scalar max_val) {
  const Tensor low = to.NumberOf(min_val, self.dtype()), high = to.NumberOf(max_val, self.dtype());
  return MayBeWide(to, self) ? Clamp(to, self, low, high) : to.Clip(self, low, high);
}

Tensor Relu6(Lowering& to, Tensor self) { return Hardtanh(to, self, int64_t{0}, int64_t{6}); }

Tensor Hardsigmoid(Lowering& to, Tensor self) { return to.HardSigmoid(self, {.alpha = 1.0 / 6, .beta = 0.5}); }

// alpha·(exp(x) - 1) where x < 0; x elsewhere is 0.
Tensor NegativeElu(Lowering& to, Tensor x, const Scalar& alpha) {
  if (alpha.is_constant()) return to.Elu(x, {.alpha = alpha.AsDouble()});
  return to.Mul(to.Elu(x), to.NumberOf(alpha, x.dtype()));
}

// scale · (max(x, 0) + alpha·(exp(input_scale·x) - 1) where x < 0).
Tensor Elu(Lowering& to, Tensor self, Scalar alpha, Scalar scale, Scalar input_scale) {
  if (alpha.is_constant() && scale.Is(1) && input_scale.Is(1)) return to.Elu(self, {.alpha = alpha.AsDouble()});
  const Tensor zero = to.NumberOf(0.0, self.dtype());
  const Tensor negative = NegativeElu(to, to.Scale(to.Min({self, zero}), input_scale), alpha);
  return to.Scale(to.Add(to.Relu(self), negative), scale);
}

Tensor Celu(Lowering& to, Tensor self, Scalar alpha) {
  if (alpha.is_constant()) return to.Celu(self, {.alpha = alpha.AsDouble()});
  const Tensor slope = to.NumberOf(alpha, self.dtype()), one = to.NumberOf(1.0, self.dtype());
  const Tensor power = to.Exp(to.Div(to.Min({self, to.NumberOf(0.0, self.dtype())}), slope));
  return to.Add(to.Relu(self), to.Mul(to.Sub(power, one), slope));
}

// ONNX's factors are float32's.
Tensor Selu(Lowering& to, Tensor self) {
  if (self.dtype() != DType::kFloat64) return to.Selu(self);
  return Elu(to, self, 1.6732632423543772848, 1.0507009873554804934, 1.0);
}

Tensor LeakyRelu(Lowering& to, Tensor self, Scalar negative_slope) {
  if (negative_slope.is_constant()) return to.LeakyRelu(self, {.alpha = negative_slope.AsDouble()});
  return to.Where(to.Greater(self, to.NumberOf(0.0, self.dtype())), self, to.Scale(self, negative_slope));
}

// A weight of one dimension belongs to axis 1.
Tensor Prelu(Lowering& to, Tensor self, Tensor weight) {
  if (weight.rank() == 1 && self.rank() > 2) {
    Ints trailing;
    for (int64_t axis = 1; axis < self.rank() - 1; ++axis) trailing.push_back(axis);
    weight = to.UnsqueezeAt(weight, trailing);
  } else if (weight.rank() == 1 && self.rank() == 0) {
    weight = to.SqueezeAt(weight, {0});
  }
  return to.PRelu(self, weight);
}

// What torch's decompositions make of prelu: they shaped the weight to broadcast.
Tensor PreluKernel(Lowering& to, Tensor self, Tensor weight) { return to.PRelu(self, weight); }

Tensor Rrelu(Lowering& to, Tensor self, Scalar lower, Scalar upper, bool training, Unused) {
  if (!training && lower.is_constant() && upper.is_constant())
    return to.LeakyRelu(self, {.alpha = (lower.AsDouble() + upper.AsDouble()) / 2});
  const Tensor low = to.NumberOf(lower, self.dtype()), width = to.Sub(to.NumberOf(upper, self.dtype()), low);
  const Tensor place = training ? RandomUniform(to, self.sizes(), self.dtype()) : to.NumberOf(0.5, self.dtype());
  return to.PRelu(self, to.ExpandTo(to.Add(to.Mul(place, width), low), self.sizes()));
}

// The slopes are a result, too: 1 where nothing is multiplied.
std::tuple<Tensor, Tensor> RreluWithNoise(Lowering& to, Tensor self, Tensor noise, Scalar lower, Scalar upper,
                                          bool training, Unused unused) {
  if (!training) return {Rrelu(to, self, lower, upper, false, unused), noise};
  const Tensor ones = to.ExpandTo(to.NumberOf(1.0, self.dtype()), self.sizes());
  const Tensor slopes = to.Neg(Rrelu(to, to.Neg(ones), lower, upper, true, unused));
  const Tensor kept = to.Where(to.Greater(self, to.NumberOf(0.0, self.dtype())), ones, slopes);
  return {to.Mul(self, kept), kept};
}

Tensor Hardshrink(Lowering& to, Tensor self, Scalar lambd) {
  // NaN is kept: it is not within the bounds.
  const Tensor bound = to.NumberOf(lambd, self.dtype());
  return to.Where(to.LessOrEqual(to.Abs(self), bound), to.NumberOf(0.0, self.dtype()), self);
}

// What clamping cuts off. ONNX's Shrink turns NaN into 0.
Tensor Softshrink(Lowering& to, Tensor self, Scalar lambd) {
  const Tensor bound = to.NumberOf(lambd, self.dtype());
  return to.Sub(self, to.Clip(self, to.Neg(bound), bound));
}

Tensor Softplus(Lowering& to, Tensor self, Scalar beta, Scalar threshold) {
  const Tensor scaled = to.Scale(self, beta);
  const Tensor soft = to.Softplus(scaled);
  const Tensor result = beta.Is(1) ? soft : to.Div(soft, to.NumberOf(beta, self.dtype()));
  // Above the threshold x itself, which from 20 on is softplus(x) in float32.
  if (threshold.is_constant() && threshold.AsDouble() >= 20 && self.dtype() != DType::kFloat64) return result;
  return to.Where(to.Greater(scaled, to.NumberOf(threshold, self.dtype())), self, result);
}

Tensor Threshold(Lowering& to, Tensor self, Scalar threshold, Scalar value) {
  return to.Where(to.LessOrEqual(self, to.NumberOf(threshold, self.dtype())), to.NumberOf(value, self.dtype()), self);
}

Tensor Glu(Lowering& to, Tensor self, int64_t dim) {
  const int64_t axis = to.Axis(dim, self);
  const Dim half = {to.exprs().FloorDiv(self.size(axis).expr, to.Of(2).expr)};
  const Dim halves[] = {half, half};
  const std::vector<Tensor> parts = to.SplitSizes(self, axis, halves);
  return to.Mul(parts[0], to.Sigmoid(parts[1]));
}

// ONNX's Softmax needs an axis; of one element it is 1.
template <class F>
Tensor AlongAxis(Lowering& to, Tensor x, int64_t dim, F apply) {
  if (x.rank() > 0) return apply(x, to.Axis(dim, x));
  return to.SqueezeAt(apply(to.UnsqueezeAt(x, {0}), 0), {0});
}

Tensor SoftmaxToFloat(Lowering& to, Tensor self, int64_t dim, bool half_to_float) {
  return Softmax(to, self, dim, half_to_float ? std::optional(DType::kFloat32) : std::nullopt);
}
Tensor LogSoftmaxToFloat(Lowering& to, Tensor self, int64_t dim, bool half_to_float) {
  return LogSoftmax(to, self, dim, half_to_float ? std::optional(DType::kFloat32) : std::nullopt);
}

// Of what the mask's sizes say is dropped together, a share of `p`; and what was kept.
std::tuple<Tensor, Tensor> Dropped(Lowering& to, Tensor input, const Scalar& p, const Dims& mask_sizes) {
  // Not ONNX's Dropout: of a constant tensor, onnxruntime draws it once, while it loads.
  const Tensor zero = to.NumberOf(0.0, DType::kFloat32), one = to.NumberOf(1.0, DType::kFloat32);
  const Tensor share = to.Sub(one, to.NumberOf(p, DType::kFloat32));
  const Tensor kept = to.Less(RandomUniform(to, mask_sizes, DType::kFloat32), share);
  const Tensor factor = to.CastTo(to.Where(to.Greater(share, zero), to.Div(one, share), zero), input.dtype());
  return {to.Mul(input, to.Mul(to.CastTo(kept, input.dtype()), factor)), kept};
}

// Exactly zeros everywhere where all is dropped.
std::tuple<Tensor, Tensor> NativeDropout(Lowering& to, Tensor input, Scalar p, std::optional<bool> train) {
  if (!train.value_or(true) || p.Is(0)) return {input, to.Full(input.sizes(), true, DType::kBool)};
  if (p.Is(1)) return {to.Full(input.sizes(), 0.0, input.dtype()), to.Full(input.sizes(), false, DType::kBool)};
  if (!p.is_constant()) return Dropped(to, input, p, input.sizes());  // may be 1, which ONNX's Dropout does not take
  const auto [output, mask] =
      to.Dropout(input, to.NumberOf(p, DType::kFloat32), to.NumberOf(true, DType::kBool), {}, 2);
  return {output, mask};
}

// `keep` is the chance to stay; the mask holds bytes.
std::tuple<Tensor, Tensor> FusedDropout(Lowering& to, Tensor self, double keep, Unused) {
  const auto [output, mask] = NativeDropout(to, self, 1 - keep, true);
  return {output, to.CastTo(mask, DType::kUint8)};
}

Tensor MaskedScale(Lowering& to, Tensor self, Tensor mask, double scale) {
  return to.Mul(to.Mul(self, to.CastTo(mask, self.dtype())), to.NumberOf(scale, self.dtype()));
}

// Whole channels: the mask has the sizes of the two leading axes.
Tensor FeatureDropout(Lowering& to, Tensor input, Scalar p, bool train) {
  if (!train || p.Is(0)) return input;
  Dims sizes = input.sizes();
  for (size_t i = 2; i < sizes.size(); ++i) sizes[i] = to.Of(1);
  return std::get<0>(Dropped(to, input, p, sizes));
}

// What is dropped becomes the value to which selu saturates; an affine map keeps mean and variance.
Tensor SaturatingDropout(Lowering& to, Tensor input, const Scalar& p, bool train, const Dims& mask_sizes) {
  if (!train || p.Is(0)) return input;
  constexpr double kAlpha = 1.7580993408473766;  // selu's alpha · scale
  auto number = [&](const Scalar& value) { return to.NumberOf(value, DType::kFloat32); };
  const Tensor one = number(1), dropped = number(p), share = to.Sub(one, dropped);
  const Tensor spread = to.Mul(to.Add(to.Mul(dropped, number(kAlpha * kAlpha)), one), share);
  // Of nothing that is kept, zeros.
  const Tensor a = to.Where(to.Greater(share, number(0)), to.Reciprocal(to.Sqrt(spread)), number(0));
  const Tensor kept = to.CastTo(to.Less(RandomUniform(to, mask_sizes, DType::kFloat32), share), DType::kFloat32);
  const Tensor shift = to.Mul(to.Sub(kept, share), to.Mul(a, number(kAlpha)));
  return to.Add(to.Mul(input, to.CastTo(to.Mul(kept, a), input.dtype())), to.CastTo(shift, input.dtype()));
}

Tensor AlphaDropout(Lowering& to, Tensor input, Scalar p, bool train) {
  return SaturatingDropout(to, input, p, train, input.sizes());
}

Tensor FeatureAlphaDropout(Lowering& to, Tensor input, Scalar p, bool train) {
  Dims sizes = input.sizes();
  for (size_t i = 2; i < sizes.size(); ++i) sizes[i] = to.Of(1);
  return SaturatingDropout(to, input, p, train, sizes);
}

}  // namespace

// Some integers have no kernel for Relu.
Tensor Relu(Lowering& to, Tensor self) {
  return self.is_floating() ? to.Relu(self) : Maximum(to, self, to.NumberOf(0, self.dtype()));
}

Tensor Softmax(Lowering& to, Tensor self, int64_t dim, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, dtype.value_or(self.dtype()));
  return AlongAxis(to, x, dim, [&](Tensor t, int64_t axis) { return to.Softmax(t, {.axis = axis}); });
}

Tensor LogSoftmax(Lowering& to, Tensor self, int64_t dim, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, dtype.value_or(self.dtype()));
  return AlongAxis(to, x, dim, [&](Tensor t, int64_t axis) { return to.LogSoftmax(t, {.axis = axis}); });
}

// log(sigmoid(x)) = -softplus(-x), which does not overflow.
Tensor LogSigmoid(Lowering& to, Tensor self) { return to.Neg(to.Softplus(to.Neg(self))); }

Tensor Dropout(Lowering& to, Tensor input, Scalar p, bool train) {
  if (!train || p.Is(0)) return input;
  return std::get<0>(NativeDropout(to, input, p, train));
}

namespace {

// The second is what a backward pass on the CPU reads.
std::tuple<Tensor, Tensor> LogSigmoidForward(Lowering& to, Tensor self) {
  return {LogSigmoid(to, self), to.Exp(to.Neg(to.Abs(self)))};
}

constexpr OpRow kRows[] = {
    Op<FusedDropout>("aten::_fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)"),
    Op<LogSoftmaxToFloat>("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"),
    Op<MaskedScale>("aten::_masked_scale(Tensor self, Tensor mask, float scale) -> Tensor"),
    Op<PreluKernel>("aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor"),
    Op<SoftmaxToFloat>("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"),
    Op<AlphaDropout>("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor"),
    Op<Celu>("aten::celu(Tensor self, Scalar alpha=1.) -> Tensor"),
    Op<Dropout>("aten::dropout(Tensor input, float p, bool train) -> Tensor"),
    Op<Elu>("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"),
    Op<FeatureAlphaDropout>("aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor"),
    Op<FeatureDropout>("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor"),
    Op<Gelu>("aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor"),
    Op<Glu>("aten::glu(Tensor self, int dim=-1) -> Tensor"),
    Op<Hardshrink>("aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor"),
    Op<Hardsigmoid>("aten::hardsigmoid(Tensor self) -> Tensor"),
    Op<Unary<"HardSwish">>("aten::hardswish(Tensor self) -> Tensor"),
    Op<Hardtanh>("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor"),
    Op<LeakyRelu>("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"),
    Op<LogSigmoid>("aten::log_sigmoid(Tensor self) -> Tensor"),
    Op<LogSigmoidForward>("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)"),
    Op<LogSoftmax>("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
    Op<Mish>("aten::mish(Tensor self) -> Tensor"),
    Op<NativeDropout>("aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)"),
    Op<Prelu>("aten::prelu(Tensor self, Tensor weight) -> Tensor"),
    Op<Relu>("aten::relu(Tensor self) -> Tensor"),
    Op<Relu6>("aten::relu6(Tensor self) -> Tensor"),
    Op<Rrelu>("aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
              "Generator? generator=None) -> Tensor"),
    Op<RreluWithNoise>("aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
                       "upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)"),
    Op<Selu>("aten::selu(Tensor self) -> Tensor"),
    Op<Silu>("aten::silu(Tensor self) -> Tensor"),
    Op<Softmax>("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
    Op<Softplus>("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"),
    Op<Softshrink>("aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"),
    Op<LogSoftmax>("aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    Op<Softmax>("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
    Op<Threshold>("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Activation() { return kRows; }

}  // namespace flambeau::lower
