#include <unordered_map>
#include <vector>

#include "reader/torchscript/emitter.h"

namespace flambeau::torchscript {
namespace {

// Which values are needed, starting at what runs for its effect or is returned.
// The results of a branch or loop are needed one by one.
class Needs {
 public:
  explicit Needs(Graph& graph) : graph_(graph) {}

  void Run() {
    Collect();
    for (Value* output : graph_.main->outputs) Need(output);
    while (!open_.empty()) {
      Value* value = open_.back();
      open_.pop_back();
      Spread(value);
    }
    for (Node* node : regions_) Prune(node);
  }

 private:
  static bool HasResults(const Node& node) { return node.kind == "prim::If" || node.kind == "prim::Loop"; }

  void Collect() {
    std::vector<Block*> blocks = {graph_.main};
    while (!blocks.empty()) {
      Block* block = blocks.back();
      blocks.pop_back();
      for (Node* node : block->nodes) {
        if (HasResults(*node)) {
          regions_.push_back(node);
          const size_t fixed = node->kind == "prim::Loop" ? 2 : 1;
          for (size_t i = 0; i < fixed; ++i) Need(node->inputs[i]);
          if (node->kind == "prim::Loop") {
            Block* body = node->blocks[0];
            Need(body->outputs[0]);
            for (size_t i = 1; i < body->inputs.size(); ++i) carried_[body->inputs[i]] = {node, i - 1};
          }
        } else {
          for (Value* input : node->inputs) Need(input);
          for (Block* body : node->blocks)
            for (Value* output : body->outputs) Need(output);
        }
        blocks.insert(blocks.end(), node->blocks.begin(), node->blocks.end());
      }
    }
  }

  void Need(Value* value) {
    if (needed_.emplace(value, true).second) open_.push_back(value);
  }
  bool IsNeeded(Value* value) const { return needed_.contains(value); }

  void Spread(Value* value) {
    if (const auto found = carried_.find(value); found != carried_.end()) {
      NeedSlot(found->second.first, found->second.second);
    } else if (value->node != nullptr && HasResults(*value->node)) {
      for (size_t i = 0; i < value->node->outputs.size(); ++i)
        if (value->node->outputs[i] == value) NeedSlot(value->node, i);
    }
  }
  void NeedSlot(Node* node, size_t slot) {
    if (node->kind == "prim::If") {
      for (Block* block : node->blocks) Need(block->outputs[slot]);
      return;
    }
    Need(node->inputs[slot + 2]);
    Need(node->blocks[0]->inputs[slot + 1]);
    Need(node->blocks[0]->outputs[slot + 1]);
  }

  void Prune(Node* node) {
    const bool loop = node->kind == "prim::Loop";
    std::vector<Value*> results;
    std::vector<std::vector<Value*>> outputs(node->blocks.size());
    std::vector<Value*> inputs(node->inputs.begin(), node->inputs.begin() + (loop ? 2 : 1)), carried;
    if (loop) {
      outputs[0].push_back(node->blocks[0]->outputs[0]);
      carried.push_back(node->blocks[0]->inputs[0]);
    }
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      if (!IsNeeded(node->outputs[i]) && !(loop && IsNeeded(node->blocks[0]->inputs[i + 1]))) continue;
      results.push_back(node->outputs[i]);
      for (size_t b = 0; b < node->blocks.size(); ++b) outputs[b].push_back(node->blocks[b]->outputs[i + (loop ? 1 : 0)]);
      if (!loop) continue;
      inputs.push_back(node->inputs[i + 2]);
      carried.push_back(node->blocks[0]->inputs[i + 1]);
    }
    node->outputs = std::move(results);
    node->inputs = std::move(inputs);
    for (size_t b = 0; b < node->blocks.size(); ++b) node->blocks[b]->outputs = std::move(outputs[b]);
    if (loop) node->blocks[0]->inputs = std::move(carried);
  }

  Graph& graph_;
  std::unordered_map<const Value*, bool> needed_;
  std::unordered_map<const Value*, std::pair<Node*, size_t>> carried_;  // inputs of loops' bodies
  std::vector<Value*> open_;
  std::vector<Node*> regions_;
};

}  // namespace

void DropUnusedResults(Graph& graph) { Needs(graph).Run(); }

}  // namespace flambeau::torchscript
