#include <cmath>

#include "pass/onnx/rules.h"
#include "pass/onnx/scaled_source.h"
#include "support/numeric.h"

namespace flambeau {
namespace {

std::optional<std::vector<double>> Numbers(const TensorData* data, size_t count) {
  if (data == nullptr || !IsFloating(data->dtype) || data->sizes != Ints{static_cast<int64_t>(count)})
    return std::nullopt;
  const auto bytes = data->ReadAll(count * 8);
  if (!bytes) return std::nullopt;
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = LoadDouble(data->dtype, bytes->data() + i * static_cast<size_t>(ByteSize(data->dtype)));
  return numbers;
}

// y = x * scale + shift, a channel.
struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Affine> AffineOf(const Editor& to, NodeId norm, size_t channels) {
  const Graph& graph = to.graph();
  std::optional<std::vector<double>> operands[4];
  for (uint32_t i = 0; i < 4; ++i) {
    operands[i] = Numbers(to.Data(to.Operand(norm, i + 1)), channels);
    if (!operands[i]) return std::nullopt;
  }
  for (uint32_t i = 1; i < graph[norm].result_count; ++i)
    if (graph.HasUses(graph.result(norm, i))) return std::nullopt;
  const auto &gamma = *operands[0], &beta = *operands[1], &mean = *operands[2], &variance = *operands[3];
  const double epsilon = to.Float(norm, "epsilon", 1e-5);
  Affine affine;
  for (size_t i = 0; i < channels; ++i) {
    affine.scale.push_back(gamma[i] / std::sqrt(variance[i] + epsilon));
    affine.shift.push_back(beta[i] - mean[i] * affine.scale[i]);
  }
  return affine;
}

// How a weight's elements are spread over the output channels.
std::optional<ChannelLayout> LayoutOf(const Editor& to, NodeId node, const TensorData& weights) {
  const Ints& sizes = weights.sizes;
  const std::string_view op = to.graph().op(node);
  if (sizes.size() < 2 || weights.element_count() == 0) return std::nullopt;
  auto size = [&](size_t i) { return static_cast<uint64_t>(sizes[i]); };
  uint64_t inner = 1;
  for (size_t i = 2; i < sizes.size(); ++i) inner *= size(i);
  if (op == "Conv") return ChannelLayout{1, size(0), size(1) * inner};
  if (op == "ConvTranspose") {
    const int64_t groups = to.Int(node, "group", 1);
    if (groups < 1 || sizes[0] % groups != 0) return std::nullopt;
    return ChannelLayout{size(0) / static_cast<uint64_t>(groups), size(1), inner};
  }
  return to.Int(node, "transB", 0) != 0 ? ChannelLayout{1, size(0), size(1)} : ChannelLayout{size(0), size(1), 1};
}

uint64_t ChannelsOf(const TensorData& weights, const ChannelLayout& layout) {
  return weights.element_count() / (layout.rows * layout.inner);
}

// The bias of the folded node is called as its weight's sibling.
Symbol BiasName(Editor& to, ValueId weight, ValueId bias) {
  if (bias) return to.graph()[bias].name;
  const Symbol symbol = to.graph()[weight].name;
  std::string name(symbol ? to.context().Text(symbol) : "");
  constexpr std::string_view kWeight = "weight";
  if (!name.ends_with(kWeight)) return {};
  name.replace(name.size() - kWeight.size(), kWeight.size(), "bias");
  return to.context().Intern(name);
}

bool FoldBatchNorm(Editor& to, NodeId norm) {
  const Graph& graph = to.graph();
  const ValueId input = graph.operand(norm, 0);
  if (to.keep_weights() || to.Int(norm, "training_mode", 0) != 0 || !to.HasOneUse(input)) return false;
  NodeId node = to.Producer(input, "Conv");
  if (!node) node = to.Producer(input, "ConvTranspose");
  if (!node) node = to.Producer(input, "Gemm");
  if (!node) return false;
  const ValueId weight = graph.operand(node, 1), bias = to.Operand(node, 2);
  const TensorData* weights = to.Data(weight);
  // A weight that others use would have to be there twice.
  if (weights == nullptr || !to.HasOneUse(weight) || !weights->source->available()) return false;
  if (!IsFloating(weights->dtype) || ByteSize(weights->dtype) < 2) return false;
  if (to.Float(node, "alpha", 1) != 1 || to.Float(node, "beta", 1) != 1) return false;
  const auto layout = LayoutOf(to, node, *weights);
  if (!layout) return false;
  const auto channels = static_cast<size_t>(ChannelsOf(*weights, *layout));
  auto affine = AffineOf(to, norm, channels);
  const auto old_bias = bias ? Numbers(to.Data(bias), channels) : std::vector<double>(channels);
  if (!affine || !old_bias) return false;

  const auto width = static_cast<size_t>(ByteSize(weights->dtype));
  std::vector<std::byte> bytes(channels * width);
  for (size_t i = 0; i < channels; ++i)
    StoreDouble(weights->dtype, (*old_bias)[i] * affine->scale[i] + affine->shift[i], bytes.data() + i * width);
  const ValueId new_bias = to.AddConstant({.source = MakeBufferSource(std::move(bytes)),
                                           .dtype = weights->dtype,
                                           .sizes = {static_cast<int64_t>(channels)}},
                                          BiasName(to, weight, bias));
  const ValueId scaled = to.AddConstant({.source = MakeScaledSource(*weights, std::move(affine->scale), *layout),
                                         .dtype = weights->dtype,
                                         .sizes = weights->sizes},
                                        graph[weight].name);
  const ValueId operands[] = {graph.operand(node, 0), scaled, new_bias};
  const NodeId folded = to.InsertNode(node, graph.op(node), operands, graph[node].attributes);
  return to.Replace(norm, graph.result(folded));
}

constexpr RewriteRow kRules[] = {{"BatchNormalization", &FoldBatchNorm}};

}  // namespace

RewriteTable BatchNormRules() { return kRules; }

}  // namespace flambeau
