#include <vector>

#include "aten/aliasing.h"
#include "pass/aten/passes.h"

namespace flambeau {

// Random operators are pure in this sense: which numbers the others draw is
// theirs to say. Unknown operators and those of other namespaces are pure only
// if nothing says that they write.
bool IsPure(const Graph& graph, NodeId node) {
  const std::string_view op = graph.op(node);
  const aten::Schema* schema = aten::FindSchema(op);
  if (schema == nullptr) {
    for (uint32_t i = 0; i < graph[node].result_count; ++i)
      if (graph.type(graph.result(node, i)).kind == TypeKind::kToken) return false;
    return op.starts_with("prim::") || graph[node].result_count > 0;
  }
  // What returns nothing is there for its effect.
  return !schema->returns.empty() && !schema->has_writes();
}

Result<Changed> DropDeadNodes(Program::Impl& program, PassContext&) {
  Graph& graph = program.graph;
  Changed changed = Changed::kNo;
  auto is_dead = [&](NodeId node) {
    for (uint32_t i = 0; i < graph[node].result_count; ++i)
      if (graph.HasUses(graph.result(node, i))) return false;
    return IsPure(graph, node);
  };
  // A node's operands may become dead with it, and those of its bodies.
  std::vector<NodeId> pending;
  const std::vector<BlockId> blocks = graph.AllBlocks();
  for (size_t i = blocks.size(); i-- > 0;) graph.ForEachNode(blocks[i], [&](NodeId node) { pending.push_back(node); });
  std::vector<ValueId> operands;
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (graph[node].erased || graph.IsTerminator(node) || !is_dead(node)) continue;
    operands = graph.operands(node);
    std::vector<BlockId> bodies;
    graph.ForEachBody(node, [&](BlockId body) { bodies.push_back(body); });
    for (size_t b = 0; b < bodies.size(); ++b)
      for (const BlockId inner : graph.BlocksWithin(bodies[b]))
        graph.ForEachNode(inner, [&](NodeId each) {
          for (const ValueId operand : graph.operands(each)) operands.push_back(operand);
        });
    graph.Erase(node);
    changed = Changed::kYes;
    for (const ValueId operand : operands)
      if (operand && graph[operand].kind == ValueKind::kResult) pending.push_back(graph[operand].node);
  }
  return changed;
}

}  // namespace flambeau
