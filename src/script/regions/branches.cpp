// Where paths of a program part and meet: prim::If. What is decided now is
// evaluated in place; else both branches become nested graphs, which give out
// everything that differs between them: results, tensors written in place,
// lists and attributes of modules. A path that raises is one that a model does
// not take: nothing is learnt from it, and the other one is taken for granted.
#include <algorithm>
#include <utility>

#include "reader/torchscript/types.h"
#include "script/regions/region.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::IsKind;
using torchscript::Node;
using torchscript::TypeKind;
using torchscript::TypePtr;

namespace {

constexpr int kMaxSeen = 100;  // blocks in each other that are looked into

bool AlwaysRaises(const Block& block, int depth) {
  return std::ranges::any_of(block.nodes, [&](const Node* node) {
    if (node->kind == "prim::RaiseException" || MakesTensorOfTensors(*node)) return true;
    return node->kind == "prim::If" && depth < kMaxSeen && !node->blocks.empty() &&
           std::ranges::all_of(node->blocks, [&](const Block* path) { return AlwaysRaises(*path, depth + 1); });
  });
}

}  // namespace

bool AlwaysRaises(const Block& block) { return AlwaysRaises(block, 0); }

// PyTorch looks at the type alone: it raises for an empty list, too.
bool MakesTensorOfTensors(const Node& node) {
  if ((node.kind != "aten::tensor" && node.kind != "aten::as_tensor") || node.inputs.empty()) return false;
  TypePtr type = node.inputs[0]->type;
  if (!IsKind(type, TypeKind::kList)) return false;
  while (IsKind(type, TypeKind::kList) && !type->elements.empty()) type = type->elements[0];
  return IsKind(type, TypeKind::kTensor);
}

void Evaluator::Restore(const Snapshot& snapshot) {
  emitter_.storages() = snapshot.storages;
  heap_ = snapshot.heap;
  emitter_.facts() = snapshot.facts;
  assumes_sizes_ = snapshot.assumes_sizes;
}

Failure Evaluator::Raise(const Node& node, std::string message) {
  if (emitter_.IsNested() && !assumes_sizes_) {
    raised_ = {&node, std::move(message)};
    return kFailure;
  }
  ContextScope scope(sink_, At(node));
  return sink_.Error(DiagnosticKind::kBadProgram, std::move(message));
}

// A call that is wrong for what is known of its operands raises in PyTorch, too: the model has no path there.
Failure Evaluator::RaiseIfPyTorchDoes(const Node& node, size_t reported) {
  const auto news = std::span(sink_.diagnostics()).subspan(reported);
  const auto is_of_program = [](const Diagnostic& each) { return each.kind == DiagnosticKind::kBadProgram; };
  if (news.empty() || !std::ranges::all_of(news, is_of_program)) return kFailure;
  std::string message = news.front().message;
  sink_.Truncate(reported);
  const Failure failure = Raise(node, std::move(message));
  if (raised_) raised_->by_call = !tried_.contains(&node);
  return failure;
}

// The model goes on without the path; what was reported on it does not count.
void Evaluator::LeaveOutWhatRaised(size_t reported) {
  const Raised raised = *std::exchange(raised_, std::nullopt);
  sink_.Truncate(reported);
  if (!raised.by_call) return;
  ContextScope scope(sink_, At(*raised.node));
  sink_.Warning(DiagnosticKind::kBadProgram, "leaves out the path that this is on, where PyTorch raises: " + raised.message);
}

Failure Evaluator::RaiseAgain() {
  const Raised raised = *std::exchange(raised_, std::nullopt);
  return Raise(*raised.node, raised.message);
}

Result<const Block*> Evaluator::Decide(const Node& node, Val& condition) {
  if (node.blocks.size() != 2 || node.blocks[0]->outputs.size() != node.outputs.size() ||
      node.blocks[1]->outputs.size() != node.outputs.size())
    return sink_.Error(DiagnosticKind::kBadProgram, "has not two blocks that fit its outputs");
  if (condition.Is<Undefined>() && !sink_.HasErrors())
    return UsesUndefined(*condition.As<Undefined>());
  if (const auto* tensor = condition.As<TensorVal>()) {
    FLAMBEAU_TRY(condition, emitter_.Call1("aten::Bool.Tensor", {*tensor}));
  }
  std::optional<bool> taken = KnownBool(condition);
  const bool raises = !taken && AlwaysRaises(*node.blocks[1]);
  if (!taken && AlwaysRaises(*node.blocks[0]) != raises) {
    taken = raises;
    if (const auto* number = condition.As<NumberVal>()) emitter_.facts().Assume(emitter_.graph(), number->id, *taken);
  }
  return taken ? static_cast<const Block*>(node.blocks[*taken ? 0 : 1]) : nullptr;
}

Result<Vals> Evaluator::DecideOrBranch(const Node& node, Val condition) {
  FLAMBEAU_TRY(const Block* taken, Decide(node, condition));
  return taken != nullptr ? EvaluateBlock(*taken) : Branch(node, condition, {});
}

Result<Vals> Evaluator::BranchUntold(const Node& node, Val condition) {
  const size_t lossy = lossy_.size();
  auto results = DecideOrBranch(node, std::move(condition));
  lossy_.resize(std::min(lossy, lossy_.size()));
  return results;
}

