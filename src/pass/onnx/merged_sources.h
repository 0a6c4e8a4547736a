// Where nodes come from that a rewrite puts in the place of several: from all of them.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace flambeau {

bool HasUsers(const Graph& graph, NodeId node);

// Watches one rewrite after another.
class MergedSources {
 public:
  explicit MergedSources(Graph& graph) : graph_(graph) {}

  // A rewrite of `node` begins.
  void Before(NodeId node);
  // It changed something: what it made, or `node` itself if it still counts,
  // has the origins of the nodes that lost their last user by it.
  void After(NodeId node);

 private:
  void CollectUnused(NodeId node);
  void AddOrigins(NodeId to) const;

  Graph& graph_;
  std::vector<NodeId> operands_;  // what gave the operands before
  uint32_t capacity_ = 0;
  std::vector<NodeId> unused_;
};

}  // namespace flambeau
