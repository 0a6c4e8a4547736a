// prim::Loop: unrolled where its rounds are known and few, else a nested graph.
#include <fmt/format.h>

#include <algorithm>

#include "script/regions/region.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;

namespace {

constexpr uint64_t kMaxUnrolledNodes = 20000;
constexpr int kMaxRounds = 12;  // until the types of what a loop carries settle
constexpr int kMaxRoundsApart = 8;
// Of a nest: what loops within others carry is found anew each time that the body around them is walked.
constexpr size_t kMaxWalks = 20000;

class Nested {
 public:
  explicit Nested(int& depth) : depth_(depth) { ++depth_; }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;

 private:
  int& depth_;
};

// How many rounds a loop has at most, if they are few enough to be walked apart; a loop that ends by its condition may have as few.
std::optional<int> FewRounds(const Val& trips) {
  const std::optional<int64_t> count = trips.AsInt();
  if (!count) return std::nullopt;
  if (*count >= INT64_MAX - kMaxRoundsApart) return kMaxRoundsApart;
  return *count <= kMaxRoundsApart ? std::optional(static_cast<int>(*count)) : std::nullopt;
}

// In a round, its number is below that of all rounds: so `x[i:i + 1]` of a tensor with a row for each round is one row. Ranges are said of
// sums as they come up, and what a slice compares is no more than these apart.
void SayBelow(ExprPool& exprs, Expr round, Expr rounds) {
  if (const auto count = exprs.AsConstant(rounds)) {
    if (*count > 0 && *count < INT64_MAX) exprs.SetRange(round, {0, *count - 1});
    return;
  }
  if (exprs.kind(rounds) == ExprKind::kMax && exprs.operands(rounds).size() == 2)  // of range(1, n): there are some
    for (const size_t i : {size_t{0}, size_t{1}})
      if (exprs.AsConstant(exprs.operands(rounds)[i]).value_or(1) <= 0) return SayBelow(exprs, round, exprs.operands(rounds)[1 - i]);
  const Expr left = exprs.Sub(exprs.Sub(rounds, round), exprs.Constant(1));
  for (const int64_t more : {0, 1, 2}) {
    const Expr least = exprs.Add(left, exprs.Constant(more));
    exprs.SetRange(least, {more, exprs.RangeOf(least).max});
    const Expr most = exprs.Sub(exprs.Constant(0), least);
    exprs.SetRange(most, {exprs.RangeOf(most).min, -more});
  }
}

}  // namespace

Result<Vals> Evaluator::Loop(const Node& node, std::span<const Val> arguments) {
  if (node.blocks.size() != 1 || arguments.size() != node.outputs.size() + 2 ||
      node.blocks[0]->inputs.size() != node.outputs.size() + 1 ||
      node.blocks[0]->outputs.size() != node.outputs.size() + 1)
    return sink_.Error(DiagnosticKind::kBadProgram, "has not one block that fits its inputs and outputs");
  const std::optional<bool> first = KnownBool(arguments[1]);
  const auto* trips = arguments[0].As<int64_t>();
  if ((first && !*first) || (trips != nullptr && *trips <= 0)) return Vals(arguments.begin() + 2, arguments.end());
  if (AlwaysRaises(*node.blocks[0]) && !HasRound(arguments)) return Vals(arguments.begin() + 2, arguments.end());  // then it has none
  if (first && trips != nullptr) {
    const bool counted = *trips < INT64_MAX;
    const uint64_t size = node.blocks[0]->nodes.size() + 1;
    const auto failed = too_many_.find(&node);
    const bool hopeless = failed != too_many_.end() && *trips >= failed->second;
    if (!hopeless && (!counted || static_cast<uint64_t>(*trips) <= kMaxUnrolledNodes / size)) {
      const size_t lossy = lossy_.size();
      auto unrolled = Unroll(node, arguments);
      // What paths lost in a round is lost from there on, and is not on each way through the rounds by itself.
      if (lossy_.size() > lossy && (!unrolled || *unrolled)) NoteUncarried(node, arguments[0]);
      if (!unrolled) return kFailure;
      if (*unrolled) return **std::move(unrolled);
    }
  }
  return EmitLoop(node, arguments);
}

