// A squeeze of a dimension whose size is known at run time only.

#include <algorithm>
#include <ranges>

#include "script/evaluator.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::Value;

namespace {

// Calls f for each value that a node uses, also in its blocks.
template <class F>
void ForEachOperand(const Node& node, F f) {
  std::vector<const Node*> pending{&node};
  while (!pending.empty()) {
    const Node& next = *pending.back();
    pending.pop_back();
    std::ranges::for_each(next.inputs, f);
    for (const Block* block : next.blocks) {
      std::ranges::for_each(block->outputs, f);
      pending.insert(pending.end(), block->nodes.begin(), block->nodes.end());
    }
  }
}

}  // namespace

// Elsewhere the rank that a squeeze leaves has to be one.
void Evaluator::FindReturned() {
  const Block& main = *source_.main;
  returned_.insert(main.outputs.begin(), main.outputs.end());
  std::unordered_set<const Value*> used;
  auto is_returned = [&](const Value* value) { return returned_.contains(value) && !used.contains(value); };
  for (const Node* node : std::views::reverse(main.nodes)) {
    const bool packs = node->kind == "prim::TupleConstruct" || node->kind == "prim::TupleUnpack";
    if (packs && std::ranges::all_of(node->outputs, is_returned))
      returned_.insert(node->inputs.begin(), node->inputs.end());
    else
      ForEachOperand(*node, [&](const Value* value) { used.insert(value); });
  }
  for (const Value* value : used) returned_.erase(value);
}

// if x.size(dim) == 1: y = x.select(dim, 0), else y = x; nullopt where the size
// is known, where more than the model's caller gets the result, and before opset
// 11, in which the branches of an If have one rank: there the size is not 1.
Result<std::optional<Vals>> Evaluator::SqueezeAtRunTime(const Node& node, std::span<const Val> arguments) {
  const auto* tensor = arguments.size() == 2 ? arguments[0].As<TensorVal>() : nullptr;
  const auto dim = arguments.size() == 2 ? arguments[1].AsInt() : std::nullopt;
  if (opset_ < 11 || tensor == nullptr || !dim || !returned_.contains(node.outputs[0])) return std::optional<Vals>();
  const Type& type = TypeOf(*tensor);
  const auto rank = type.ranked ? static_cast<int64_t>(type.rank()) : 0;
  const int64_t axis = *dim < 0 ? *dim + rank : *dim;
  if (axis < 0 || axis >= rank || context().exprs().AsConstant(type.sizes[static_cast<size_t>(axis)]))
    return std::optional<Vals>();
  FLAMBEAU_TRY(const Val size, emitter_.Call1("aten::sym_size.int", {*tensor, axis}));
  FLAMBEAU_TRY(const Val is_one, emitter_.Call1("_operator::eq", {size, int64_t{1}}));
  Block* block = added_.AddBlock();
  Node* branch = added_.Append(block, "prim::If", "", {});
  branch->scopes = node.scopes;
  branch->source = node.source;
  branch->blocks = {added_.AddBlock(), added_.AddBlock()};
  added_.AddOutput(branch, node.outputs[0]->type, node.outputs[0]->name);
  Value* first = added_.AppendConstant(branch->blocks[0], {int64_t{0}}, nullptr, "");
  Node* select = added_.Append(branch->blocks[0], "aten::select", "int", {node.inputs[0], node.inputs[1], first});
  select->scopes = node.scopes;
  select->source = node.source;
  branch->blocks[0]->outputs = {added_.AddOutput(select, node.outputs[0]->type, node.outputs[0]->name)};
  branch->blocks[1]->outputs = {node.inputs[0]};
  FLAMBEAU_TRY(Vals results, If(*branch, is_one));
  return std::optional(std::move(results));
}

}  // namespace flambeau::script
