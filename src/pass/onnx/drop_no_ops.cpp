#include <algorithm>

#include "pass/onnx/rules.h"

namespace flambeau {
namespace {

bool Forward(Editor& to, NodeId node) { return to.Replace(node, to.graph().operand(node, 0)); }

// What keeps type and sizes and moves no element.
bool ForwardIfSameType(Editor& to, NodeId node) {
  return to.SameType(to.graph().result(node), to.graph().operand(node, 0)) && Forward(to, node);
}

bool DropDropout(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  if (graph[node].result_count > 1 && graph.HasUses(graph.result(node, 1))) return false;
  // Since opset 12 an operand says whether it trains.
  if (const ValueId training = to.Operand(node, 2)) {
    const auto trains = to.KnownInts(training);
    if (!trains || *trains != Ints{0}) return false;
  }
  return Forward(to, node);
}

// Of two casts around what moves no element, there and back: sizes are compared in one dimension, and branches want none.
bool DropCastsAround(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId from = graph.operand(node, 0), result = graph.result(node);
  NodeId layout;
  for (const std::string_view op : {"Squeeze", "Unsqueeze", "Reshape"})
    if (!layout) layout = to.Producer(from, op);
  if (!layout || !to.HasOneUse(from)) return false;
  const NodeId inner = to.Producer(graph.operand(layout, 0), "Cast");
  if (!inner) return false;
  const ValueId origin = graph.operand(inner, 0);
  if (to.type(origin).dtype != to.type(result).dtype || !IsLossless(to.type(origin).dtype, to.type(from).dtype)) return false;
  std::vector<ValueId> operands = graph.operands(layout);
  operands[0] = origin;
  const NodeId moved = to.InsertNode(layout, graph.op(layout), operands, graph[layout].attributes);
  return to.Replace(result, graph.result(moved));
}

bool DropCast(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId from = graph.operand(node, 0), result = graph.result(node);
  if (to.type(from).is_tensor() && to.type(from).dtype == to.type(result).dtype) return Forward(to, node);
  // A Cast that loses nothing, in front.
  const NodeId inner = to.Producer(from, "Cast");
  if (!inner) return DropCastsAround(to, node);
  const ValueId origin = graph.operand(inner, 0);
  if (!IsLossless(to.type(origin).dtype, to.type(from).dtype)) return false;
  to.SetOperand(node, 0, origin);
  return true;
}

// A reversed axis keeps its size, too.
bool DropSlice(Editor& to, NodeId node) {
  if (const ValueId steps = to.Operand(node, 4)) {
    const auto known = to.KnownInts(steps);
    if (!known || std::ranges::any_of(*known, [](int64_t step) { return step <= 0; })) return false;
  }
  return ForwardIfSameType(to, node);
}

bool DropPad(Editor& to, NodeId node) {
  bool absent;
  const auto pads = to.IntsOf(node, "pads", 1, &absent);
  if (!pads || std::ranges::any_of(*pads, [](int64_t pad) { return pad != 0; })) return false;
  return Forward(to, node);
}

bool DropTranspose(Editor& to, NodeId node) {
  const Ints* permutation = to.IntList(node, "perm");
  return permutation != nullptr && std::ranges::is_sorted(*permutation) && Forward(to, node);
}

// Concat, Max, Sum, … of one.
bool DropOfOne(Editor& to, NodeId node) { return to.graph().operand_count(node) == 1 && Forward(to, node); }

bool DropSplit(Editor& to, NodeId node) { return to.graph()[node].result_count == 1 && ForwardIfSameType(to, node); }

bool DropReduction(Editor& to, NodeId node) {
  bool absent;
  const auto axes = to.IntsOf(node, "axes", 1, &absent);
  const bool none = absent || (axes && axes->empty());
  return none && to.Int(node, "noop_with_empty_axes", 0) != 0 && Forward(to, node);
}

// x*1, x/1 and, for integers, x+0, x-0 (-0.0 + 0 is another float than -0.0).
bool DropNeutral(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const std::string_view op = graph.op(node);
  const bool scales = op == "Mul" || op == "Div", commutes = op == "Mul" || op == "Add";
  for (const uint32_t i : {1U, 0U}) {
    if (i == 0 && !commutes) break;
    const ValueId other = graph.operand(node, 1 - i), result = graph.result(node);
    if (!to.SameType(result, other) || (!scales && IsFloating(to.type(result).dtype))) continue;
    const auto number = to.KnownNumber(graph.operand(node, i));
    if (number && *number == (scales ? 1 : 0)) return to.Replace(result, other);
  }
  return false;
}

// A choice that is made.
bool DropWhere(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  constexpr uint64_t kMostBytes = 4096;
  const TensorData* data = to.Data(graph.operand(node, 0));
  const auto choices = data != nullptr ? data->ReadAll(kMostBytes) : std::nullopt;
  if (!choices || choices->empty() || std::ranges::any_of(*choices, [&](std::byte each) { return each != choices->front(); })) return false;
  const ValueId chosen = graph.operand(node, choices->front() != std::byte{0} ? 1 : 2);
  return to.SameType(graph.result(node), chosen) && to.Replace(graph.result(node), chosen);
}

constexpr RewriteRow kRules[] = {
    {"Add", &DropNeutral},
    {"Cast", &DropCast},
    {"Concat", &DropOfOne},
    {"Div", &DropNeutral},
    {"Dropout", &DropDropout},
    {"Expand", &ForwardIfSameType},
    {"Flatten", &ForwardIfSameType},
    {"Identity", &Forward},
    {"Max", &DropOfOne},
    {"Mean", &DropOfOne},
    {"Min", &DropOfOne},
    {"Mul", &DropNeutral},
    {"Pad", &DropPad},
    {"ReduceMax", &DropReduction},
    {"ReduceMean", &DropReduction},
    {"ReduceMin", &DropReduction},
    {"ReduceProd", &DropReduction},
    {"ReduceSum", &DropReduction},
    {"Reshape", &ForwardIfSameType},
    {"Slice", &DropSlice},
    {"Split", &DropSplit},
    {"Squeeze", &ForwardIfSameType},
    {"Sub", &DropNeutral},
    {"Sum", &DropOfOne},
    {"Tile", &ForwardIfSameType},
    {"Transpose", &DropTranspose},
    {"Where", &DropWhere},
};

}  // namespace

RewriteTable NoOpRules() { return kRules; }

}  // namespace flambeau