// The values after all rounds; nullopt where a condition is not known, or the
// rounds are too many.
Result<std::optional<Vals>> Evaluator::Unroll(const Node& node, std::span<const Val> arguments) {
  const Block& block = *node.blocks[0];
  const Snapshot before = Save();
  const uint32_t nodes = emitter_.node_count();
  const int64_t trips = *arguments[0].As<int64_t>();
  Vals carried(arguments.begin() + 2, arguments.end());
  uint64_t steps = 0;
  const int64_t first = added_.RoundsBefore(node);
  for (int64_t i = 0; i < trips; ++i) {
    Bind(block.inputs[0], first + i);
    for (size_t k = 0; k < carried.size(); ++k) Bind(block.inputs[k + 1], carried[k]);
    FLAMBEAU_TRY(Vals outputs, EvaluateBlock(block));
    if (sink_.HasErrors()) return kFailure;
    const std::optional<bool> again = KnownBool(outputs[0]);
    carried.assign(outputs.begin() + 1, outputs.end());
    if (again && !*again) break;
    steps += block.nodes.size() + 1;
    if (!again || steps > kMaxUnrolledNodes || emitter_.node_count() - nodes > 4 * kMaxUnrolledNodes) {
      if (again && i + 1 == trips) break;
      if (again) too_many_[&node] = trips;  // each loop around this one would find out anew
      Restore(before);
      return std::optional<Vals>();
    }
  }
  return std::optional<Vals>(std::move(carried));
}

// The body as a nested graph. What it carries is found by walking it until
// nothing new turns up.
Result<Vals> Evaluator::EmitLoop(const Node& node, std::span<const Val> arguments) {
  const Snapshot before = Save();
  const size_t lossy = lossy_.size(), reported = sink_.diagnostics().size();
  const std::span<const Val> initial = arguments.subspan(2);
  // What turns out to be the same in each round is not carried.
  Region region{*this};
  for (const Val& value : initial) {
    if (value.Is<int64_t>() && *value.AsInt() >= 0) region.counters.insert(region.values.size());
    region.values.push_back(Skeleton::Of(value, emitter_, heap_, heap_.size()));
  }
  if (open_loops_ == 0) walked_rounds_ = 0;
  const Nested nested(open_loops_);
  BlockId body;
  for (int round = 0;; ++round) {
    if (round == kMaxRounds)
      return Unsupported("carries values whose types do not settle from one round of the loop to the next");
    if (++walked_rounds_ > kMaxWalks)
      return sink_.Error(DiagnosticKind::kLimitExceeded,
                         fmt::format("is in a nest of loops whose bodies are walked more than {} times to find what they carry", kMaxWalks));
    Restore(before);
    emitter_.SetOrigin(OriginOf(node));
    FLAMBEAU_CHECK_OK(region.Learn(initial, before));
    body = emitter_.BeginBlock();
    const auto settled = WalkRound(node, region, before);
    emitter_.LeaveBlock(body);
    if (!settled && raised_ && !sink_.HasErrors() && !HasRound(arguments)) {  // then it has none
      Restore(before);
      emitter_.DiscardBlocksFrom(body);
      LeaveOutWhatRaised(reported);
      lossy_.resize(lossy);
      return Vals(initial.begin(), initial.end());
    }
    if (!settled && raised_) return RaiseAgain();
    if (!settled) NoteUncarried(node, arguments[0]);
    if (!settled) return kFailure;
    if (*settled) break;
    emitter_.DiscardBlock(body);
  }
  const bool assumes_sizes = assumes_sizes_;
  Restore(before);
  assumes_sizes_ = assumes_sizes;
  return CallLoop(arguments, body, region);
}

// That another walk may take each of the rounds by itself, if they are few.
void Evaluator::NoteUncarried(const Node& node, const Val& trips) {
  if (const auto rounds = FewRounds(trips)) uncarried_.emplace(added_.SourceOf(node), added_.RoundsBefore(node) + *rounds);
}

// Whether the loop has a round for sure.
bool Evaluator::HasRound(std::span<const Val> arguments) const {
  return arguments[0].AsInt().value_or(0) > 0 && KnownBool(arguments[1]).value_or(false);
}

