#include <algorithm>

#include "onnx/operator_table.h"
#include "pass/onnx/evaluate.h"
#include "pass/onnx/rules.h"
#include "support/numeric.h"

namespace flambeau {
namespace {

// Results of more bytes are left to the runtime.
constexpr uint64_t kLargestResult = 1 << 20;
// A result of at most this many bytes is worth more than its node; what larger
// ones take beyond what they replace is limited for the whole graph.
constexpr uint64_t kAlwaysFold = 4 << 10;
// Views of a weight are counted at most so far.
constexpr size_t kMostViews = 64;

uint64_t Bytes(std::span<const TensorData> list) {
  uint64_t sum = 0;
  for (const TensorData& data : list) sum += data.byte_size();
  return sum;
}

std::string NameOf(const Editor& to, ValueId value) {
  const Symbol name = to.graph()[value].name;
  return name ? std::string(to.context().Text(name)) : std::string();
}

// The weight keeps its name while it is the parameter's data; a transposed one
// says so.
Symbol NameOfView(Editor& to, ValueId constant, const TensorData& view) {
  const std::string name = NameOf(to, constant);
  if (name.empty()) return {};
  if (to.Data(constant)->SameBytes(view)) return to.graph()[constant].name;
  return to.context().Intern(name + (to.Data(constant)->element_count() == view.element_count() ? "_view" : "_part"));
}

// Whether the uses of a large constant, all folded, take no more bytes than it.
bool ViewsReplaceWeight(const Editor& to, ValueId weight) {
  const Graph& graph = to.graph();
  uint64_t bytes = 0;
  size_t count = 0;
  bool all = true;
  graph.ForEachUse(weight, [&](Use use) {
    if (!all || graph.IsTerminator(use.node) || ++count > kMostViews || use.operand != 0) {
      all = false;
      return;
    }
    const auto views = EvaluateView(to, use.node);
    all = views.has_value();
    if (views) bytes += Bytes(*views);
  });
  return all && bytes <= to.Data(weight)->byte_size();
}

// Gemm, and the MatMul that becomes one, transpose their operands themselves.
bool IsForGemm(const Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId result = graph.result(node);
  if (graph.op(node) != "Transpose" || !to.type(result).ranked || to.type(result).rank() != 2) return false;
  bool all = true;
  graph.ForEachUse(result, [&](Use use) {
    const bool product = !graph.IsTerminator(use.node) && IsFloating(to.type(result).dtype) &&
                         (graph.op(use.node) == "Gemm" ||
                          (graph.op(use.node) == "MatMul" && to.type(graph.result(use.node)).sizes.size() == 2));
    all &= product && use.operand < 2;
  });
  return all;
}

// Bytes cast to more of them, as quantized weights are: they stay what they are.
bool IsQuantized(const Editor& to, NodeId node, uint64_t before) {
  const DType dtype = to.type(to.graph().operand(node, 0)).dtype;
  return to.graph().op(node) == "Cast" && before > kAlwaysFold && ByteSize(dtype) == 1 && dtype != DType::kBool;
}

bool MayGrow(Editor& to, uint64_t before, uint64_t after) {
  return after <= std::max(before, kAlwaysFold) || to.SpendGrowth(after - before);
}

bool FoldView(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId from = graph.operand(node, 0);
  const auto views = EvaluateView(to, node);
  if (!views || IsForGemm(to, node)) return false;
  const uint64_t before = to.Data(from)->byte_size(), after = Bytes(*views);
  if (before >= kLargeBytes) {
    if (to.keep_weights() || !ViewsReplaceWeight(to, from)) return false;
  } else if (after > kLargestResult || !MayGrow(to, before, after)) {
    return false;
  }
  bool changed = false;
  for (uint32_t i = 0; i < views->size(); ++i) {
    const ValueId result = graph.result(node, i);
    if (graph.HasUses(result))
      changed |= to.Replace(result, to.AddConstant((*views)[i], NameOfView(to, from, (*views)[i])));
  }
  return changed;
}

// A small integer result, known though its operands are not: the shape of
// something, say.
bool FoldKnown(Editor& to, NodeId node) {
  const ValueId result = to.graph().result(node);
  const Type& type = to.type(result);
  if (!type.is_tensor() || !type.contents || (type.dtype != DType::kInt64 && type.dtype != DType::kBool)) return false;
  const auto elements = to.KnownInts(result), sizes = to.ConstantSizes(result);
  if (!elements || !sizes) return false;
  const auto width = static_cast<size_t>(ByteSize(type.dtype));
  std::vector<std::byte> bytes(elements->size() * width);
  for (size_t i = 0; i < elements->size(); ++i) StoreInt(type.dtype, (*elements)[i], bytes.data() + i * width);
  return to.Replace(
      result, to.AddConstant({.source = MakeBufferSource(std::move(bytes)), .dtype = type.dtype, .sizes = *sizes}));
}

bool FoldNode(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  // What stands between a constant and an output.
  if (graph.op(node) == "Identity") return false;
  if (graph[node].result_count == 1 && FoldKnown(to, node)) return true;
  const uint32_t count = graph.operand_count(node);
  if (count == 0) return false;
  uint64_t before = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const TensorData* data = to.Data(graph.operand(node, i));
    if (data == nullptr && graph.operand(node, i)) return false;
    if (data != nullptr) before += data->byte_size();
  }
  if (FoldView(to, node)) return true;
  if (graph[node].result_count != 1 || !HasEvaluation(graph.op(node)) || before > 4 * kLargestResult) return false;
  const auto size = to.ConstantSizes(graph.result(node));
  if (!size || IsQuantized(to, node, before)) return false;
  const auto result = EvaluateElements(to, node, kLargestResult);
  if (!result || !MayGrow(to, before, result->byte_size()) || result->dtype != to.type(graph.result(node)).dtype ||
      result->sizes != *size)
    return false;
  return to.Replace(node, to.AddConstant(*result));
}

constexpr RewriteRow kRules[] = {{"*", &FoldNode}};

}  // namespace

RewriteTable FoldingRules() { return kRules; }

}  // namespace flambeau
