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

// The dimensions that a squeeze looks at, none of them twice; nullopt where they are not known.
std::optional<std::vector<int64_t>> Evaluator::SqueezedAxes(std::span<const Val> arguments, int64_t rank) const {
  std::vector<int64_t> axes;
  if (arguments.size() < 2) {
    for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  const auto* list = arguments[1].As<ListVal>();
  for (const Val& dim : list != nullptr ? std::span<const Val>(heap_[list->cell].elements) : arguments.subspan(1, 1)) {
    const auto axis = dim.AsInt();
    if (!axis || *axis < -rank || *axis >= rank) return std::nullopt;
    axes.push_back(*axis < 0 ? *axis + rank : *axis);
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) return std::nullopt;
  return axes;
}

// A size that the capture had as 1, or of which an If says that it is no more: the only place along it, and none for
// another size, so that the model says so.
Result<Val> Evaluator::TheOnly(const Val& tensor, int64_t axis) {
  FLAMBEAU_TRY(const Val size, emitter_.Call1("aten::sym_size.int", {tensor, axis}));
  FLAMBEAU_TRY(const Val last, emitter_.Call1("_operator::sub", {size, int64_t{1}}));
  FLAMBEAU_TRY(const Val place, emitter_.Call1("_operator::mul", {size, last}));
  return emitter_.Call1("aten::select.int", {tensor, axis, place});
}

// A dynamic size, also one that is computed, for which the capture had 1.
bool Evaluator::WasOne(Expr size) const {
  const ExprPool& exprs = program_.context->exprs();
  return !exprs.AsConstant(size) && exprs.Evaluate(size, captured_) == 1;
}

// Of what the path or the slice that it comes from says that there are no more.
bool Evaluator::IsOneAtMost(Expr size) {
  const ExprPool& exprs = program_.context->exprs();
  return !exprs.AsConstant(size) && (emitter_.facts().IsOneAtMost(size) || exprs.RangeOf(size).max <= 1);
}

// The axis of which it is decided when the model runs whether it goes; nullopt where its size is known, or is none that
// the capture had as 1, or that an If around asked for, and more than the model's caller gets the result: there it is
// not 1.
std::optional<int64_t> Evaluator::AxisThatMayGo(const Node& node, std::span<const Val> arguments) {
  const auto* tensor = arguments.size() == 2 ? arguments[0].As<TensorVal>() : nullptr;
  if (tensor == nullptr || arguments[1].Is<ListVal>() || !TypeOf(*tensor).ranked) return std::nullopt;
  const std::vector<Expr>& sizes = TypeOf(*tensor).sizes;
  const auto axes = SqueezedAxes(arguments, static_cast<int64_t>(sizes.size()));
  if (!axes) return std::nullopt;
  const Expr size = sizes[static_cast<size_t>(axes->front())];
  const bool open = program_.context->exprs().RangeOf(size).max > 1 && !program_.context->exprs().AsConstant(size);
  if (IsOneAtMost(size)) return std::nullopt;
  const bool asked = WasOne(size) || returned_.contains(node.outputs[0]) || apart_.contains(SourceOf(node)) ||
                     emitter_.facts().MayBeOne(size);
  if (open && !asked) guessed_.push_back(SourceOf(node));
  return open && asked ? std::optional(axes->front()) : std::nullopt;
}

// if is_one: y = x.select(dim, 0), else y = x.
Result<const Node*> Evaluator::SqueezeBranch(const Node& node, const Val& tensor, int64_t axis) {
  FLAMBEAU_TRY(const Val size, emitter_.Call1("aten::sym_size.int", {tensor, axis}));
  FLAMBEAU_TRY(Val is_one, emitter_.Call1("_operator::eq", {size, int64_t{1}}));
  Block* around = added_.AddBlock();
  Value* test = added_.AppendConstant(around, {false}, nullptr, "");
  Bind(test, std::move(is_one));
  Node* branch = added_.Append(around, "prim::If", "", {test});
  branch->scopes = node.scopes;
  branch->source = node.source;
  branch->blocks = {added_.AddBlock(), added_.AddBlock()};
  branch->outputs = node.outputs;
  rests_[branch] = {SourceOf(node), 0};
  Value* first = added_.AppendConstant(branch->blocks[0], {int64_t{0}}, nullptr, "");
  Node* select = added_.Append(branch->blocks[0], "aten::select", "int", {node.inputs[0], node.inputs[1], first});
  select->scopes = node.scopes;
  select->source = node.source;
  branch->blocks[0]->outputs = {added_.AddOutput(select, node.outputs[0]->type, node.outputs[0]->name)};
  branch->blocks[1]->outputs = {node.inputs[0]};
  return branch;
}

// Whether one of the axes has a size that the capture, or an If around, takes for 1.
bool Evaluator::SqueezesOpenAxis(std::span<const Val> arguments) {
  const auto* tensor = arguments.empty() ? nullptr : arguments[0].As<TensorVal>();
  if (tensor == nullptr || !TypeOf(*tensor).ranked) return false;
  const std::vector<Expr>& sizes = TypeOf(*tensor).sizes;
  const auto axes = SqueezedAxes(arguments, static_cast<int64_t>(sizes.size()));
  return axes && std::ranges::any_of(*axes, [&](int64_t axis) {
           const Expr size = sizes[static_cast<size_t>(axis)];
           return !program_.context->exprs().AsConstant(size) &&
                  (WasOne(size) || emitter_.facts().MayBeOne(size));
         });
}

Result<std::optional<Vals>> Evaluator::SqueezeAtRunTime(const Node& node, std::span<const Val> arguments) {
  const auto* tensor = arguments.empty() ? nullptr : arguments[0].As<TensorVal>();
  if (tensor == nullptr || !TypeOf(*tensor).ranked) return std::optional<Vals>();
  if (const auto axis = AxisThatMayGo(node, arguments)) {
    FLAMBEAU_TRY(const Node* branch, SqueezeBranch(node, arguments[0], *axis));
    Val is_one = ValueOf(branch->inputs[0]);
    if (returned_.contains(node.outputs[0])) {
      FLAMBEAU_TRY(Vals results, If(*branch, is_one));
      return std::optional(std::move(results));
    }
    FLAMBEAU_TRY(const Block* taken, Decide(*branch, is_one));
    FLAMBEAU_TRY(Vals results, taken != nullptr ? EvaluateBlock(*taken) : Branch(*branch, is_one, {}));
    return std::optional(std::move(results));
  }
  const std::vector<Expr> sizes = TypeOf(*tensor).sizes;
  auto axes = SqueezedAxes(arguments, static_cast<int64_t>(sizes.size()));
  const ExprPool& exprs = program_.context->exprs();
  auto was_one = [&](int64_t axis) {
    const Expr size = sizes[static_cast<size_t>(axis)];
    return WasOne(size) || IsOneAtMost(size);
  };
  auto may_be_one = [&](int64_t axis) {
    const Expr size = sizes[static_cast<size_t>(axis)];
    const ExprPool::Range range = exprs.RangeOf(size);
    return range.min <= 1 && range.max > 1 && !exprs.AsConstant(size) && !IsOneAtMost(size);
  };
  assumes_sizes_ |= !axes || std::ranges::any_of(*axes, may_be_one);
  if (!axes || std::ranges::none_of(*axes, was_one)) return std::optional<Vals>();
  Val rest = arguments[0];
  Vals others;
  for (size_t i = axes->size(); i-- > 0;) {
    const int64_t axis = (*axes)[i];
    if (!was_one(axis)) {
      others.push_back(axis);
      continue;
    }
    FLAMBEAU_TRY(rest, TheOnly(rest, axis));
    for (Val& after : others) after = *after.AsInt() - 1;
  }
  FLAMBEAU_TRY(rest, emitter_.Call1("aten::squeeze.dims", {rest, List(std::move(others))}));
  return std::optional(Vals{std::move(rest)});
}

}  // namespace flambeau::script
