// A squeeze of a dimension whose size is known at run time only.

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "script/evaluator.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::Value;

namespace {

constexpr size_t kMostOpenAxes = 3;  // of a squeeze: each doubles the paths

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

// The axes of which it is decided when the model runs whether they go, from the last to the first; none where sizes are
// known, or are none that the capture had as 1, that an If around asked for, or that data decides, and more than the
// model's caller gets the result: there they are not 1.
std::vector<int64_t> Evaluator::AxesThatMayGo(const Node& node, std::span<const Val> arguments) {
  const auto* tensor = arguments.empty() ? nullptr : arguments[0].As<TensorVal>();
  if (tensor == nullptr || !TypeOf(*tensor).ranked) return {};
  const std::vector<Expr>& sizes = TypeOf(*tensor).sizes;
  const auto axes = SqueezedAxes(arguments, static_cast<int64_t>(sizes.size()));
  if (!axes) return {};
  const ExprPool& exprs = program_.context->exprs();
  std::vector<int64_t> may_go;
  for (int64_t axis : std::views::reverse(*axes)) {
    const Expr size = sizes[static_cast<size_t>(axis)];
    const ExprPool::Range range = exprs.RangeOf(size);
    if (exprs.AsConstant(size) || IsOneAtMost(size) || range.max <= 1 || range.min > 1) continue;
    const bool by_data = exprs.HasUnbacked(size);
    const bool was_one = axes->size() == 1 && WasOne(size);  // of several, all that the capture had as 1 go
    if (was_one || returned_.contains(node.outputs[0]) || apart_.contains(SourceOf(node)) || emitter_.facts().MayBeOne(size)) {
      may_go.push_back(axis);
    } else if (by_data && asks_data_) {
      asked_data_ = true;
      may_go.push_back(axis);
    } else {
      guessed_.push_back(SourceOf(node));
      if (by_data)
        sink_.Warning(DiagnosticKind::kFrozenDimension,
                      fmt::format("takes for granted that the size of dimension {}, which data decides, is not 1", axis));
    }
  }
  if (may_go.size() <= kMostOpenAxes) return may_go;
  sink_.Warning(DiagnosticKind::kFrozenDimension,
                fmt::format("takes for granted that no size that it squeezes is 1, as {} of them are known at run time only", may_go.size()));
  return {};
}

// if is_one: y = x.select(dim, 0), else y = x; and so on in both, for the axes before it.
Result<const Node*> Evaluator::SqueezeBranch(const Node& node, const Val& tensor, std::span<const int64_t> axes) {
  struct Pending {
    Node* branch;
    Value* tensor;
    size_t next;  // of the axes
  };
  Block* around = added_.AddBlock();
  Vals known;  // axes that are left after those that are asked about
  FLAMBEAU_TRY(const Val whole, WithoutKnownOnes(node, tensor, axes, known));
  Value* start = added_.AppendConstant(around, {false}, nullptr, "");
  Bind(start, whole);
  std::vector<Value*> tests;
  for (const Val& axis : known) {
    FLAMBEAU_TRY(const Val size, emitter_.Call1("aten::sym_size.int", {whole, axis}));
    FLAMBEAU_TRY(Val is_one, emitter_.Call1("_operator::eq", {size, int64_t{1}}));
    tests.push_back(added_.AppendConstant(around, {false}, nullptr, ""));
    Bind(tests.back(), std::move(is_one));
  }
  const auto branch_at = [&](Block* block, size_t i) {
    Node* branch = added_.Append(block, "prim::If", "", {tests[i]});
    branch->scopes = node.scopes;
    branch->source = node.source;
    branch->blocks = {added_.AddBlock(), added_.AddBlock()};
    rests_[branch] = {SourceOf(node), 0};
    return branch;
  };
  Node* outermost = branch_at(around, 0);
  outermost->outputs = node.outputs;
  std::vector<Pending> pending{{outermost, start, 0}};
  while (!pending.empty()) {
    const auto [branch, from, i] = pending.back();
    pending.pop_back();
    Value* axis = added_.AppendConstant(branch->blocks[0], {*known[i].AsInt()}, nullptr, "");
    Value* first = added_.AppendConstant(branch->blocks[0], {int64_t{0}}, nullptr, "");
    Node* select = added_.Append(branch->blocks[0], "aten::select", "int", {from, axis, first});
    select->scopes = node.scopes;
    select->source = node.source;
    Value* const results[] = {added_.AddOutput(select, node.outputs[0]->type, node.outputs[0]->name), from};
    for (size_t way = 0; way < std::size(results); ++way) {
      if (i + 1 == tests.size()) {
        branch->blocks[way]->outputs = {results[way]};
        continue;
      }
      Node* inner = branch_at(branch->blocks[way], i + 1);
      branch->blocks[way]->outputs = {added_.AddOutput(inner, node.outputs[0]->type, node.outputs[0]->name)};
      pending.push_back({inner, results[way], i + 1});
    }
  }
  return outermost;
}

// The tensor without the squeezed axes that are 1 as far as is known, all but `open`, which become `left`.
Result<Val> Evaluator::WithoutKnownOnes(const Node& node, const Val& tensor, std::span<const int64_t> open, Vals& left) {
  const std::vector<Expr> sizes = TypeOf(*tensor.As<TensorVal>()).sizes;
  Vals arguments;
  for (const Value* input : node.inputs) arguments.push_back(emitter_.Settled(ValueOf(input)));
  const ExprPool& exprs = program_.context->exprs();
  left.assign(open.begin(), open.end());
  Val rest = tensor;
  const auto axes = SqueezedAxes(arguments, static_cast<int64_t>(sizes.size()));
  for (int64_t axis : std::views::reverse(*axes)) {
    const Expr size = sizes[static_cast<size_t>(axis)];
    if (std::ranges::find(open, axis) != open.end()) continue;
    if (exprs.AsConstant(size) == 1) {
      FLAMBEAU_TRY(rest, emitter_.Call1("aten::squeeze.dim", {rest, axis}));
    } else if (WasOne(size) || IsOneAtMost(size)) {
      FLAMBEAU_TRY(rest, TheOnly(rest, axis));
    } else {
      continue;
    }
    for (Val& after : left)
      if (*after.AsInt() > axis) after = *after.AsInt() - 1;
  }
  return rest;
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
  if (const auto open = AxesThatMayGo(node, arguments); !open.empty()) {
    FLAMBEAU_TRY(const Node* branch, SqueezeBranch(node, arguments[0], open));
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
