// Operators on what is None on some paths only, or a flag that paths decide:
// called on each of them.
#include <algorithm>

#include "aten/schema.h"
#include "script/evaluator.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::Value;

// Operators take None and flags at conversion.
std::optional<ValueId> Evaluator::WhatDecides(const Node& node, std::span<const Val> arguments) const {
  for (const Val& argument : arguments)
    if (const auto* optional = argument.As<OptionalVal>()) return optional->present;
  if (IsOnNumbers(node) && std::ranges::all_of(arguments, &Val::IsNumber)) return std::nullopt;
  const aten::Schema* schema = aten::FindSchema(OperatorName(node));
  for (size_t i = 0; schema != nullptr && i < std::min(arguments.size(), schema->arguments.size()); ++i) {
    const aten::SchemaType& type = schema->arguments[i].type;
    const auto* number = arguments[i].As<NumberVal>();
    if (number != nullptr && type.base == aten::BaseType::kBool && !type.list && emitter_.TypeOf(number->id).kind == TypeKind::kBool)
      return number->id;
  }
  return std::nullopt;
}

// if present: y = op(value), else y = op(None). The arguments are the same names: the paths say which of them are None.
Result<Vals> Evaluator::CallOnEachPath(const Node& node, ValueId condition) {
  const auto like = [&](Block* block, std::string kind, std::string overload, std::vector<Value*> inputs) {
    Node* made = added_.Append(block, std::move(kind), std::move(overload), std::move(inputs));
    made->scopes = node.scopes;
    made->source = node.source;
    for (const Value* output : node.outputs) (void)added_.AddOutput(made, output->type, output->name);
    return made;
  };
  Node* branch = like(added_.AddBlock(), "prim::If", "", {});
  for (int path = 0; path < 2; ++path) {
    Block* block = added_.AddBlock();
    Node* call = like(block, node.kind, node.overload, node.inputs);
    call->attributes = node.attributes;
    block->outputs = call->outputs;
    branch->blocks.push_back(block);
  }
  return If(*branch, NumberVal{condition});
}

}  // namespace flambeau::script
