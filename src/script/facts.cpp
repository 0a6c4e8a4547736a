#include "script/facts.h"

#include <string_view>
#include <utility>
#include <vector>

namespace flambeau::script {
namespace {

// The operator that computes the value, if one does.
std::string_view OpOf(const Graph& graph, ValueId value) {
  return graph[value].kind == ValueKind::kResult ? graph.op(graph[value].node) : std::string_view();
}

// Of which the value is `op`; invalid if it is not.
ValueId OperandOf(const Graph& graph, ValueId value, std::string_view op) {
  return OpOf(graph, value) == op && graph.operand_count(graph[value].node) == 1 ? graph.operand(graph[value].node, 0) : ValueId();
}

bool IsBool(const Graph& graph, ValueId value) { return value && graph.type(value).kind == TypeKind::kBool; }

// Programs convert a tensor to a bool wherever they ask for it.
ValueId SourceOf(const Graph& graph, ValueId value) {
  const ValueId tensor = OperandOf(graph, value, "aten::Bool.Tensor");
  return tensor ? tensor : value;
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
      if (IsBool(graph, operand)) pending.emplace_back(operand, negates ? !known : known);
  }
}

std::optional<bool> Facts::Of(const Graph& graph, ValueId condition) const {
  bool negated = false;
  for (ValueId operand; IsBool(graph, operand = OperandOf(graph, condition, "_operator::not_")); negated = !negated) condition = operand;
  const auto found = known_.find(SourceOf(graph, condition));
  return found == known_.end() ? std::nullopt : std::optional(found->second != negated);
}

}  // namespace flambeau::script
