#include "script/facts.h"

#include <string_view>
#include <utility>
#include <vector>

namespace flambeau::script {
namespace {

// The node that computes the value, if one does.
std::string_view OpOf(const Graph& graph, ValueId value) {
  return graph[value].kind == ValueKind::kResult ? graph.op(graph[value].node) : std::string_view();
}

// Programs convert a tensor to a bool wherever they ask for it.
ValueId SourceOf(const Graph& graph, ValueId value) {
  return OpOf(graph, value) == "aten::Bool.Tensor" ? graph.operand(graph[value].node, 0) : value;
}

}  // namespace

void Facts::Assume(const Graph& graph, ValueId condition, bool holds) {
  std::vector<std::pair<ValueId, bool>> pending = {{condition, holds}};
  while (!pending.empty()) {
    const auto [value, known] = pending.back();
    pending.pop_back();
    if (!known_.emplace(SourceOf(graph, value), known).second) continue;
    const std::string_view op = OpOf(graph, value);
    const bool negates = op == "_operator::not_";
    if (!negates && !(op == "_operator::and_" && known) && !(op == "_operator::or_" && !known)) continue;
    for (const ValueId operand : graph.operands(graph[value].node))
      if (operand && graph.type(operand).kind == TypeKind::kBool) pending.emplace_back(operand, negates ? !known : known);
  }
}

std::optional<bool> Facts::Of(const Graph& graph, ValueId condition) const {
  bool negated = false;
  while (OpOf(graph, condition) == "_operator::not_" && graph.type(graph.operand(graph[condition].node, 0)).kind == TypeKind::kBool) {
    condition = graph.operand(graph[condition].node, 0);
    negated = !negated;
  }
  const auto found = known_.find(SourceOf(graph, condition));
  return found == known_.end() ? std::nullopt : std::optional(found->second != negated);
}

}  // namespace flambeau::script
