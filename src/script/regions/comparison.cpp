#include "script/regions/comparison.h"

#include <algorithm>
#include <iterator>

namespace flambeau::script {

std::string_view OpOf(const Graph& graph, ValueId value) {
  return graph[value].kind == ValueKind::kResult ? graph.op(graph[value].node) : std::string_view();
}

std::optional<Comparison> ComparisonOf(const Graph& graph, ValueId condition) {
  std::string_view op = OpOf(graph, condition);
  static constexpr std::string_view kOps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  static constexpr std::string_view kTurned[] = {"eq", "ne", "gt", "ge", "lt", "le"};
  if (!op.starts_with("_operator::")) return std::nullopt;
  op.remove_prefix(std::string_view("_operator::").size());
  const auto* found = std::ranges::find(kOps, op);
  const NodeId node = graph[condition].node;
  if (found == std::end(kOps) || graph.operand_count(node) != 1) return std::nullopt;
  const Type& type = graph.type(graph.operand(node, 0));
  if (type.kind != TypeKind::kInt || !type.contents || type.contents->size() != 1) return std::nullopt;
  const Attribute* right = graph.FindAttribute(node, "b");
  const Attribute* left = graph.FindAttribute(node, "a");
  if (const auto* number = right != nullptr ? std::get_if<int64_t>(right) : nullptr)
    return Comparison{op, type.contents->front(), *number};
  if (const auto* number = left != nullptr ? std::get_if<int64_t>(left) : nullptr)
    return Comparison{kTurned[found - std::begin(kOps)], type.contents->front(), *number};
  return std::nullopt;
}

bool AsksForOne(const Comparison& asked) {
  return ((asked.op == "gt" || asked.op == "ne") && asked.number == 0) || (asked.op == "ge" && asked.number == 1);
}

}  // namespace flambeau::script