// Both branches as nested graphs, and in each of them what follows on it: the
// frames that `rest` says, to the end of the first one.
Result<Vals> Evaluator::Branch(const Node& node, const Val& condition, const std::vector<Frame>& rest) {
  const auto* predicate = condition.As<NumberVal>();
  if (condition.Is<Undefined>() && sink_.HasErrors()) return kFailure;
  if (predicate == nullptr)
    return sink_.Error(DiagnosticKind::kBadProgram, "has a condition that is no bool");
  const OriginId origin = OriginOf(node);
  const Snapshot before = Save();
  const size_t lossy = lossy_.size(), reported = sink_.diagnostics().size();
  const BlockId first = emitter_.NextBlock();
  const Bindings bound = BoundInRounds(rest);
  std::vector<Path> paths;
  // The one that raised before comes first: then the other is walked once.
  size_t& raising = raising_[added_.SourceOf(node)];
  for (const size_t i : {raising, 1 - raising}) {
    auto path = WalkPath(node, i, *predicate, rest);
    Restore(before);
    for (const auto& [value, val] : bound) Bind(value, val);
    if (raised_ && !sink_.HasErrors()) {  // what failed before may be why it raises
      raising = i;
      emitter_.DiscardBlocksFrom(first);
      LeaveOutWhatRaised(reported);
      lossy_.resize(lossy);
      return TakeFrom(node, 1 - i, *predicate, rest);
    }
    if (!path) return kFailure;
    paths.insert(i == 0 ? paths.begin() : paths.end(), *std::move(path));
  }
  if (sink_.HasErrors()) return kFailure;
  const size_t mine = lossy_.size();
  lossy_.push_back(added_.SourceOf(node));  // until it turns out that nothing is lost

  Region region{*this};
  const bool ends = !rest.empty() && rest.front().block == source_.main;
  FLAMBEAU_CHECK_OK(region.GiveOutRebound(paths, before, ends));
  FLAMBEAU_CHECK_OK(region.Join(paths, before));
  for (const Path& path : paths) FLAMBEAU_CHECK_OK(Close(path, origin, region, before));
  Restore(before);
  assumes_sizes_ = std::ranges::any_of(paths, [](const Path& path) { return path.after.assumes_sizes; });
  FLAMBEAU_TRY(Vals results, region.Build(CallBranches(*predicate, paths, region.Types())));
  if (region.Chooses()) guessed_.push_back(added_.SourceOf(node));
  if (!region.lossy()) lossy_.erase(lossy_.begin() + static_cast<ptrdiff_t>(mine));
  return results;
}

// What the frames have bound so far of a round that is walked by itself: the other rounds, on the way to the end, bind
// the same values.
Evaluator::Bindings Evaluator::BoundInRounds(const std::vector<Frame>& frames) {
  Bindings bound;
  const auto add = [&](const torchscript::Value* value) { bound.emplace_back(value, ValueOf(value)); };
  const auto round = std::ranges::find_if(frames, [&](const Frame& frame) { return given_.contains(frame.node); });
  for (auto frame = round; frame != frames.end(); ++frame) {
    std::ranges::for_each(frame->block->inputs, add);
    for (size_t i = 0; i < frame->next; ++i) std::ranges::for_each(frame->block->nodes[i]->outputs, add);
  }
  return bound;
}

// One of the branches, and what follows on it.
Result<Evaluator::Path> Evaluator::WalkPath(const Node& node, size_t which, NumberVal predicate, const std::vector<Frame>& rest) {
  const BlockId block = emitter_.BeginBlock();
  auto outputs = TakeFrom(node, which, predicate, rest);
  emitter_.LeaveBlock(block);
  if (!outputs) return kFailure;
  return Path{block, Save(), *std::move(outputs)};
}

// The same in the block at hand.
Result<Vals> Evaluator::TakeFrom(const Node& node, size_t which, NumberVal predicate, const std::vector<Frame>& rest) {
  emitter_.facts().Assume(emitter_.graph(), predicate.id, which == 0);
  std::vector<Frame> frames = rest;
  frames.push_back({node.blocks[which], 0, &node});
  return Walk(std::move(frames));
}

// Ends the block of the path with what the region says that it gives out.
Status Evaluator::Close(const Path& path, OriginId origin, Region& region, const Snapshot& before) {
  Restore(path.after);
  emitter_.SetOrigin(origin);
  emitter_.ReopenBlock(path.block);
  std::vector<ValueId> leaves;
  FLAMBEAU_CHECK_OK(region.AppendLeaves(path.outputs, leaves));
  FLAMBEAU_CHECK_OK(region.Learn(path.outputs, before));
  emitter_.EndBlock(leaves);
  return {};
}

std::vector<ValueId> Evaluator::CallBranches(NumberVal predicate, std::span<const Path> paths, const std::vector<Type>& types) {
  if (types.empty()) {
    for (const Path& path : paths) emitter_.DiscardBlock(path.block);
    return {};
  }
  auto name = [&](std::string_view text) { return context().Intern(text); };
  return emitter_.CallWithBlocks("higher_order::cond", {predicate.id},
                                 {{name("arg0"), Operand{0}},
                                  {name("arg1"), paths[0].block},
                                  {name("arg2"), paths[1].block},
                                  {name("arg3"), OperandList{}}},
                                 types);
}

// A condition as a bool of the program.
Result<ValueId> Evaluator::Predicate(const Val& value) {
  if (const auto* number = value.As<NumberVal>()) return number->id;
  if (const auto known = KnownBool(value)) return emitter_.Materialise(Val(*known));
  if (const auto* tensor = value.As<TensorVal>()) {
    FLAMBEAU_TRY(const Val converted, emitter_.Call1("aten::Bool.Tensor", {*tensor}));
    return Predicate(converted);
  }
  return sink_.Error(DiagnosticKind::kBadProgram, "has a condition that is no bool");
}

}  // namespace flambeau::script
