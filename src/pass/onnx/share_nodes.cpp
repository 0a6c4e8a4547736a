#include <algorithm>

#include "onnx/operator_table.h"
#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"
#include "support/hash_table.h"

namespace flambeau {
namespace {

size_t Mix(size_t hash, size_t more) { return (hash ^ more) * 0x9E3779B97F4A7C15 + (hash >> 29); }

size_t HashOf(const Attribute& attribute) {
  size_t hash = attribute.index();
  if (const auto* number = std::get_if<int64_t>(&attribute)) return Mix(hash, static_cast<size_t>(*number));
  if (const auto* number = std::get_if<double>(&attribute)) return Mix(hash, std::hash<double>()(*number));
  if (const auto* text = std::get_if<std::string>(&attribute)) return Mix(hash, std::hash<std::string>()(*text));
  if (const auto* ints = std::get_if<Ints>(&attribute))
    for (const int64_t each : *ints) hash = Mix(hash, static_cast<size_t>(each));
  return hash;
}

// Which nodes compute the same as one before them, in their block or around it.
class Sharer {
 public:
  explicit Sharer(Editor& editor) : to_(editor), graph_(editor.graph()) {}

  void Run() {
    std::vector<Frame> frames;
    frames.push_back({graph_[graph_.main()].first, 0});
    while (!frames.empty()) {
      const NodeId node = frames.back().next;
      if (!node) {  // what the block defined is not seen outside
        for (; added_.size() > frames.back().added; added_.pop_back()) known_.erase(added_.back());
        frames.pop_back();
        continue;
      }
      frames.back().next = graph_[node].next;
      Visit(node);
      if (graph_[node].erased) continue;
      graph_.ForEachBody(node, [&](BlockId body) { frames.push_back({graph_[body].first, added_.size()}); });
    }
  }

 private:
  struct Frame {
    NodeId next;
    size_t added;  // how many were known before the block
  };

  void Visit(NodeId node) {
    const std::string_view op = graph_.op(node);
    if (op.find("::") != std::string_view::npos || onnx::DrawsNumbers(op)) return;
    bool has_body = false;
    graph_.ForEachBody(node, [&](BlockId) { has_body = true; });
    if (has_body) return;
    const auto [it, is_new] = known_.try_emplace(Hash(node), node);
    if (is_new) return added_.push_back(it->first);
    const NodeId before = it->second;  // another node of the same hash would be a 64-bit coincidence, and cost a sharing
    if (!Same(before, node)) return;
    for (uint32_t i = 0; i < graph_[node].result_count; ++i)
      to_.Replace(graph_.result(node, i), graph_.result(before, i));
    to_.Erase(node);
  }

  size_t Hash(NodeId node) const {
    size_t hash = Mix(graph_[node].op.index, graph_[node].result_count);
    for (uint32_t i = 0; i < graph_.operand_count(node); ++i) hash = Mix(hash, graph_.operand(node, i).index);
    // Attributes may come in any order.
    size_t attributes = 0;
    for (const NamedAttribute& each : graph_[node].attributes) attributes += Mix(each.name.index, HashOf(each.value));
    return Mix(hash, attributes);
  }

  bool SameAttribute(const Attribute& a, const Attribute& b) const {
    const auto *x = std::get_if<DataId>(&a), *y = std::get_if<DataId>(&b);
    if (x == nullptr || y == nullptr || *x == *y) return a == b;
    const TensorData &p = to_.context()[*x], &q = to_.context()[*y];
    if (p.SameBytes(q)) return true;
    const auto bytes = p.dtype == q.dtype && p.sizes == q.sizes ? p.ReadAll(kSmallConstant) : std::nullopt;
    return bytes && bytes == q.ReadAll(kSmallConstant);
  }

  bool Same(NodeId a, NodeId b) const {
    const Node &x = graph_[a], &y = graph_[b];
    if (x.op != y.op || x.operand_count != y.operand_count || x.result_count != y.result_count ||
        x.attributes.size() != y.attributes.size())
      return false;
    for (uint32_t i = 0; i < x.operand_count; ++i)
      if (graph_.operand(a, i) != graph_.operand(b, i)) return false;
    // Without operands the type may be that of the use: an empty sequence of one shape or another.
    for (uint32_t i = 0; x.operand_count == 0 && i < x.result_count; ++i)
      if (graph_.type(graph_.result(a, i)) != graph_.type(graph_.result(b, i))) return false;
    return std::ranges::all_of(x.attributes, [&](const NamedAttribute& attribute) {
      return std::ranges::any_of(y.attributes, [&](const NamedAttribute& other) {
        return attribute.name == other.name && SameAttribute(attribute.value, other.value);
      });
    });
  }

  Editor& to_;
  Graph& graph_;
  HashTable<NodeId> known_;      // by Hash()
  std::vector<uint64_t> added_;  // in order
};

}  // namespace

Result<Changed> ShareNodes(Graph& graph, PassContext& context) {
  Editor to(graph, context);
  Sharer(to).Run();
  return to.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
