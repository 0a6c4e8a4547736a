// Where paths of a program part and meet: prim::If and prim::Loop.
//
// What is decided now is evaluated in place; a loop of few known rounds is
// unrolled. Else the bodies become nested graphs, which give out everything
// that differs between the paths: results, tensors written in place, lists and
// attributes of modules.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "script/evaluator.h"
#include "script/kinship.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;

namespace {

constexpr uint64_t kMaxUnrolledNodes = 20000;
constexpr int kMaxRounds = 12;  // until the types of what a loop carries settle

// A branch that ends in an exception is one that a model does not take.
bool Raises(const Block& block) {
  return std::ranges::any_of(block.nodes, [](const Node* node) { return node->kind == "prim::RaiseException"; });
}

// A list or dict of the state before, as it is on a path.
Val Reference(const Heap& heap, uint32_t cell) {
  if (!heap[cell].entries.empty()) return DictVal{cell};
  return ListVal{cell};
}

}  // namespace

// What comes out of a region: its values, and the parts of the program's state
// that it changes, with what they look like afterwards. Leaves, types and parts
// are in the order of the members here.
struct Evaluator::Region {
  Evaluator& evaluator;
  std::vector<Skeleton> values;
  std::vector<std::pair<StorageId, Skeleton>> storages;
  std::vector<std::pair<uint32_t, Skeleton>> cells;                     // lists and dicts
  std::vector<std::tuple<uint32_t, std::string, Skeleton>> attributes;  // of objects
  Kinship kinship;

  bool HasStorage(StorageId id) const {
    return std::ranges::any_of(storages, [&](const auto& each) { return each.first == id; });
  }
  Skeleton* FindAttribute(uint32_t cell, std::string_view name) {
    for (auto& [of, known, skeleton] : attributes)
      if (of == cell && known == name) return &skeleton;
    return nullptr;
  }
  void AddStorage(StorageId id) {
    const Storages& all = evaluator.emitter_.storages();
    storages.emplace_back(id, Skeleton::OfTensor(evaluator.context()[all.type(all.Root(id))]));
  }

  // Whether less is known of what comes out than on each path alone.
  bool lossy() const { return !kinship.empty() || types_lossy(); }
  bool types_lossy() const {
    return std::ranges::any_of(values, &Skeleton::lossy) ||
           std::ranges::any_of(cells, [](const auto& each) { return each.second.lossy(); }) ||
           std::ranges::any_of(attributes, [](const auto& each) { return std::get<2>(each).lossy(); });
  }

  std::vector<Type> Types() const {
    std::vector<Type> types;
    for (const Skeleton& skeleton : values) skeleton.AppendTypes(types);
    for (const auto& [id, skeleton] : storages) skeleton.AppendTypes(types);
    for (const auto& [cell, skeleton] : cells) skeleton.AppendTypes(types);
    for (const auto& [cell, name, skeleton] : attributes) skeleton.AppendTypes(types);
    return types;
  }

  // What is to be given out in the state of now, in which `of` are the values.
  Status AppendLeaves(std::span<const Val> of, std::vector<ValueId>& leaves) const {
    Emitter& emit = evaluator.emitter_;
    const Heap& heap = evaluator.heap_;
    for (size_t i = 0; i < values.size(); ++i) FLAMBEAU_CHECK_OK(values[i].AppendLeaves(of[i], emit, heap, leaves));
    for (const auto& [id, skeleton] : storages) leaves.push_back(emit.Read(emit.storages().Root(id)));
    for (const auto& [cell, skeleton] : cells)
      FLAMBEAU_CHECK_OK(skeleton.AppendLeaves(Reference(heap, cell), emit, heap, leaves));
    for (const auto& [cell, name, skeleton] : attributes) {
      FLAMBEAU_TRY(const Val value, evaluator.GetAttribute(cell, name));
      FLAMBEAU_CHECK_OK(skeleton.AppendLeaves(value, emit, heap, leaves));
    }
    return {};
  }

  // Takes in what the state of now says of memory. Whether that was news.
  Result<bool> Learn(std::span<const Val> of, const Snapshot& before) {
    std::vector<Kinship::Part> parts;
    for (size_t i = 0; i < values.size(); ++i) AppendParts(values[i], of[i], false, parts);
    for (const auto& [cell, skeleton] : cells) AppendParts(skeleton, Reference(evaluator.heap_, cell), true, parts);
    for (const auto& [cell, name, skeleton] : attributes) {
      FLAMBEAU_TRY(const Val value, evaluator.GetAttribute(cell, name));
      AppendParts(skeleton, value, false, parts);
    }
    return kinship.Learn(parts, evaluator.emitter_.storages(), evaluator.heap_,
                         {before.storages.count(), before.heap.size()});
  }

