// Nodes that are walked in the place of one of the source: an operator on each path of an If, a loop without its first rounds.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "reader/torchscript/graph.h"

namespace flambeau::script {

class AddedNodes {
 public:
  torchscript::Block* AddBlock() { return graph_.AddBlock(); }
  // A name for what no node makes.
  torchscript::Value* AddName();
  torchscript::Value* AppendConstant(torchscript::Block* block, torchscript::Constant value);
  // A node at the place in the source that `node` has.
  torchscript::Node* Append(const torchscript::Node& node, torchscript::Block* block, std::string kind, std::string overload,
                            std::vector<torchscript::Value*> inputs);
  // One that stands for `node`, with its attributes and outputs like its own.
  torchscript::Node* AppendFor(const torchscript::Node& node, torchscript::Block* block, std::string kind, std::string overload,
                               std::vector<torchscript::Value*> inputs);
  // An output like another one.
  torchscript::Value* AddOutput(torchscript::Node* added, const torchscript::Value& like) { return graph_.AddOutput(added, like.type, like.name); }
  // `added` stands for `node`: for a loop, after so many of its rounds.
  void SetSource(const torchscript::Node& added, const torchscript::Node& node, int rounds = 0) { stands_for_[&added] = {SourceOf(node), rounds}; }

  // The node of the source that the node stands for: itself, if it is one.
  const torchscript::Node* SourceOf(const torchscript::Node& node) const;
  // The rounds of the source's loop that are walked before this one.
  int RoundsBefore(const torchscript::Node& loop) const;

 private:
  struct Place {
    const torchscript::Node* source;
    int rounds;
  };
  torchscript::Graph graph_;
  std::unordered_map<const torchscript::Node*, Place> stands_for_;
};

}  // namespace flambeau::script
