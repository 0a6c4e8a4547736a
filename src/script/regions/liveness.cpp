#include "script/regions/liveness.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "aten/schema.h"
#include "script/evaluator.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::Value;

bool HasEffect(const Node& node) {
  static constexpr std::string_view kTells[] = {"prim::RaiseException", "prim::Print", "aten::warn"};
  if (node.outputs.empty() && node.blocks.empty()) return std::ranges::find(kTells, node.kind) == std::end(kTells);
  const aten::Schema* schema = aten::FindSchema(OperatorName(node));
  return schema != nullptr && schema->has_writes();
}

namespace {

// From the end to the start, each node before those whose values it takes.
class Walk {
 public:
  explicit Walk(const torchscript::Graph& source) {
    Need(source.main->outputs);
    Enter(*source.main);
  }

  std::unordered_set<const Value*> Run() {
    while (!steps_.empty()) {
      const Step step = steps_.back();
      steps_.pop_back();
      if (step.node->blocks.empty()) {
        if (IsNeeded(*step.node) || HasEffect(*step.node)) Keep(*step.node);
      } else if (!step.entered) {
        EnterBlocks(*step.node);
      } else if (IsNeeded(*step.node) || kept_ != step.kept_before) {
        Keep(*step.node);
      }
    }
    return std::move(live_);
  }

 private:
  struct Step {
    const Node* node;
    bool entered = false;    // its blocks were walked
    size_t kept_before = 0;  // when they were entered
  };

  bool IsNeeded(const Node& node) const {
    return std::ranges::any_of(node.outputs, [&](const Value* output) { return live_.contains(output); });
  }
  void Need(const std::vector<Value*>& values) { live_.insert(values.begin(), values.end()); }
  void Keep(const Node& node) {
    Need(node.inputs);
    ++kept_;
  }
  void Enter(const Block& block) {
    for (const Node* node : block.nodes) steps_.push_back({node});
  }
  void EnterBlocks(const Node& node) {
    steps_.push_back({&node, true, kept_});
    for (const Block* block : node.blocks) {
      if (node.kind != "prim::If") Need(block->outputs);
      for (size_t i = 0; node.kind == "prim::If" && i < node.outputs.size(); ++i)
        if (live_.contains(node.outputs[i])) live_.insert(block->outputs[i]);
      Enter(*block);
    }
  }

  std::unordered_set<const Value*> live_;
  std::vector<Step> steps_;
  size_t kept_ = 0;
};

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

std::unordered_set<const Value*> LiveValues(const torchscript::Graph& source) { return Walk(source).Run(); }

std::unordered_set<const Value*> OnlyReturned(const torchscript::Graph& source) {
  const Block& main = *source.main;
  std::unordered_set<const Value*> returned(main.outputs.begin(), main.outputs.end()), used;
  const auto is_returned = [&](const Value* value) { return returned.contains(value) && !used.contains(value); };
  for (const Node* node : std::views::reverse(main.nodes)) {
    const bool packs = node->kind == "prim::TupleConstruct" || node->kind == "prim::TupleUnpack";
    if (packs && std::ranges::all_of(node->outputs, is_returned))
      returned.insert(node->inputs.begin(), node->inputs.end());
    else
      ForEachOperand(*node, [&](const Value* value) { used.insert(value); });
  }
  for (const Value* value : used) returned.erase(value);
  return returned;
}

std::unordered_set<const Node*> LastNodes(const torchscript::Graph& source) {
  constexpr size_t kMost = 16;
  std::unordered_set<const Node*> last;
  for (const Node* node : std::views::reverse(source.main->nodes)) {
    if (node->kind == "prim::Constant") continue;
    if (!node->blocks.empty() || last.size() == kMost) break;
    last.insert(node);
  }
  return last;
}

}  // namespace flambeau::script
