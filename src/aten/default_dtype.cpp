#include "aten/default_dtype.h"

#include <algorithm>

namespace flambeau::aten {
namespace {

// A tensor, or a list of them; Python's floats don't count in promotion.
bool Floats(const Type& type) { return type.kind != TypeKind::kFloat && (IsFloating(type.dtype) || IsComplex(type.dtype)); }

// Whether the dtype of the node's result is the default one: a float that neither an operand nor an argument accounts for.
bool MakesDefaultFloats(const Graph& graph, NodeId node) {
  if (graph[node].result_count == 0 || !graph.op(node).starts_with("aten::")) return false;
  const Type& made = graph.type(graph.result(node));
  if (!made.is_tensor() || !IsFloating(made.dtype)) return false;
  for (uint32_t i = 0; i < graph.operand_count(node); ++i)
    if (const ValueId operand = graph.operand(node, i); operand && Floats(graph.type(operand))) return false;
  return std::ranges::none_of(graph[node].attributes, [](const NamedAttribute& each) { return std::holds_alternative<DType>(each.value); });
}

}  // namespace

std::optional<DType> RecordedDefaultDtype(const Graph& graph) {
  for (const BlockId block : graph.AllBlocks())
    for (NodeId node = graph[block].first; node; node = graph[node].next)
      if (MakesDefaultFloats(graph, node)) return graph.type(graph.result(node)).dtype;
  return std::nullopt;
}

}  // namespace flambeau::aten
