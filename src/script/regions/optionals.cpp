// Operators on what is None on some paths only, or a flag that paths decide:
// called on each of them.
#include <algorithm>

#include "aten/schema.h"
#include "script/views/squeeze.h"

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

Value* Evaluator::NameOf(Val value) {
  Value* made = added_.AddName();
  Bind(made, std::move(value));
  return made;
}

// if present: y = op(value), else y = op(None). The arguments are the same names: the paths say which of them are None.
const Node* Evaluator::OnEachPath(const Node& node, ValueId condition) {
  Node* branch = added_.AppendFor(node, added_.AddBlock(), "prim::If", "", {NameOf(NumberVal{condition})});
  branch->outputs = node.outputs;
  for (int path = 0; path < 2; ++path) {
    Block* block = added_.AddBlock();
    Node* call = added_.AppendFor(node, block, node.kind, node.overload, node.inputs);
    block->outputs = call->outputs;
    branch->blocks.push_back(block);
  }
  return branch;
}

Result<Vals> Evaluator::CallOnEachPath(const Node& node, ValueId condition) {
  return Branch(*OnEachPath(node, condition), NumberVal{condition}, {});
}

// The call as such an If, where what follows is to be walked on each path by itself.
const Node* Evaluator::Parted(const Node& node) {
  if (node.kind == "prim::If" || node.kind == "prim::Loop" || !apart_.contains(added_.SourceOf(node))) return nullptr;
  Vals arguments;
  for (const Value* input : node.inputs) arguments.push_back(emitter_.Settled(ValueOf(input)));
  const auto branch = Squeeze::Is(node) ? Squeeze(*this, node, arguments).Part() : BranchOnNumber(node, arguments);
  if (!branch || *branch != nullptr) return branch ? *branch : nullptr;
  if (Squeeze::Is(node)) return nullptr;
  const auto condition = WhatDecides(node, arguments);
  return condition && !emitter_.Known(*condition) ? OnEachPath(node, *condition) : nullptr;
}

}  // namespace flambeau::script
