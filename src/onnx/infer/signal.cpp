// Fourier transforms and windows. Signals end in a dimension of 1 (real) or 2 (complex).
#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

// How many frequencies of a real signal are not redundant.
Expr OneSided(ExprPool& exprs, Expr length) {
  return exprs.Add(exprs.FloorDiv(length, exprs.Constant(2)), exprs.Constant(1));
}

// The axis is an attribute before opset 20, and 1 by default; then an operand,
// and -2 by default.
void Dft(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input || input->size() < 2) return;
  ExprPool& exprs = context.exprs();
  Sizes sizes = *input;
  int64_t axis = context.Int("axis", context.opset() < 20 ? 1 : -2);
  if (context.operand(2)) {
    const auto given = context.ConstantInts(2);
    axis = given && given->size() == 1 ? given->front() : INT64_MAX;  // no dimension
  }
  const bool one_sided = context.Int("onesided", 0) != 0, inverse = context.Int("inverse", 0) != 0;
  sizes.back() = exprs.Constant(one_sided && inverse ? 1 : 2);
  const auto dim = NormalizeAxis(axis, sizes.size());
  if (!dim) {
    for (size_t d = 0; d + 1 < sizes.size(); ++d) sizes[d] = exprs.Anonymous();
    return context.SetSizes(0, std::move(sizes));
  }
  if (context.operand(1)) {
    sizes[*dim] = SizeFromScalar(context, 1);
  } else if (one_sided && inverse) {
    sizes[*dim] = exprs.Mul(exprs.Constant(2), exprs.Sub(sizes[*dim], exprs.Constant(1)));
  }
  if (one_sided && !inverse) sizes[*dim] = OneSided(exprs, sizes[*dim]);
  context.SetSizes(0, std::move(sizes));
}

// [batch, frames, frequencies, 2]; a frame has the window's length where none is given.
void Stft(InferContext& context) {
  const Sizes *signal = context.sizes(0), *window = context.sizes(2);
  if (!signal || signal->size() < 2) return;
  ExprPool& exprs = context.exprs();
  Expr length = exprs.Anonymous();
  if (context.operand(3)) {
    length = SizeFromScalar(context, 3);
  } else if (window && window->size() == 1) {
    length = window->front();
  }
  const Expr step = SizeFromScalar(context, 1);
  Expr frames = exprs.Anonymous();
  if (!exprs.IsConstant(step, 0) && !exprs.HasAnonymous(step) && !exprs.HasAnonymous(length))
    frames = exprs.Add(exprs.FloorDiv(exprs.Sub((*signal)[1], length), step), exprs.Constant(1));
  const bool one_sided = context.Int("onesided", 1) != 0;
  context.SetSizes(0, {signal->front(), frames, one_sided ? OneSided(exprs, length) : length, exprs.Constant(2)});
}

void Window(InferContext& context) {
  context.SetTensor(0, context.ElementType("output_datatype", DType::kFloat32), {SizeFromScalar(context, 0)});
}

void MelWeightMatrix(InferContext& context) {
  const Expr bins = SizeFromScalar(context, 0);
  context.SetTensor(0, context.ElementType("output_datatype", DType::kFloat32),
                    {OneSided(context.exprs(), SizeFromScalar(context, 1)), bins});
}

constexpr InferRule kSignal[] = {
    {"BlackmanWindow", Window},           {"DFT", Dft},   {"HammingWindow", Window}, {"HannWindow", Window},
    {"MelWeightMatrix", MelWeightMatrix}, {"STFT", Stft},
};

}  // namespace

std::span<const InferRule> SignalRules() { return kSignal; }

}  // namespace flambeau::onnx
