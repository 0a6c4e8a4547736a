// Products of a quantized tensor and weights that are not quantized, whose result is quantized again. onnxruntime 1.31 rounds
// such weights to 8 bits, by one scale for all of them. It does not where a Sum of one operand, which changes nothing, stands
// in front of the QuantizeLinear.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

// onnxruntime moves quantization past these, or drops them.
bool MovesElements(std::string_view op) {
  static constexpr std::array<std::string_view, 11> kMovers = {"Dropout", "Expand", "Flatten", "Identity", "MaxPool", "Pad",
                                                               "Reshape", "Slice",  "Squeeze", "Transpose", "Unsqueeze"};
  return std::ranges::find(kMovers, op) != kMovers.end();
}

// What gave the value before elements were moved, and cut if `may_cut`; no node where it is a constant or an input.
NodeId SourceOf(const Editor& to, ValueId* value, bool may_cut) {
  for (;;) {
    if (!*value || to.graph()[*value].kind != ValueKind::kResult) return {};
    const NodeId node = to.graph()[*value].node;
    const std::string_view op = to.graph().op(node);
    if (!MovesElements(op) && !(may_cut && (op == "Clip" || op == "Relu"))) return node;
    *value = to.graph().operand(node, 0);
  }
}

bool IsConstantOfFloats(const Editor& to, ValueId value) {
  return to.type(value).dtype == DType::kFloat32 && !SourceOf(to, &value, false) && to.Data(value) != nullptr;
}

bool IsQuantized(const Editor& to, ValueId value) {
  const NodeId node = SourceOf(to, &value, false);
  return node && to.graph().op(node) == "DequantizeLinear";
}

bool RoundsWeights(const Editor& to, NodeId node) {
  const std::string_view op = to.graph().op(node);
  if (op == "Add") {  // with the product in front, a Gemm
    const auto addends = to.graph().operands(node);
    return std::ranges::any_of(addends, [&](ValueId addend) {
      const NodeId product = SourceOf(to, &addend, false);
      return product && to.graph().op(product) == "MatMul" && RoundsWeights(to, product);
    });
  }
  const bool is_product = op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul";
  return is_product && IsQuantized(to, to.Operand(node, 0)) && IsConstantOfFloats(to, to.Operand(node, 1));
}

}  // namespace

Result<Changed> GuardWeights(Graph& graph, PassContext& context) {
  std::vector<NodeId> quantized;
  for (const BlockId block : graph.AllBlocks())
    graph.ForEachNode(block, [&](NodeId node) {
      if (graph.op(node) == "QuantizeLinear") quantized.push_back(node);
    });
  Editor to(graph, context);
  for (const NodeId node : quantized) {
    const ValueId value = graph.operand(node, 0);
    ValueId from = value;
    const NodeId source = SourceOf(to, &from, true);
    if (source && RoundsWeights(to, source)) to.SetOperand(node, 0, to.Insert(node, "Sum", {value}));
  }
  return to.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
