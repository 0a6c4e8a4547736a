#include "script/regions/added_nodes.h"

#include <utility>

namespace flambeau::script {

using torchscript::Block;
using torchscript::Constant;
using torchscript::Node;
using torchscript::Value;

// The constant's block is walked by nobody.
Value* AddedNodes::AddName() { return AppendConstant(AddBlock(), {false}); }

Value* AddedNodes::AppendConstant(Block* block, Constant value) { return graph_.AppendConstant(block, std::move(value), nullptr, ""); }

Node* AddedNodes::Append(const Node& node, Block* block, std::string kind, std::string overload, std::vector<Value*> inputs) {
  Node* added = graph_.Append(block, std::move(kind), std::move(overload), std::move(inputs));
  added->scopes = node.scopes;
  added->source = node.source;
  return added;
}

Node* AddedNodes::AppendFor(const Node& node, Block* block, std::string kind, std::string overload, std::vector<Value*> inputs) {
  Node* added = Append(node, block, std::move(kind), std::move(overload), std::move(inputs));
  added->attributes = node.attributes;
  added->types = node.types;
  SetSource(*added, node);
  for (const Value* output : node.outputs) (void)AddOutput(added, *output);
  return added;
}

const Node* AddedNodes::SourceOf(const Node& node) const {
  const auto found = stands_for_.find(&node);
  return found == stands_for_.end() ? &node : found->second.source;
}

int AddedNodes::RoundsBefore(const Node& loop) const {
  const auto found = stands_for_.find(&loop);
  return found == stands_for_.end() ? 0 : found->second.rounds;
}

}  // namespace flambeau::script
