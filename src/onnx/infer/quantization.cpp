// Operators that quantise. The element type is the zero point's, else an attribute's.
#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

void SetLikeFirst(InferContext& context, DType dtype) {
  if (const Sizes* sizes = context.sizes(0)) return context.SetTensor(0, dtype, *sizes);
  context.SetUnranked(0, dtype);
}

void QuantizeLinear(InferContext& context) {
  SetLikeFirst(context, context.operand(2) ? context.dtype(2) : context.ElementType("output_dtype", DType::kUint8));
}

void DequantizeLinear(InferContext& context) {
  const DType scale = context.operand(1) ? context.dtype(1) : DType::kFloat32;
  SetLikeFirst(context, context.ElementType("output_dtype", scale));
}

// The scale and the zero point are scalars.
void DynamicQuantizeLinear(InferContext& context) {
  SameAsFirst(context);
  context.SetSizes(1, {});
  context.SetSizes(2, {});
}

constexpr InferRule kQuantization[] = {
    {"DequantizeLinear", DequantizeLinear},
    {"DynamicQuantizeLinear", DynamicQuantizeLinear},
    {"QuantizeLinear", QuantizeLinear},
};

}  // namespace

std::span<const InferRule> QuantizationRules() { return kQuantization; }

}  // namespace flambeau::onnx
