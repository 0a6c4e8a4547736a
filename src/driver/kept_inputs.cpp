#include "driver/kept_inputs.h"

#include <algorithm>

namespace flambeau {
namespace {

// Operators that make a tensor like another one.
struct Like {
  std::string_view op;
  uint32_t operand;  // whose elements do not count
  bool sizes;        // whether its sizes do, where only a run knows them; else its dtype alone
  uint32_t most = 2;  // operands with which it is so
};
constexpr Like kLikes[] = {
    {"aten::empty_like", 0, true}, {"aten::fill.Scalar", 0, true}, {"aten::fill.Tensor", 0, true}, {"aten::full_like", 0, true, 1},
    {"aten::new_empty", 0, false}, {"aten::new_full", 0, false},   {"aten::new_ones", 0, false},   {"aten::new_zeros", 0, false},
    {"aten::ones_like", 0, true},  {"aten::to.other", 1, false},   {"aten::type_as", 1, false},    {"aten::zero", 0, true},
    {"aten::zeros_like", 0, true}};
static_assert(std::ranges::is_sorted(kLikes, {}, &Like::op));

bool HasSizeOfRunTime(const Type& type, const ExprPool& exprs) {
  return !type.ranked || std::ranges::any_of(type.sizes, [&](Expr size) { return !exprs.AsConstant(size); });
}

// Which values an output of the program depends on, or on their sizes, but
// for operators that make a tensor like one.
std::vector<bool> ReadValues(const Program::Impl& program) {
  const Graph& graph = program.graph;
  std::vector<bool> read(graph.value_capacity()), reached(graph.node_capacity());
  for (const InputSpec& input : program.inputs) read[input.value.index] = input.seems_read;
  std::vector<NodeId> pending;
  const auto reach = [&](NodeId node) {
    if (!reached[node.index]) pending.push_back(node);
    reached[node.index] = true;
  };
  for (BlockId block : graph.AllBlocks()) {
    reach(graph[block].terminator);
    graph.ForEachNode(block, [&](NodeId node) {
      if (graph[node].result_count == 0) reach(node);
    });
  }
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    const uint32_t count = graph.operand_count(node);
    for (uint32_t i = 0; i < count; ++i) {
      const ValueId operand = graph.operand(node, i);
      const auto like = std::ranges::lower_bound(kLikes, graph.op(node), {}, &Like::op);
      const bool is_like = like != std::end(kLikes) && like->op == graph.op(node) && like->operand == i && count <= like->most;
      if (!operand || (is_like && !(like->sizes && HasSizeOfRunTime(graph.type(operand), program.context->exprs())))) continue;
      read[operand.index] = true;
      if (graph[operand].kind == ValueKind::kResult) reach(graph[operand].node);
    }
  }
  return read;
}

}  // namespace

std::vector<size_t> KeepInputs(const Program::Impl& program, bool keep_unused, std::span<const ValueId> of_program, Graph& graph) {
  const BlockId main = graph.main();
  const std::vector<bool> read = keep_unused ? std::vector<bool>() : ReadValues(program);
  std::vector<size_t> kept;
  std::vector<bool> unread(graph[main].inputs.size());
  for (size_t i = 0; i < unread.size(); ++i) {
    unread[i] = !keep_unused && !graph.HasUses(graph[main].inputs[i]) && !read[of_program[i].index];
    if (!unread[i]) kept.push_back(i);
  }
  graph.RemoveInputs(main, unread);
  return kept;
}

}  // namespace flambeau
