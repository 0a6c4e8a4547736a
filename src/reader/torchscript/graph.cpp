#include "reader/torchscript/graph.h"

#include <algorithm>

namespace flambeau::torchscript {

TypePtr Type::Of(TypeKind kind, std::vector<TypePtr> elements) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->elements = std::move(elements);
  return type;
}

const Constant* Node::Find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &Attribute::name);
  return found == attributes.end() ? nullptr : &found->value;
}

Block* Graph::AddBlock() {
  Block* block = &blocks_.emplace_back();
  if (main == nullptr) main = block;
  return block;
}

Value* Graph::AddInput(Block* block, TypePtr type, std::string name) {
  Value* value = &values_.emplace_back(Value{std::move(type), std::move(name), nullptr, block});
  block->inputs.push_back(value);
  return value;
}

Node* Graph::Append(Block* block, std::string kind, std::string overload, std::vector<Value*> inputs) {
  Node* node = &nodes_.emplace_back();
  node->kind = std::move(kind);
  node->overload = std::move(overload);
  node->inputs = std::move(inputs);
  node->owner = block;
  block->nodes.push_back(node);
  return node;
}

Value* Graph::AddOutput(Node* node, TypePtr type, std::string name) {
  Value* value = &values_.emplace_back(Value{std::move(type), std::move(name), node, nullptr});
  node->outputs.push_back(value);
  return value;
}

Value* Graph::AppendConstant(Block* block, Constant value, TypePtr type, std::string name) {
  Node* node = Append(block, "prim::Constant", "", {});
  node->attributes.push_back({"value", std::move(value)});
  return AddOutput(node, std::move(type), std::move(name));
}

}  // namespace flambeau::torchscript
