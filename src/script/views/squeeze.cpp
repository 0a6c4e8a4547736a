#include "script/views/squeeze.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::Value;

namespace {

constexpr size_t kMostOpenAxes = 3;  // of a squeeze: each doubles the paths

std::optional<std::vector<int64_t>> SqueezedAxes(std::span<const Val> arguments, int64_t rank, const Heap& heap) {
  std::vector<int64_t> axes;
  if (arguments.size() < 2) {
    for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  const auto* list = arguments[1].As<ListVal>();
  for (const Val& dim : list != nullptr ? std::span<const Val>(heap[list->cell].elements) : arguments.subspan(1, 1)) {
    const auto axis = dim.AsInt();
    if (!axis || *axis < -rank || *axis >= rank) return std::nullopt;
    axes.push_back(*axis < 0 ? *axis + rank : *axis);
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) return std::nullopt;
  return axes;
}

}  // namespace

bool Evaluator::Squeeze::Is(const Node& node) { return node.kind == "aten::squeeze" || IsInPlace(node); }
bool Evaluator::Squeeze::IsInPlace(const Node& node) { return node.kind == "aten::squeeze_"; }

Evaluator::Squeeze::Squeeze(Evaluator& evaluator, const Node& node, std::span<const Val> arguments)
    : evaluator_(evaluator), node_(node), arguments_(arguments), in_place_(IsInPlace(node)) {
  const auto* tensor = arguments.empty() ? nullptr : arguments[0].As<TensorVal>();
  ranked_ = tensor != nullptr && evaluator.TypeOf(*tensor).ranked;
  if (!ranked_) return;
  sizes_ = evaluator.TypeOf(*tensor).sizes;
  axes_ = SqueezedAxes(arguments, static_cast<int64_t>(sizes_.size()), evaluator.heap_);
}

// A size that the capture had as 1, or of which an If says that it is no more: the only place along it, and none for
// another size, so that the model says so.
Result<Val> Evaluator::Squeeze::TheOnly(const Val& tensor, int64_t axis) {
  Emitter& emit = evaluator_.emitter_;
  FLAMBEAU_TRY(const Val size, emit.Call1("aten::sym_size.int", {tensor, axis}));
  FLAMBEAU_TRY(const Val last, emit.Call1("_operator::sub", {size, int64_t{1}}));
  FLAMBEAU_TRY(const Val place, emit.Call1("_operator::mul", {size, last}));
  return emit.Call1("aten::select.int", {tensor, axis, place});
}

// A dynamic size, also one that is computed, for which the capture had 1.
bool Evaluator::Squeeze::WasOne(Expr size) const { return !IsConstant(size) && evaluator_.CapturedSize(size) == 1; }

// Of what the path or the slice that it comes from says that there are no more.
bool Evaluator::Squeeze::IsOneAtMost(Expr size) const {
  return !IsConstant(size) && (evaluator_.emitter_.facts().IsOneAtMost(size) || exprs().RangeOf(size).max <= 1);
}

bool Evaluator::Squeeze::MayBeOneOrMore(Expr size) const {
  const ExprPool::Range range = exprs().RangeOf(size);
  return !IsConstant(size) && !IsOneAtMost(size) && range.min <= 1 && range.max > 1;
}

// That nothing asks when the model runs whether the size is 1.
void Evaluator::Squeeze::WarnOfGuess(int64_t axis) const {
  evaluator_.sink_.Warning(DiagnosticKind::kFrozenDimension,
                           fmt::format("takes for granted that the size of dimension {}{} is not 1", axis,
                                       exprs().HasUnbacked(SizeOf(axis)) ? ", which data decides," : ""),
                           {}, "name the dimensions that are to go, or index them");
}

// The axes of which it is decided when the model runs whether they go, from the last to the first; none where sizes are
// known, or are none that the capture had as 1, that an If around asked for, or that data decides, and many nodes follow:
// there they are not 1.
std::vector<int64_t> Evaluator::Squeeze::AxesThatMayGo() {
  if (!axes_) return {};
  const Node* source = evaluator_.added_.SourceOf(node_);
  std::vector<int64_t> may_go;
  for (const int64_t axis : std::views::reverse(*axes_)) {
    const Expr size = SizeOf(axis);
    if (!MayBeOneOrMore(size)) continue;
    const bool was_one = axes_->size() == 1 && WasOne(size);  // of several, all that the capture had as 1 go
    if (was_one || evaluator_.returned_.contains(node_.outputs[0]) || evaluator_.apart_.contains(source) ||
        evaluator_.emitter_.facts().MayBeOne(size)) {
      may_go.push_back(axis);
    } else if ((exprs().HasUnbacked(size) || evaluator_.last_.contains(source)) && evaluator_.asks_sizes_) {
      evaluator_.asked_sizes_ = true;
      may_go.push_back(axis);
    } else {
      evaluator_.guessed_.push_back(source);
      if (!WasOne(size)) WarnOfGuess(axis);
    }
  }
  if (may_go.size() <= kMostOpenAxes) return may_go;
  evaluator_.sink_.Warning(DiagnosticKind::kFrozenDimension,
                           fmt::format("takes for granted that no size that it squeezes is 1, as {} of them are known at run time only", may_go.size()));
  return {};
}

Result<const Node*> Evaluator::Squeeze::Part() {
  const auto axes = AxesThatMayGo();
  return axes.empty() ? Result<const Node*>(nullptr) : Branch(axes);
}

// if is_one: y = x.select(dim, 0), else y = x; and so on in both, for the axes before it. In place x.set_(y), which shares its memory.
Result<const Node*> Evaluator::Squeeze::Branch(std::span<const int64_t> axes) {
  struct Pending {
    Node* branch;
    Value* tensor;
    size_t next;  // of the axes
  };
  Emitter& emit = evaluator_.emitter_;
  AddedNodes& added = evaluator_.added_;
  const Value& result = *node_.outputs[0];
  Vals known;  // axes that are left after those that are asked about
  FLAMBEAU_TRY(const Val whole, WithoutKnownOnes(axes, known));
  Value* start = in_place_ ? node_.inputs[0] : evaluator_.NameOf(whole);
  std::vector<Value*> tests;
  for (const Val& axis : known) {
    FLAMBEAU_TRY(const Val size, emit.Call1("aten::sym_size.int", {whole, axis}));
    FLAMBEAU_TRY(Val is_one, emit.Call1("_operator::eq", {size, int64_t{1}}));
    tests.push_back(evaluator_.NameOf(std::move(is_one)));
  }
  const auto branch_at = [&](Block* block, size_t i) {
    Node* branch = added.Append(node_, block, "prim::If", "", {tests[i]});
    branch->blocks = {added.AddBlock(), added.AddBlock()};
    added.SetSource(*branch, node_);
    return branch;
  };
  Node* outermost = branch_at(added.AddBlock(), 0);
  outermost->outputs = node_.outputs;
  std::vector<Pending> pending{{outermost, start, 0}};
  while (!pending.empty()) {
    const auto [branch, from, i] = pending.back();
    pending.pop_back();
    Value* axis = added.AppendConstant(branch->blocks[0], {*known[i].AsInt()});
    Value* first = added.AppendConstant(branch->blocks[0], {int64_t{0}});
    Node* select = added.Append(node_, branch->blocks[0], "aten::select", "int", {from, axis, first});
    Value* selected = added.AddOutput(select, result);
    if (in_place_) {
      Node* set = added.Append(node_, branch->blocks[0], "aten::set_", "source_Tensor", {from, selected});
      added.AddOutput(set, result);
    }
    Value* const results[] = {in_place_ ? from : selected, from};
    for (size_t way = 0; way < std::size(results); ++way) {
      if (i + 1 == tests.size()) {
        branch->blocks[way]->outputs = {results[way]};
        continue;
      }
      Node* inner = branch_at(branch->blocks[way], i + 1);
      branch->blocks[way]->outputs = {added.AddOutput(inner, result)};
      pending.push_back({inner, results[way], i + 1});
    }
  }
  return outermost;
}

// The tensor without the squeezed axes that are 1 as far as is known, all but `open`, which become `left`. In place it is itself without them.
Result<Val> Evaluator::Squeeze::WithoutKnownOnes(std::span<const int64_t> open, Vals& left) {
  left.assign(open.begin(), open.end());
  Val rest = arguments_[0];
  for (const int64_t axis : std::views::reverse(*axes_)) {
    const Expr size = SizeOf(axis);
    if (std::ranges::find(open, axis) != open.end()) continue;
    if (exprs().AsConstant(size) == 1) {
      FLAMBEAU_TRY(rest, evaluator_.emitter_.Call1(in_place_ ? "aten::squeeze_.dim" : "aten::squeeze.dim", {rest, axis}));
    } else if (WasOne(size) || IsOneAtMost(size)) {
      FLAMBEAU_TRY(Val only, TheOnly(rest, axis));
      if (in_place_) {
        FLAMBEAU_TRY(only, evaluator_.emitter_.Call1("aten::set_.source_Tensor", {rest, only}));
      }
      rest = std::move(only);
    } else {
      continue;
    }
    for (Val& after : left)
      if (*after.AsInt() > axis) after = *after.AsInt() - 1;
  }
  return rest;
}

Result<std::optional<Vals>> Evaluator::Squeeze::AtRunTime() {
  if (!ranked_) return std::optional<Vals>();
  FLAMBEAU_TRY(const Node* branch, Part());
  if (branch != nullptr) {
    const Val is_one = evaluator_.ValueOf(branch->inputs[0]);
    const bool returned = evaluator_.returned_.contains(node_.outputs[0]);
    FLAMBEAU_TRY(Vals results, returned ? evaluator_.BranchUntold(*branch, is_one) : evaluator_.DecideOrBranch(*branch, is_one));
    return std::optional(std::move(results));
  }
  const auto was_one = [&](int64_t axis) { return WasOne(SizeOf(axis)) || IsOneAtMost(SizeOf(axis)); };
  const auto may_be_one = [&](int64_t axis) { return MayBeOneOrMore(SizeOf(axis)); };
  evaluator_.assumes_sizes_ |= !axes_ || std::ranges::any_of(*axes_, may_be_one);
  if (!axes_ || std::ranges::none_of(*axes_, was_one)) return std::optional<Vals>();
  Vals others;
  if (in_place_) {
    FLAMBEAU_TRY(Val left, WithoutKnownOnes({}, others));
    return std::optional(Vals{std::move(left)});
  }
  Val rest = arguments_[0];
  for (const int64_t axis : std::views::reverse(*axes_)) {
    if (!was_one(axis)) {
      others.push_back(axis);
      continue;
    }
    FLAMBEAU_TRY(rest, TheOnly(rest, axis));
    for (Val& after : others) after = *after.AsInt() - 1;
  }
  FLAMBEAU_TRY(rest, evaluator_.emitter_.Call1("aten::squeeze.dims", {rest, evaluator_.List(std::move(others))}));
  return std::optional(Vals{std::move(rest)});
}

}  // namespace flambeau::script