  // The values made of the leaves; the state of now becomes what they say.
  Result<Vals> Build(std::span<const ValueId> leaves) const {
    Heap& heap = evaluator.heap_;
    std::vector<Kinship::Part> parts;
    size_t next = 0;
    Vals results;
    for (const Skeleton& skeleton : values) {
      results.push_back(skeleton.Build(leaves, next, heap));
      AppendParts(skeleton, results.back(), false, parts);
    }
    for (const auto& [id, skeleton] : storages) evaluator.emitter_.Write(id, leaves[next++]);
    for (const auto& [cell, skeleton] : cells) {
      const Val built = skeleton.Build(leaves, next, heap);
      const auto* list = built.As<ListVal>();
      const auto* dict = built.As<DictVal>();
      if (list == nullptr && dict == nullptr) {
        heap.Edit(cell).lost = true;
        continue;
      }
      AppendParts(skeleton, built, true, parts);
      const bool is_row = heap[cell].is_row;
      heap.Edit(cell) = Cell(heap[list != nullptr ? list->cell : dict->cell]);
      heap.Edit(cell).is_row = is_row;
    }
    for (const auto& [cell, name, skeleton] : attributes) {
      Val built = skeleton.Build(leaves, next, heap);
      AppendParts(skeleton, built, false, parts);
      FLAMBEAU_CHECK_OK(evaluator.SetAttribute(cell, name, std::move(built)));
    }
    kinship.Apply(parts, evaluator.emitter_.storages(), heap);
    return results;
  }

 private:
  void AppendParts(const Skeleton& skeleton, const Val& value, bool contents, std::vector<Kinship::Part>& parts) const {
    Vals found;
    skeleton.AppendParts(value, evaluator.emitter_, evaluator.heap_, found);
    for (Val& part : found) parts.push_back({std::move(part), std::exchange(contents, false)});
  }
};

void Evaluator::Restore(const Snapshot& snapshot) {
  emitter_.storages() = snapshot.storages;
  heap_ = snapshot.heap;
  emitter_.facts() = snapshot.facts;
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
  if (!taken && Raises(*node.blocks[0]) != Raises(*node.blocks[1])) taken = Raises(*node.blocks[1]);
  return taken ? static_cast<const Block*>(node.blocks[*taken ? 0 : 1]) : nullptr;
}

Result<Vals> Evaluator::If(const Node& node, Val condition) {
  FLAMBEAU_TRY(const Block* taken, Decide(node, condition));
  if (taken != nullptr) return EvaluateBlock(*taken);
  const size_t lossy = lossy_.size();
  auto results = Branch(node, condition, {});
  lossy_.resize(std::min(lossy, lossy_.size()));  // the program knows nothing of the node
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
  struct Path {
    BlockId block;
    Snapshot after;
    Vals outputs;
  };
  std::vector<Path> paths;
  for (const Block* block : node.blocks) {
    const BlockId id = emitter_.BeginBlock();
    emitter_.facts().Assume(emitter_.graph(), predicate->id, paths.empty());
    std::vector<Frame> frames = rest;
    frames.push_back({block, 0, &node});
    auto outputs = Walk(std::move(frames));
    emitter_.LeaveBlock();
    if (!outputs) return kFailure;
    paths.push_back({id, Save(), *std::move(outputs)});
    Restore(before);
  }
  if (sink_.HasErrors()) return kFailure;
  const size_t lossy = lossy_.size();
  lossy_.push_back(SourceOf(node));  // until it turns out that nothing is lost

  // What the two paths have in common, and what not. The heap that a skeleton
  // looks into is that of the path.
  const uint32_t known = before.heap.size();
  Region region{*this};
  for (size_t i = 0; i < paths[0].outputs.size(); ++i) {
    Restore(paths[0].after);
    region.values.push_back(Skeleton::Of(paths[0].outputs[i], emitter_, heap_, known));
    Restore(paths[1].after);
    (void)region.values.back().Unify(paths[1].outputs[i], emitter_, heap_);
  }
  for (const Path& path : paths) {
    const Storages::Difference difference = path.after.storages.Since(before.storages);
    if (difference.rebound) return Unsupported("changes the shape of a tensor in place, in a branch");
    for (const StorageId id : difference.written)
      if (!region.HasStorage(id)) region.AddStorage(id);
  }
  for (uint32_t cell = 0; cell < before.heap.size(); ++cell) {
    const bool changed = std::ranges::any_of(paths, [&](const Path& path) { return !path.after.heap.Same(before.heap, cell); });
    if (!changed) continue;
    const Cell& old = before.heap[cell];
    if (old.object || !paths[0].after.heap[cell].attributes.empty() || !paths[1].after.heap[cell].attributes.empty()) {
      // What a path only read is what it was.
      for (size_t p = 0; p < 2; ++p)
        for (const auto& [name, value] : paths[p].after.heap[cell].attributes) {
          if (region.FindAttribute(cell, name) != nullptr) continue;
          Restore(paths[p].after);
          Skeleton skeleton = Skeleton::Of(value, emitter_, heap_, known);
          Restore(paths[1 - p].after);
          auto other = GetAttribute(cell, name);
          if (!other) return kFailure;
          (void)skeleton.Unify(*other, emitter_, heap_);
          region.attributes.emplace_back(cell, name, std::move(skeleton));
        }
      continue;
    }
    const Val reference = Reference(paths[0].after.heap, cell);
    Restore(paths[0].after);
    Skeleton skeleton = Skeleton::Of(reference, emitter_, heap_);
    Restore(paths[1].after);
    (void)skeleton.Unify(Reference(heap_, cell), emitter_, heap_);
    region.cells.emplace_back(cell, std::move(skeleton));
  }

  for (const Path& path : paths) {
    Restore(path.after);
    emitter_.SetOrigin(origin);
    emitter_.ReopenBlock(path.block);
    std::vector<ValueId> leaves;
    FLAMBEAU_CHECK_OK(region.AppendLeaves(path.outputs, leaves));
    FLAMBEAU_CHECK_OK(region.Learn(path.outputs, before));
    emitter_.EndBlock(leaves);
  }
  Restore(before);

  const std::vector<Type> types = region.Types();
  std::vector<ValueId> leaves;
  if (types.empty()) {
    for (const Path& path : paths) emitter_.DiscardBlock(path.block);
  } else {
    auto name = [&](std::string_view text) { return context().Intern(text); };
    leaves = emitter_.CallWithBlocks("higher_order::cond", {predicate->id},
                                     {{name("arg0"), Operand{0}},
                                      {name("arg1"), paths[0].block},
                                      {name("arg2"), paths[1].block},
                                      {name("arg3"), OperandList{}}},
                                     types);
  }
  FLAMBEAU_TRY(Vals results, region.Build(leaves));
  if (!region.lossy()) lossy_.erase(lossy_.begin() + static_cast<ptrdiff_t>(lossy));
  return results;
}

