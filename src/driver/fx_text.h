// A node of the captured graph as torch.fx prints it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "aten/program.h"
#include "ir/graph.h"

namespace flambeau {

class FxText {
 public:
  // `graph` as it was read from the program; both must outlive this.
  FxText(const Graph& graph, const Program::Impl& program);

  std::string operator()(NodeId node) const;

 private:
  struct ArgumentWriter;

  size_t TakenResults(NodeId node) const;
  size_t UserCount(NodeId node) const;
  void AppendValue(ValueId value, std::string& text) const;
  void AppendArgument(NodeId node, const Attribute& attribute, std::string& text) const;

  const Graph& graph_;
  const Context& context_;
  const aten::Declarations& declared_;
  std::unordered_map<ValueId, Symbol> placeholders_;  // weights have the state_dict's names in the graph
  std::unordered_map<NodeId, size_t> taken_;          // results, of nodes that have several
};

}  // namespace flambeau
