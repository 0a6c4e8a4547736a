#include "script/inputs/kept_inputs.h"

#include <algorithm>

#include "script/evaluator.h"
#include "script/regions/liveness.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::TypeKind;

namespace {

constexpr int kFirstOpsetOfOptionals = 15;

using Values = std::unordered_set<const torchscript::Value*>;

bool AsksForNone(const Node& node) { return node.kind == "aten::__is__" || node.kind == "aten::__isnot__"; }

// What is known of a tensor without it.
bool IsOfTypes(const Node& node) {
  static constexpr std::string_view kKinds[] = {"aten::dim", "aten::is_floating_point", "aten::size", "prim::device", "prim::dtype"};
  return std::ranges::find(kKinds, node.kind) != std::end(kKinds);
}

// The nodes of a block and of those in it, in order.
template <typename Visit>
void ForEachNode(const Block& outer, Visit visit) {
  std::vector<const Node*> pending;
  const auto enter = [&](const Block& block) { pending.insert(pending.end(), block.nodes.rbegin(), block.nodes.rend()); };
  enter(outer);
  while (!pending.empty()) {
    const Node& node = *pending.back();
    pending.pop_back();
    visit(node);
    for (auto block = node.blocks.rbegin(); block != node.blocks.rend(); ++block) enter(**block);
  }
}

// Through a loop's rounds, each of which may refine the type.
void CarryParts(const Node& node, Values& parts) {
  if (node.kind != "prim::Loop" || node.blocks.size() != 1) return;
  const auto& inside = node.blocks[0]->inputs;
  for (size_t i = 0; i < node.outputs.size() && i + 2 < node.inputs.size() && i + 1 < inside.size(); ++i)
    if (parts.contains(node.inputs[i + 2])) parts.insert({inside[i + 1], node.outputs[i]});
}

// The flags that torch's exporter does not decide: whether an optional input is None, and what follows from that.
Values FindUndecided(const torchscript::Graph& source) {
  Values parts(source.main->inputs.begin(), source.main->inputs.end()), undecided;  // parts of inputs
  const auto any_in = [](const Node& node, const Values& values) {
    return std::ranges::any_of(node.inputs, [&](const torchscript::Value* input) { return values.contains(input); });
  };
  ForEachNode(*source.main, [&](const Node& node) {
    if ((node.kind == "prim::TupleUnpack" || node.kind == "prim::TupleIndex") && any_in(node, parts))
      parts.insert(node.outputs.begin(), node.outputs.end());
    CarryParts(node, parts);
    const bool asks = AsksForNone(node) && std::ranges::any_of(node.inputs, [&](const torchscript::Value* input) {
      return parts.contains(input) && input->type != nullptr && input->type->kind == TypeKind::kOptional;
    });
    const bool follows = node.kind == "aten::__not__" || node.kind == "prim::If";
    if (asks || (follows && any_in(node, undecided))) undecided.insert(node.outputs.begin(), node.outputs.end());
  });
  return undecided;
}

}  // namespace

bool KeptInputs::IsLive(const torchscript::Value* value) {
  if (!live_) live_ = LiveValues(source_);
  return live_->contains(value);
}

bool KeptInputs::IsUndecided(const torchscript::Value* value) {
  if (evaluator_.opset() < kFirstOpsetOfOptionals) return false;
  if (!undecided_) undecided_ = FindUndecided(source_);
  return undecided_->contains(value);
}

void KeptInputs::NoteRead(const Val& val) {
  std::unordered_set<uint32_t> cells;  // a list may hold itself, or another one many times
  Vals pending{val};
  while (!pending.empty()) {
    const Val each = std::move(pending.back());
    pending.pop_back();
    if (const auto* tensor = each.As<TensorVal>()) read_.push_back(tensor->id);
    if (const auto* number = each.As<NumberVal>()) read_.push_back(number->id);
    if (const auto* tuple = each.As<TupleVal>()) pending.insert(pending.end(), tuple->elements->begin(), tuple->elements->end());
    if (const auto* list = each.As<ListVal>(); list != nullptr && cells.insert(list->cell).second) {
      const Cell& cell = evaluator_.heap()[list->cell];
      if (cell.sequence) read_.push_back(*cell.sequence);
      pending.insert(pending.end(), cell.elements.begin(), cell.elements.end());
    }
  }
}