// --- loops --------------------------------------------------------------------------------

Result<Vals> Evaluator::Loop(const Node& node, std::span<const Val> arguments) {
  if (node.blocks.size() != 1 || arguments.size() != node.outputs.size() + 2 ||
      node.blocks[0]->inputs.size() != node.outputs.size() + 1 ||
      node.blocks[0]->outputs.size() != node.outputs.size() + 1)
    return sink_.Error(DiagnosticKind::kBadProgram, "has not one block that fits its inputs and outputs");
  const std::optional<bool> first = KnownBool(arguments[1]);
  const auto* trips = arguments[0].As<int64_t>();
  if ((first && !*first) || (trips != nullptr && *trips <= 0)) return Vals(arguments.begin() + 2, arguments.end());
  if (first && trips != nullptr) {
    const bool counted = *trips < INT64_MAX;
    const uint64_t size = node.blocks[0]->nodes.size() + 1;
    const auto failed = too_many_.find(&node);
    const bool hopeless = failed != too_many_.end() && *trips >= failed->second;
    if (!hopeless && (!counted || static_cast<uint64_t>(*trips) <= kMaxUnrolledNodes / size)) {
      FLAMBEAU_TRY(auto unrolled, Unroll(node, arguments));
      if (unrolled) return *std::move(unrolled);
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
  const auto rest = rests_.find(&node);
  const int64_t first = rest != rests_.end() ? rest->second.rounds : 0;
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
  const Block& block = *node.blocks[0];
  const OriginId origin = OriginOf(node);
  const Snapshot before = Save();
  const std::span<const Val> initial = arguments.subspan(2);
  // What turns out to be the same in each round is not carried.
  Region region{*this};
  for (const Val& value : initial) region.values.push_back(Skeleton::Of(value, emitter_, heap_, heap_.size()));
  BlockId body;
  for (int round = 0;; ++round) {
    if (round == kMaxRounds)
      return Unsupported("carries values whose types do not settle from one round of the loop to the next");
    Restore(before);
    emitter_.SetOrigin(origin);
    FLAMBEAU_CHECK_OK(region.Learn(initial, before));
    body = emitter_.BeginBlock();
    Type iteration = Type::OfInt(emitter_.FreshSize());
    Val index = NumberVal{emitter_.AddBlockInput(std::move(iteration))};
    if (const auto rest = rests_.find(&node); rest != rests_.end()) {
      FLAMBEAU_TRY(index, emitter_.Call1("_operator::add", {index, int64_t{rest->second.rounds}}));
    }
    Bind(block.inputs[0], std::move(index));
    std::vector<ValueId> inputs;
    for (Type& type : region.Types()) inputs.push_back(emitter_.AddBlockInput(std::move(type)));
    FLAMBEAU_TRY(const Vals carried, region.Build(inputs));
    for (size_t i = 0; i < carried.size(); ++i) Bind(block.inputs[i + 1], carried[i]);
    const Snapshot entered = Save();

    auto walked = EvaluateBlock(block);
    if (!walked || sink_.HasErrors()) {
      emitter_.LeaveBlock();
      return kFailure;
    }
    const Vals& outputs = *walked;
    bool changed = false;
    const std::span<const Val> results = std::span(outputs).subspan(1);
    for (size_t i = 0; i < results.size(); ++i) changed = region.values[i].Unify(results[i], emitter_, heap_) || changed;
    const Storages::Difference difference = emitter_.storages().Since(entered.storages);
    if (difference.rebound) return Unsupported("changes the shape of a tensor in place, in a loop");
    for (const StorageId id : difference.written) {
      if (id.index >= before.storages.count() || region.HasStorage(id)) continue;
      region.AddStorage(id);
      changed = true;
    }
    for (uint32_t cell = 0; cell < before.heap.size(); ++cell) {
      if (heap_.Same(entered.heap, cell)) continue;
      if (heap_[cell].object || !heap_[cell].attributes.empty()) {
        const std::vector<std::pair<std::string, Val>> attributes = heap_[cell].attributes;
        for (const auto& [name, value] : attributes) {
          if (Skeleton* known = region.FindAttribute(cell, name)) {
            changed = known->Unify(value, emitter_, heap_) || changed;
            continue;
          }
          const Snapshot here = Save();
          Restore(entered);
          auto old = GetAttribute(cell, name);
          Restore(here);
          if (!old) return kFailure;
          Skeleton same = Skeleton::Of(*old, emitter_, entered.heap, before.heap.size());
          if (!same.Unify(value, emitter_, heap_)) continue;
          Skeleton skeleton = Skeleton::Of(*old, emitter_, entered.heap);
          (void)skeleton.Unify(value, emitter_, heap_);
          region.attributes.emplace_back(cell, name, std::move(skeleton));
          changed = true;
        }
        continue;
      }
      const auto known = std::ranges::find(region.cells, cell, &std::pair<uint32_t, Skeleton>::first);
      if (known != region.cells.end()) {
        changed = known->second.Unify(Reference(heap_, cell), emitter_, heap_) || changed;
        continue;
      }
      Skeleton skeleton = Skeleton::Of(Reference(before.heap, cell), emitter_, before.heap);
      (void)skeleton.Unify(Reference(heap_, cell), emitter_, heap_);
      region.cells.emplace_back(cell, std::move(skeleton));
      changed = true;
    }
    if (changed) region.kinship = {};  // of other parts
    if (changed && region.types_lossy()) Lose(node);
    FLAMBEAU_TRY(const bool news, region.Learn(results, before));
    if (changed || news) {
      emitter_.LeaveBlock();
      emitter_.DiscardBlock(body);
      continue;
    }
    // Settled: this walk's body is the one.
    emitter_.SetOrigin(origin);
    std::vector<ValueId> leaves;
    FLAMBEAU_TRY(const ValueId again, Predicate(outputs[0]));
    leaves.push_back(again);
    FLAMBEAU_CHECK_OK(region.AppendLeaves(results, leaves));
    emitter_.EndBlock(leaves);
    break;
  }

  Restore(before);
  std::vector<ValueId> operands;
  const auto* trips = arguments[0].As<NumberVal>();
  operands.push_back(trips != nullptr ? trips->id : emitter_.Materialise(arguments[0]));
  FLAMBEAU_TRY(const ValueId first, Predicate(arguments[1]));
  operands.push_back(first);
  FLAMBEAU_CHECK_OK(region.AppendLeaves(initial, operands));
  std::vector<Type> types = region.Types();
  // Afterwards integers have values of their own.
  for (Type& type : types)
    if (type.kind == TypeKind::kInt) type.contents = std::vector<Expr>{emitter_.FreshInteger()};
  OperandList list;
  for (uint32_t i = 2; i < operands.size(); ++i) list.push_back(Operand{i});
  auto name = [&](std::string_view text) { return context().Intern(text); };
  if (types.empty()) emitter_.DiscardBlock(body);
  const std::vector<ValueId> leaves = types.empty() ? std::vector<ValueId>() : emitter_.CallWithBlocks(
      "prim::Loop", std::move(operands),
      {{name("max_trip_count"), Operand{0}}, {name("condition"), Operand{1}}, {name("carried"), std::move(list)}, {name("body"), body}},
      types);
  return region.Build(leaves);
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
