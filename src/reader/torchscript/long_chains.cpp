#include "reader/torchscript/long_chains.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "reader/torchscript/types.h"

namespace flambeau::torchscript {
namespace {

constexpr size_t kLongest = 16;  // Ifs in each other
constexpr size_t kMost = 2000;   // more are refused for how deep they nest: each cut looks through all that follow

Node* LastIf(const Block& block) {
  Node* last = block.nodes.empty() ? nullptr : block.nodes.back();
  return last != nullptr && last->kind == "prim::If" && last->blocks.size() == 2 ? last : nullptr;
}

template <class F>
void ForEachBlock(Block* root, F f) {
  std::vector<Block*> pending = {root};
  while (!pending.empty()) {
    Block* block = pending.back();
    pending.pop_back();
    f(block);
    for (const Node* node : block->nodes) pending.insert(pending.end(), node->blocks.begin(), node->blocks.end());
  }
}

class Chains {
 public:
  explicit Chains(Graph& graph) : graph_(graph) {}

  void Run() {
    std::vector<Block*> blocks;  // each after that around it
    ForEachBlock(graph_.main, [&](Block* block) { blocks.push_back(block); });
    for (size_t i = blocks.size(); i-- > 0;)
      for (const Node* node : blocks[i]->nodes)
        if (node->kind == "prim::If") Measure(node);
    for (Block* block : blocks)
      for (size_t i = 0; i < block->nodes.size(); ++i) {
        const Node& node = *block->nodes[i];
        const size_t length = node.kind == "prim::If" && node.blocks.size() == 2 ? LengthOf(&node) : 0;
        if (length > kLongest && length <= kMost) Cut(block, i);
      }
  }

 private:
  // An If of the chain, and the path of it at whose end the next one stands.
  struct Link {
    Node* branch;
    size_t path;
    Block* on() const { return branch->blocks[path]; }
    Block* off() const { return branch->blocks[1 - path]; }
  };

  // How many Ifs are in each other from this one on, each at the end of a path.
  size_t LengthOf(const Node* branch) const { return lengths_.at(branch); }
  void Measure(const Node* branch) {
    size_t& length = lengths_[branch] = 1;
    for (const Block* path : branch->blocks)
      if (const Node* last = LastIf(*path)) length = std::max(length, LengthOf(last) + 1);
  }

  // Cuts the chain that begins at the place in the block, and leaves there what follows it.
  void Cut(Block* block, size_t at) {
    std::vector<Link> links;
    for (Node* branch = block->nodes[at]; links.size() < kLongest; branch = LastIf(*links.back().on())) {
      const Node *first = LastIf(*branch->blocks[0]), *second = LastIf(*branch->blocks[1]);
      const size_t path = first == nullptr || (second != nullptr && LengthOf(second) > LengthOf(first)) ? 1 : 0;
      links.push_back({branch, path});
    }
    Node* next = LastIf(*links.back().on());
    links.back().on()->nodes.pop_back();
    const std::vector<Value*> results = ResultsOfNext(links);
    const auto [constants, needed] = NeededOutside(links, next);
    Node* first = links.front().branch;
    std::vector<Value*> own = first->outputs;  // what the chain makes is what `rest` makes
    const std::vector<Value*> named = HandOn(links, needed);

    Node* rest = graph_.Append(block, "prim::If", "", {first->outputs[own.size()]});
    block->nodes.pop_back();
    block->nodes.insert(block->nodes.begin() + static_cast<ptrdiff_t>(at) + 1, rest);
    rest->scopes = first->scopes;
    rest->source = first->source;
    rest->blocks = {graph_.AddBlock(), graph_.AddBlock()};
    for (size_t i = 0; i < own.size(); ++i) {
      first->outputs[i] = graph_.AddOutput(first, own[i]->type, own[i]->name);
      first->outputs.pop_back();
      own[i]->node = rest;
    }
    rest->blocks[0]->outputs.assign(first->outputs.begin(), first->outputs.begin() + static_cast<ptrdiff_t>(own.size()));
    rest->outputs = std::move(own);
    std::unordered_map<Value*, Value*> moved;
    for (size_t i = 0; i < needed.size(); ++i) moved[needed[i]] = named[i];
    for (Value* constant : constants) {
      Node* copy = graph_.Append(rest->blocks[1], constant->node->kind, "", {});
      copy->attributes = constant->node->attributes;
      moved[constant] = graph_.AddOutput(copy, constant->type, constant->name);
    }
    rest->blocks[1]->nodes.push_back(next);
    next->owner = rest->blocks[1];
    rest->blocks[1]->outputs = results;
    ForEachBlock(rest->blocks[1], [&](Block* each) {
      for (Node* node : each->nodes) Replace(node->inputs, moved);
      Replace(each->outputs, moved);
    });
    for (size_t i = links.size(); i-- > 0;) Measure(links[i].branch);
    Measure(rest);
  }

