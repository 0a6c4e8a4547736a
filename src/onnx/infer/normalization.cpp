// Normalisations and softmax: the result has the data's sizes, statistics have others.
#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

// In training the running statistics follow, one a channel.
void BatchNormalization(InferContext& context) {
  SameAsFirst(context);
  const Sizes* input = context.sizes(0);
  if (!input || input->size() < 2) return;
  for (size_t i = 1; i < context.result_count(); ++i) context.SetSizes(i, {(*input)[1]});
}

// Mean and inverse deviation keep the normalised dimensions as 1.
void LayerNormalization(InferContext& context) {
  SameAsFirst(context);
  const Sizes* input = context.sizes(0);
  const auto axis = input ? NormalizeAxis(context.Int("axis", -1), input->size()) : std::nullopt;
  if (!axis) return;
  Sizes statistics = *input;
  for (size_t d = *axis; d < statistics.size(); ++d) statistics[d] = context.exprs().Constant(1);
  const DType dtype = context.ElementType("stash_type", DType::kFloat32);
  for (size_t i = 1; i < context.result_count(); ++i) context.SetTensor(i, dtype, statistics);
}

constexpr InferRule kNormalization[] = {
    {"BatchNormalization", BatchNormalization},
    {"GroupNormalization", SameAsFirst},
    {"Hardmax", SameAsFirst},
    {"InstanceNormalization", SameAsFirst},
    {"LRN", SameAsFirst},
    {"LayerNormalization", LayerNormalization},
    {"LogSoftmax", SameAsFirst},
    {"LpNormalization", SameAsFirst},
    {"MeanVarianceNormalization", SameAsFirst},
    {"RMSNormalization", SameAsFirst},
    {"Softmax", SameAsFirst},
};

}  // namespace

std::span<const InferRule> NormalizationRules() { return kNormalization; }

}  // namespace flambeau::onnx
