#include "pass/onnx/merged_sources.h"

#include <algorithm>

namespace flambeau {
namespace {

// What grows with each rewrite has to end somewhere.
constexpr size_t kMostSources = 16;

}  // namespace

bool HasUsers(const Graph& graph, NodeId node) {
  for (uint32_t i = 0; i < graph[node].result_count; ++i)
    if (graph.HasUses(graph.result(node, i))) return true;
  return false;
}

void MergedSources::Before(NodeId node) {
  capacity_ = graph_.node_capacity();
  operands_.clear();
  for (uint32_t i = 0; i < graph_.operand_count(node); ++i)
    if (const ValueId operand = graph_.operand(node, i); operand && graph_[operand].kind == ValueKind::kResult)
      operands_.push_back(graph_[operand].node);
}

void MergedSources::After(NodeId node) {
  unused_.clear();
  const bool stays = !graph_[node].erased && HasUsers(graph_, node);
  if (stays) {
    for (const NodeId operand : operands_) CollectUnused(operand);
  } else {
    CollectUnused(node);
  }
  if (unused_.empty()) return;
  if (capacity_ == graph_.node_capacity()) {
    if (stays) AddOrigins(node);
    return;
  }
  for (NodeId made{capacity_}; made.index < graph_.node_capacity(); ++made.index)
    if (!graph_[made].erased) AddOrigins(made);
}

// Adds the node, and what only such nodes use.
void MergedSources::CollectUnused(NodeId root) {
  std::vector<NodeId> pending = {root};
  while (!pending.empty() && unused_.size() < kMostSources) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (std::ranges::find(unused_, node) != unused_.end()) continue;
    bool used = false;
    for (uint32_t i = 0; i < graph_[node].result_count && !used; ++i)
      graph_.ForEachUse(graph_.result(node, i),
                        [&](Use use) { used |= std::ranges::find(unused_, use.node) == unused_.end(); });
    if (used) continue;
    unused_.push_back(node);
    if (graph_[node].erased) continue;
    for (uint32_t i = 0; i < graph_.operand_count(node); ++i)
      if (const ValueId operand = graph_.operand(node, i); operand && graph_[operand].kind == ValueKind::kResult)
        pending.push_back(graph_[operand].node);
  }
}

void MergedSources::AddOrigins(NodeId to) const {
  Context& context = graph_.context();
  const OriginId own = graph_[to].origin;
  if (!own) return;
  Origin made = context[own];
  const size_t before = made.merged.size();
  const auto add = [&](OriginId id) {
    const auto same = [&](OriginId known) { return known == id || context[known].node_name == context[id].node_name; };
    if (same(own) || made.merged.size() >= kMostSources || std::ranges::any_of(made.merged, same)) return;
    Origin single = context[id];
    if (!single.merged.empty()) {
      single.merged.clear();
      id = context.Add(std::move(single));
    }
    made.merged.push_back(id);
  };
  for (const NodeId node : unused_) {
    const OriginId origin = graph_[node].origin;
    if (!origin) continue;
    add(origin);
    const std::vector<OriginId> others = context[origin].merged;
    for (const OriginId other : others) add(other);
  }
  if (made.merged.size() > before) graph_.SetOrigin(to, context.Add(std::move(made)));
}

}  // namespace flambeau