// The body in the block at hand, for what the region says that it carries. Whether that was all: then the block has its outputs.
Result<bool> Evaluator::WalkRound(const Node& node, Region& region, const Snapshot& before) {
  const Block& block = *node.blocks[0];
  FLAMBEAU_TRY(const ValueId round, EnterRound(node, region));
  const Snapshot entered = Save();
  FLAMBEAU_TRY(const Vals outputs, EvaluateBlock(block));
  if (sink_.HasErrors()) return kFailure;
  const std::span<const Val> results = std::span(outputs).subspan(1);
  const auto taken = region.TakeIn(results, entered, before);
  if (!taken) Lose(node);  // the first round may be what changes a shape in place
  FLAMBEAU_TRY(bool changed, taken);
  Vals carried;
  for (size_t i = 1; i < block.inputs.size(); ++i) carried.push_back(ValueOf(block.inputs[i]));
  if (!changed) changed = !region.KeepCounters(carried, results);
  if (changed) region.kinship = {};  // of other parts
  if (changed && region.types_lossy()) Lose(node);
  // What is written at a place that was a constant as yet says little.
  if (changed && std::ranges::any_of(region.counters, [&](size_t i) { return carried[i].AsInt() != results[i].AsInt(); })) return false;
  FLAMBEAU_TRY(const bool news, region.Learn(results, before, round));
  if (changed || news) return false;
  emitter_.SetOrigin(OriginOf(node));
  std::vector<ValueId> leaves;
  FLAMBEAU_TRY(const ValueId again, Predicate(outputs[0]));
  leaves.push_back(again);
  FLAMBEAU_CHECK_OK(region.AppendLeaves(results, leaves));
  emitter_.graph().SetOutputs(emitter_.block(), leaves);
  return true;
}

// The inputs of the block at hand: the number of the round, which is given back, and what is carried.
Result<ValueId> Evaluator::EnterRound(const Node& node, const Region& region) {
  const Block& block = *node.blocks[0];
  Type iteration = Type::OfInt(emitter_.FreshSize());
  const Val rounds_in_all = ValueOf(node.inputs[0]);
  if (const auto count = rounds_in_all.AsInt()) {
    SayBelow(context().exprs(), iteration.contents->front(), context().exprs().Constant(*count));
  } else if (const auto* number = rounds_in_all.As<NumberVal>(); number != nullptr && emitter_.TypeOf(number->id).contents) {
    SayBelow(context().exprs(), iteration.contents->front(), emitter_.TypeOf(number->id).contents->front());
  }
  const ValueId round = emitter_.AddBlockInput(std::move(iteration));
  emitter_.storages().AddRoundNumber(round, round, 0);
  Val index = NumberVal{round};
  if (const int rounds = added_.RoundsBefore(node); rounds > 0) {
    FLAMBEAU_TRY(index, emitter_.Call1("_operator::add", {index, int64_t{rounds}}));
    if (const auto* number = index.As<NumberVal>()) emitter_.storages().AddRoundNumber(number->id, round, 1);
  }
  Bind(block.inputs[0], std::move(index));
  std::vector<ValueId> inputs;
  for (Type& type : region.Types()) inputs.push_back(emitter_.AddBlockInput(std::move(type)));
  FLAMBEAU_TRY(const Vals carried, region.Build(inputs, round));
  for (size_t i = 0; i < carried.size(); ++i) Bind(block.inputs[i + 1], carried[i]);
  for (const size_t i : region.counters)
    if (const auto* number = carried[i].As<NumberVal>()) emitter_.storages().AddRoundNumber(number->id, round, static_cast<uint32_t>(2 + i));
  return round;
}

Result<Vals> Evaluator::CallLoop(std::span<const Val> arguments, BlockId body, const Region& region) {
  std::vector<ValueId> operands;
  const auto* trips = arguments[0].As<NumberVal>();
  operands.push_back(trips != nullptr ? trips->id : emitter_.Materialise(arguments[0]));
  FLAMBEAU_TRY(const ValueId first, Predicate(arguments[1]));
  operands.push_back(first);
  FLAMBEAU_CHECK_OK(region.AppendLeaves(arguments.subspan(2), operands));
  std::vector<Type> types = region.Types();
  // Afterwards integers have values of their own.
  for (Type& type : types)
    if (type.kind == TypeKind::kInt) type.contents = std::vector<Expr>{emitter_.FreshInteger()};
  if (types.empty()) {
    emitter_.DiscardBlock(body);
    return region.Build({});
  }
  OperandList list;
  for (uint32_t i = 2; i < operands.size(); ++i) list.push_back(Operand{i});
  auto name = [&](std::string_view text) { return context().Intern(text); };
  const std::vector<ValueId> leaves = emitter_.CallWithBlocks(
      "prim::Loop", std::move(operands),
      {{name("max_trip_count"), Operand{0}}, {name("condition"), Operand{1}}, {name("carried"), std::move(list)}, {name("body"), body}},
      types);
  return region.Build(leaves);
}

}  // namespace flambeau::script
