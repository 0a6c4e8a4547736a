// Normalisations, in terms of means.
#include "onnx/infer/sizes.h"
#include "onnx/legalize/rule.h"
#include "onnx/runtime_kernels.h"

namespace flambeau::onnx {
namespace {

Ints TrailingAxes(int64_t rank, int64_t axis) {
  Ints axes;
  for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; ++i) axes.push_back(i);
  return axes;
}

// The dtype in which a normalisation computes.
DType StashDtype(const Request& request, DType dtype) {
  const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBfloat16;
  return narrow && request.Int("stash_type", 1) == 1 ? DType::kFloat32 : dtype;
}

// (x - mean) / sqrt(variance + epsilon)
Tensor Standardized(Builder& to, const Tensor& x, const Ints& over, double epsilon) {
  const Tensor axes = to.ConstantInts(over);
  const Tensor centered = to.Sub(x, to.ReduceMean(x, axes));
  const Tensor variance = to.ReduceMean(to.Mul(centered, centered), axes);
  return to.Div(centered, to.Sqrt(to.Add(variance, to.ConstantOf(epsilon, x.dtype()))));
}

// Over the trailing axes, times scale, plus bias.
Results DecomposeLayerNormalization(Builder& to, const Request& request) {
  const DType dtype = request.operands[0].dtype();
  const Tensor x = to.CastTo(request.operands[0], StashDtype(request, dtype));
  Tensor y = Standardized(to, x, TrailingAxes(x.rank(), request.Int("axis", -1)), request.Float("epsilon", 1e-5));
  y = to.Mul(to.CastTo(y, dtype), request.operands[1]);
  if (request.operand(2)) y = to.Add(y, request.operands[2]);
  return {{y}};
}

Results DecomposeRmsNormalization(Builder& to, const Request& request) {
  const DType dtype = request.operands[0].dtype();
  const Tensor x = to.CastTo(request.operands[0], StashDtype(request, dtype));
  const Tensor axes = to.ConstantInts(TrailingAxes(x.rank(), request.Int("axis", -1)));
  const Tensor mean = to.ReduceMean(to.Mul(x, x), axes);
  const Tensor y = to.Div(x, to.Sqrt(to.Add(mean, to.ConstantOf(request.Float("epsilon", 1e-5), x.dtype()))));
  return {{to.Mul(to.CastTo(y, dtype), request.operands[1])}};
}

// Until opset 21 GroupNormalization's scale and bias are one a group, not one a
// channel. From then on ONNX's function for it, which runtimes without a kernel
// run, takes the square of the mean from the mean of the squares, and so loses
// the digits of a variance that is small beside them.
Results DecomposeGroupNormalization(Builder& to, const Request& request) {
  constexpr int kScalesChannels = 21;
  const bool runs = !to.widens_for_runtime() || RuntimeKernels("GroupNormalization", to.opset()).any();
  if (to.opset() >= kScalesChannels && runs) return std::nullopt;
  const Tensor x = request.operands[0];
  const int64_t groups = request.Int("num_groups", 1);
  const Expr instance = Product(to.exprs(), std::span(x.type().sizes).subspan(1));
  const Dim members{to.exprs().FloorDiv(instance, to.exprs().Constant(groups))};
  Tensor y = to.ReshapeTo(x, Dims{x.size(0), to.Of(groups), members});
  const Ints channels = TrailingAxes(x.rank() - 1, 1);
  const DType dtype = StashDtype(request, x.dtype());
  y = Standardized(to, to.CastTo(y, dtype), {2}, request.Float("epsilon", 1e-5));
  y = to.ReshapeTo(y, x.sizes());
  const Tensor scale = to.UnsqueezeAt(request.operands[1], channels), bias = to.UnsqueezeAt(request.operands[2], channels);
  y = to.Add(to.Mul(y, to.CastTo(scale, dtype)), to.CastTo(bias, dtype));
  return {{to.CastTo(y, x.dtype())}};
}

// Each channel of each instance, of float64.
Results DecomposeInstanceNormalization(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!LacksKernelOfDouble(to, request) || x.rank() < 3) return std::nullopt;
  const Ints channels = TrailingAxes(x.rank() - 1, 1);
  const Tensor y = Standardized(to, x, TrailingAxes(x.rank(), 2), request.Float("epsilon", 1e-5));
  const Tensor scale = to.UnsqueezeAt(request.operands[1], channels), bias = to.UnsqueezeAt(request.operands[2], channels);
  return {{to.Add(to.Mul(y, scale), bias)}};
}

constexpr LegalizeRule kRules[] = {
    {"GroupNormalization", kNever, &DecomposeGroupNormalization},
    {"InstanceNormalization", kNever, &DecomposeInstanceNormalization},
    {"LayerNormalization", 17, &DecomposeLayerNormalization},
    {"RMSNormalization", 23, &DecomposeRmsNormalization},
};

}  // namespace

std::span<const LegalizeRule> NormalizationForms() { return kRules; }

}  // namespace flambeau::onnx
