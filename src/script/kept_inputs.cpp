// Inputs of which a model computes nothing, but which torch's exporter of TorchScript keeps, and so its users count on.
// Of a tensor with a dynamic size it reads all sizes when the model runs, those that are numbers here, too; and what
// is copied to a tensor it puts into that, all of it or not.
#include <algorithm>

#include "script/evaluator.h"
#include "script/liveness.h"

namespace flambeau::script {

void Evaluator::NoteSizeRead(const Node& node, TensorVal tensor) {
  const ExprPool& exprs = context().exprs();
  const Type& type = TypeOf(tensor);
  if (std::ranges::all_of(type.sizes, [&](Expr size) { return exprs.AsConstant(size).has_value(); })) return;
  if (!live_) live_ = LiveValues(source_);
  if (std::ranges::any_of(node.outputs, [&](const torchscript::Value* output) { return live_->contains(output); }))
    seem_read_.push_back(tensor.id);
}

void Evaluator::NoteWritten(TensorVal tensor) {
  Storages& storages = emitter_.storages();
  const ValueId whole = storages.Tensor(storages.StorageOf(tensor.id));
  if (program_.graph[whole].kind == ValueKind::kInput) seem_read_.push_back(whole);
}

void Evaluator::MarkKeptInputs() {
  const Graph& graph = program_.graph;
  std::vector<bool> seen(graph.value_capacity());
  std::vector<ValueId> pending = seem_read_;
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
  for (InputSpec& input : program_.inputs) input.seems_read = seen[input.value.index];
}

}  // namespace flambeau::script