  static void Replace(std::vector<Value*>& values, const std::unordered_map<Value*, Value*>& by) {
    for (Value*& value : values)
      if (const auto found = by.find(value); found != by.end()) value = found->second;
  }

  // What is made on the way to the next If, and is needed in it or given out after it; the constants by themselves.
  static std::pair<std::vector<Value*>, std::vector<Value*>> NeededOutside(const std::vector<Link>& links, Node* next) {
    std::unordered_set<Value*> made, seen;
    for (const Link& link : links)
      for (const Node* node : link.on()->nodes)
        if (&link == &links.back() || node != (&link + 1)->branch) made.insert(node->outputs.begin(), node->outputs.end());
    std::vector<Value*> constants, needed;
    const auto take = [&](const std::vector<Value*>& values) {
      for (Value* value : values) {
        if (!made.contains(value) || !seen.insert(value).second) continue;
        (value->node->kind == "prim::Constant" ? constants : needed).push_back(value);
      }
    };
    take(next->inputs);
    for (Block* path : next->blocks)
      ForEachBlock(path, [&](Block* block) {
        for (const Node* node : block->nodes) take(node->inputs);
        take(block->outputs);
      });
    for (const Link& link : links) take(link.on()->outputs);
    return {std::move(constants), std::move(needed)};
  }

  // What the chain gives out where it comes to the next If.
  static std::vector<Value*> ResultsOfNext(const std::vector<Link>& links) {
    std::vector<Value*> results = links.back().on()->outputs;
    for (size_t i = links.size() - 1; i-- > 0;) {
      std::unordered_map<Value*, Value*> by;
      for (size_t k = 0; k < results.size(); ++k) by[links[i + 1].branch->outputs[k]] = results[k];
      std::vector<Value*> outer = links[i].on()->outputs;
      Replace(outer, by);
      results = std::move(outer);
    }
    return results;
  }

  // Has each If say besides whether a case was met, and give out what is needed where none was. Returns that of the first one.
  std::vector<Value*> HandOn(const std::vector<Link>& links, const std::vector<Value*>& needed) {
    Value* met = nullptr;
    std::vector<Value*> values = needed;
    for (size_t i = links.size(); i-- > 0;) {
      const auto& [branch, path] = links[i];
      Block *on = links[i].on(), *off = links[i].off();
      if (met == nullptr) {
        for (Value*& output : on->outputs) output = Missing(on, output);
        met = graph_.AppendConstant(on, {false}, BoolType(), "0");
      }
      on->outputs.push_back(met);
      on->outputs.insert(on->outputs.end(), values.begin(), values.end());
      off->outputs.push_back(graph_.AppendConstant(off, {true}, BoolType(), "0"));
      for (Value* value : needed) off->outputs.push_back(Missing(off, value));
      met = graph_.AddOutput(branch, BoolType(), "0");
      values.clear();
      for (const Value* value : needed) values.push_back(graph_.AddOutput(branch, value->type, value->name));
    }
    return values;
  }

  Value* Missing(Block* block, const Value* value) {
    return graph_.AddOutput(graph_.Append(block, "prim::Uninitialized", "", {}), value->type, value->name);
  }

  Graph& graph_;
  std::unordered_map<const Node*, size_t> lengths_;
};

}  // namespace

void CutLongChains(Graph& graph) { Chains(graph).Run(); }

}  // namespace flambeau::torchscript
