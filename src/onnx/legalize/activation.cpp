// Activations that came late, in terms of older operators.
#include <cmath>

#include "onnx/error_function.h"
#include "onnx/legalize/rule.h"
#include "onnx/runtime_kernels.h"

namespace flambeau::onnx {
namespace {

// Its values need float64's digits, so no narrower kernel will do.
Results ErfByExponential(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!x.ranked() || (to.Has("Erf") && !LacksKernelOfDouble(to, request))) return std::nullopt;
  return {{to.CastTo(ErfOfDouble(to, to.CastTo(x, DType::kFloat64)), x.dtype())}};
}

// gelu(x) = x/2 · (1 + erf(x/√2)), or with tanh. Of negative numbers the sum keeps few digits: halves would lose all of them.
Results DecomposeGelu(Builder& to, const Request& request) {
  if (to.Has("Gelu") && !LacksKernelOfDouble(to, request)) return std::nullopt;
  const DType dtype = request.operands[0].dtype();
  const bool half = dtype == DType::kFloat16 || dtype == DType::kBfloat16;
  const Tensor x = half ? to.CastTo(request.operands[0], DType::kFloat32) : request.operands[0];
  auto constant = [&](double value) { return to.ConstantOf(value, x.dtype()); };
  Tensor inner;
  if (request.Text("approximate", "none") == "tanh") {
    const Tensor cube = to.Mul(x, to.Mul(x, x));
    inner = to.Tanh(to.Mul(to.Add(x, to.Mul(cube, constant(0.044715))), constant(std::sqrt(2 / M_PI))));
  } else {
    inner = to.Erf(to.Div(x, constant(std::sqrt(2.0))));
  }
  return {{to.CastTo(to.Mul(to.Mul(x, to.Add(inner, constant(1))), constant(0.5)), dtype)}};
}

Results DecomposeSwish(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const double alpha = request.Float("alpha", 1);
  return {{to.Mul(x, to.Sigmoid(alpha == 1 ? x : to.Mul(x, to.ConstantOf(alpha, x.dtype()))))}};
}

Results DecomposeHardSwish(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (to.Has("HardSwish") && !LacksKernelOfDouble(to, request)) return std::nullopt;
  return {{to.Mul(x, to.HardSigmoid(x, {.alpha = 1.0 / 6, .beta = 0.5}))}};
}

Results DecomposeMish(Builder& to, const Request& request) {
  return {{to.Mul(request.operands[0], to.Tanh(to.Softplus(request.operands[0])))}};
}

// celu(x) = α·elu(x/α)
Results DecomposeCelu(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (to.Has("Celu") && !LacksKernelOfDouble(to, request)) return std::nullopt;
  const double alpha = request.Float("alpha", 1);
  if (alpha == 1) return {{to.Elu(x)}};
  const Tensor factor = to.ConstantOf(alpha, x.dtype());
  return {{to.Mul(to.Elu(to.Div(x, factor)), factor)}};
}

// Of integers, before 14 and where there is no kernel.
Results ReluAsMax(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const bool runs = !to.widens_for_runtime() || RuntimeSupports(request.op, to.opset(), "T", x.dtype());
  if (x.is_floating() || (to.opset() >= 14 && runs)) return std::nullopt;
  return {{to.Max(Tensors{x, to.ConstantOf(int64_t{0}, x.dtype())})}};
}

// Of integers before 9: the slope is one, too.
Results PReluAsWhere(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (x.is_floating() ? !LacksKernelOfDouble(to, request) : to.opset() >= 9) return std::nullopt;
  return {{to.Where(to.Less(x, to.ConstantOf(x.is_floating() ? Scalar(0.0) : Scalar(int64_t{0}), x.dtype())), to.Mul(x, request.operands[1]), x)}};
}

// Before 13 everything from the axis on is one distribution.
Results AlongLastAxis(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!x.ranked()) return Refuse(to, request, "takes only tensors of known rank");
  int64_t axis = request.Int("axis", -1);
  if (axis < 0) axis += x.rank();
  AttributeList attributes;
  if (x.rank() == 0) {
    attributes.Add("axis", int64_t{0});
    const Tensor row = to.UnsqueezeAt(x, {0});
    return {{to.SqueezeAt(EmitAsIs(to, request.op, {&row, 1}, attributes, 1).front(), {0})}};
  }
  Ints swap;
  for (int64_t d = 0; d < x.rank(); ++d) swap.push_back(d);
  std::swap(swap[static_cast<size_t>(axis)], swap.back());
  attributes.Add("axis", x.rank() - 1);
  const Tensor swapped = to.Permute(x, swap);
  return {{to.Permute(EmitAsIs(to, request.op, {&swapped, 1}, attributes, 1).front(), swap)}};
}

constexpr LegalizeRule kRules[] = {
    {"Celu", kNever, &DecomposeCelu},
    {"Erf", kNever, &ErfByExponential},
    {"Gelu", kNever, &DecomposeGelu},
    {"HardSwish", kNever, &DecomposeHardSwish},
    {"Hardmax", 13, &AlongLastAxis},
    {"LogSoftmax", 13, &AlongLastAxis},
    {"Mish", 18, &DecomposeMish},
    {"PRelu", kNever, &PReluAsWhere},
    {"Relu", kNever, &ReluAsMax},
    {"Softmax", 13, &AlongLastAxis},
    {"Swish", 24, &DecomposeSwish},
};

}  // namespace

std::span<const LegalizeRule> ActivationForms() { return kRules; }

}  // namespace flambeau::onnx
