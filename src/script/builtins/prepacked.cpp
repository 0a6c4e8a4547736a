// prepacked::*: what torch.utils.mobile_optimizer makes of float convolutions and linear layers.
#include "script/builtins/builtins.h"
#include "script/quantized.h"

namespace flambeau::script {

using torchscript::Node;

// (weight, bias, [stride, padding, [output padding,] dilation, groups,] low, high): of a linear layer without the numbers
std::optional<PackedWeights> ClampedWeights(Evaluator& evaluator, std::span<const Val> fields, bool transposed) {
  constexpr size_t kOfLinear = 4;
  const bool linear = fields.size() == kOfLinear && !transposed;
  if (!linear && fields.size() != (transposed ? 9 : 8)) return std::nullopt;
  PackedWeights weights = {.weight = fields[0], .bias = fields[1], .transposed = transposed};
  if (!weights.weight.Is<TensorVal>()) return std::nullopt;
  weights.low = fields[fields.size() - 2];
  weights.high = fields[fields.size() - 1];
  if (linear) return weights;
  size_t next = 2;
  for (Vals* numbers : {&weights.stride, &weights.padding, &weights.output_padding, &weights.dilation}) {
    if (numbers == &weights.output_padding && !transposed) continue;
    const Vals* list = ElementsOf(fields[next++], evaluator.heap());
    if (list == nullptr || list->empty() || list->size() > 2) return std::nullopt;
    *numbers = *list;
    numbers->resize(2, numbers->front());
  }
  if (!transposed) weights.output_padding.assign(2, int64_t{0});
  if (!fields[next].AsInt()) return std::nullopt;
  weights.groups = *fields[next].AsInt();
  return weights;
}

namespace {

template <bool kTransposed>
Result<Vals> Prepack(Evaluator& evaluator, const Node&, Arguments arguments) {
  auto weights = ClampedWeights(evaluator, arguments, kTransposed);
  if (!weights) return Malformed(evaluator);
  return Vals{Pack(evaluator, *std::move(weights))};
}

Result<Vals> Clamped(Evaluator& evaluator, const Val& x, const PackedWeights& weights) {
  if (weights.low.Is<Nothing>() && weights.high.Is<Nothing>()) return Vals{x};
  FLAMBEAU_TRY(Val clamped, evaluator.emit().Call1("aten::clamp", {x, weights.low, weights.high}));
  return Vals{std::move(clamped)};
}

// (x, weights)
Result<Vals> RunLinear(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() != 2) return Malformed(evaluator);
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[1]));
  FLAMBEAU_TRY(const Val product, evaluator.emit().Call1("aten::linear", {arguments[0], weights.weight, weights.bias}));
  return Clamped(evaluator, product, weights);
}

Result<Vals> RunConvolution(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() != 2) return Malformed(evaluator);
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[1]));
  FLAMBEAU_TRY(const Val product, evaluator.emit().Call1("aten::convolution",
                                                         {arguments[0], weights.weight, weights.bias, evaluator.List(weights.stride),
                                                          evaluator.List(weights.padding), evaluator.List(weights.dilation), weights.transposed,
                                                          evaluator.List(weights.output_padding), weights.groups}));
  return Clamped(evaluator, product, weights);
}

constexpr BuiltinRow kRows[] = {
    {"prepacked::conv2d_clamp_prepack", &Prepack<false>},
    {"prepacked::conv2d_clamp_run", &RunConvolution},
    {"prepacked::conv2d_transpose_clamp_prepack", &Prepack<true>},
    {"prepacked::conv2d_transpose_clamp_run", &RunConvolution},
    {"prepacked::linear_clamp_prepack", &Prepack<false>},
    {"prepacked::linear_clamp_run", &RunLinear},
};

}  // namespace

std::span<const BuiltinRow> PrepackedBuiltins() { return kRows; }

}  // namespace flambeau::script
