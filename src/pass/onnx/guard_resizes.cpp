// A Resize of a transposed image: onnxruntime 1.31 moves the Transpose behind a Resize of four dimensions, to cancel it against
// another one. It then permutes sizes of two axes as if they were of four, and gives cubic Resizes a layout that no kernel
// takes. A Reshape between the two, which makes each channel an image by itself, keeps the Transpose where it is.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

// Nothing moves a Transpose behind these.
bool Stops(std::string_view op) {
  static constexpr std::array<std::string_view, 12> kStops = {"AveragePool", "Conv", "ConvTranspose", "Einsum", "Flatten", "Gemm",
                                                              "If",          "Loop", "MatMul",        "MaxPool", "Reshape", "Scan"};
  return std::ranges::find(kStops, op) != kStops.end();
}

const std::string* TextOf(const Editor& to, NodeId node, std::string_view name) {
  const Attribute* attribute = to.graph().FindAttribute(node, name);
  return attribute != nullptr ? std::get_if<std::string>(attribute) : nullptr;
}

bool IsCubic(const Editor& to, NodeId resize) {
  const std::string* mode = TextOf(to, resize, "mode");
  return mode != nullptr && *mode == "cubic" && to.Int(resize, "antialias", 0) == 0;
}

// Whether a Transpose in front of it does harm.
bool NeedsGuard(const Editor& to, NodeId resize) {
  const Type& type = to.type(to.graph().operand(resize, 0));
  if (!type.ranked || type.rank() != 4) return false;
  const Ints* axes = to.IntList(resize, "axes");
  if (axes == nullptr) return IsCubic(to, resize);
  return std::ranges::all_of(*axes, [](int64_t axis) { return axis == 2 || axis == 3; });
}

bool HasResize(const Graph& graph, BlockId block) {
  bool found = false;
  graph.ForEachNode(block, [&](NodeId node) { found |= graph.op(node) == "Resize"; });
  return found;
}

// The Resizes of the block to which a Transpose may be moved.
void FindGuarded(const Editor& to, BlockId block, std::vector<NodeId>& found) {
  const Graph& graph = to.graph();
  if (!HasResize(graph, block)) return;
  std::unordered_set<uint32_t> transposed;  // values
  graph.ForEachNode(block, [&](NodeId node) {
    const auto operands = graph.operands(node);
    const bool reached = graph.op(node) == "Transpose" ||
                         (!Stops(graph.op(node)) && std::ranges::any_of(operands, [&](ValueId value) { return value && transposed.contains(value.index); }));
    if (!reached) return;
    for (uint32_t i = 0; i < graph[node].result_count; ++i) transposed.insert(graph.result(node, i).index);
    if (graph.op(node) == "Resize" && transposed.contains(operands.front().index) && NeedsGuard(to, node)) found.push_back(node);
  });
}

// [batch, channels] as a Reshape takes them: one of them may be left open.
ValueId Leading(Editor& to, NodeId position, ValueId x) {
  const auto& sizes = to.type(x).sizes;
  const auto batch = to.exprs().AsConstant(sizes[0]), channels = to.exprs().AsConstant(sizes[1]);
  if (channels.value_or(0) > 0) return to.AddInts(Ints{-1, *channels});
  if (batch.value_or(0) > 0) return to.AddInts(Ints{*batch, -1});
  return to.Insert(position, "Gather", {to.Insert(position, "Shape", {x}), to.AddInts(Ints{0, 1})});
}

ValueId Joined(Editor& to, NodeId position, ValueId first, ValueId last) {
  auto ints = to.KnownInts(first);
  const auto more = to.KnownInts(last);
  onnx::AttributeList axis;
  axis.Add("axis", int64_t{0});
  if (!ints || !more) return to.Insert(position, "Concat", {first, last}, axis);
  ints->insert(ints->end(), more->begin(), more->end());
  return to.AddInts(*ints);
}

void Guard(Editor& to, NodeId resize) {
  Graph& graph = to.graph();
  const ValueId x = graph.operand(resize, 0);
  const ValueId as_they_are = to.AddInts(Ints{0, 0});
  const ValueId leading = Leading(to, resize, x);
  const bool one_channel = to.exprs().AsConstant(to.type(x).sizes[1]) == 1;  // then it is the batch that becomes channels
  const ValueId single = to.AddInts(one_channel ? Ints{1, -1} : Ints{-1, 1});
  const ValueId images = to.Insert(resize, "Reshape", {x, Joined(to, resize, single, as_they_are)});
  std::vector<ValueId> operands = graph.operands(resize);
  operands[0] = images;
  if (to.IntList(resize, "axes") == nullptr && operands.size() > 3 && operands[3]) {  // sizes of all axes
    const ValueId counted = to.Insert(resize, "Gather", {to.Insert(resize, "Shape", {images}), to.AddInts(Ints{0, 1})});
    operands[3] = Joined(to, resize, counted, to.Insert(resize, "Gather", {operands[3], to.AddInts(Ints{2, 3})}));
  }
  const ValueId resized = graph.result(to.InsertNode(resize, "Resize", operands, graph[resize].attributes));
  to.Replace(resize, to.Insert(resize, "Reshape", {resized, Joined(to, resize, leading, as_they_are)}));
  to.Erase(resize);
}

}  // namespace

Result<Changed> GuardResizes(Graph& graph, PassContext& context) {
  Editor to(graph, context);
  std::vector<NodeId> found;
  for (const BlockId block : graph.AllBlocks()) FindGuarded(to, block, found);
  for (const NodeId resize : found) Guard(to, resize);
  return to.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