void KeptInputs::NoteAsked(const Node& node, const Val& val) {
  if (!node.outputs.empty() && IsUndecided(node.outputs[0]) && IsLive(node.outputs[0])) NoteRead(val);
}

void KeptInputs::NoteLeftPath(const Node& branch, const Block& taken) {
  if (branch.inputs.empty() || !IsUndecided(branch.inputs[0]) || !IsLive(branch.inputs[0])) return;
  Values inside;
  const auto read = [&](const torchscript::Value* value) {
    if (!inside.contains(value)) NoteRead(evaluator_.ValueOf(value));
  };
  const auto read_outputs = [&](const Node& node, const Block& block) {
    for (size_t i = 0; i < std::min(node.outputs.size(), block.outputs.size()); ++i)
      if (IsLive(node.outputs[i])) read(block.outputs[i]);
  };
  const Block& left = *branch.blocks[branch.blocks[0] == &taken ? 1 : 0];
  ForEachNode(left, [&](const Node& node) {
    inside.insert(node.outputs.begin(), node.outputs.end());
    for (const Block* block : node.blocks) inside.insert(block->inputs.begin(), block->inputs.end());
  });
  ForEachNode(left, [&](const Node& node) {
    const bool is_live = HasEffect(node) || std::ranges::any_of(node.outputs, [&](const torchscript::Value* output) { return IsLive(output); });
    const auto* tensor = node.inputs.empty() || inside.contains(node.inputs[0]) ? nullptr : evaluator_.ValueOf(node.inputs[0]).As<TensorVal>();
    if (!is_live && node.blocks.empty()) return;
    if (node.kind == "aten::size" && tensor != nullptr) return NoteSizeRead(node, *tensor);
    if (IsOfTypes(node) || (AsksForNone(node) && is_live && !IsUndecided(node.outputs[0]))) return;
    std::ranges::for_each(node.inputs, read);
    for (const Block* block : node.blocks) read_outputs(node, *block);
  });
  read_outputs(branch, left);
}

void KeptInputs::NoteSizeRead(const Node& node, TensorVal tensor) {
  const ExprPool& exprs = evaluator_.context().exprs();
  const Type& type = evaluator_.TypeOf(tensor);
  if (std::ranges::all_of(type.sizes, [&](Expr size) { return exprs.AsConstant(size).has_value(); })) return;
  if (std::ranges::any_of(node.outputs, [&](const torchscript::Value* output) { return IsLive(output); }))
    read_.push_back(tensor.id);
}

void KeptInputs::NoteWritten(TensorVal tensor) {
  Storages& storages = evaluator_.emit().storages();
  const ValueId whole = storages.Tensor(storages.StorageOf(tensor.id));
  if (whole && evaluator_.emit().graph()[whole].kind == ValueKind::kInput) read_.push_back(whole);
}

void KeptInputs::Mark(Program::Impl& program) const {
  const Graph& graph = program.graph;
  std::vector<bool> seen(graph.value_capacity());
  std::vector<ValueId> pending = read_;
  const auto add = [&](const std::vector<ValueId>& values) { pending.insert(pending.end(), values.begin(), values.end()); };
  while (!pending.empty()) {
    const ValueId value = pending.back();
    pending.pop_back();
    if (!value || seen[value.index]) continue;
    seen[value.index] = true;
    const flambeau::Value& known = graph[value];
    const bool is_carried = known.kind == ValueKind::kInput && known.block != graph.main();
    const NodeId node = is_carried ? graph[known.block].owner : known.node;
    if (!node) continue;
    add(graph.operands(node));
    if (!is_carried) graph.ForEachBody(node, [&](BlockId body) { add(graph.outputs(body)); });
  }
  for (InputSpec& input : program.inputs) input.seems_read = seen[input.value.index];
}

}  // namespace flambeau::script
