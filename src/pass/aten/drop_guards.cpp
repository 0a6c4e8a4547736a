#include <algorithm>

#include "aten/schema.h"
#include "pass/aten/passes.h"

namespace flambeau {

bool IsGuard(std::string_view op) {
  static constexpr std::string_view kGuards[] = {"aten::_assert_async",
                                                 "aten::_assert_async.msg",
                                                 "aten::_assert_scalar",
                                                 "aten::_assert_tensor_metadata",
                                                 "aten::_linalg_check_errors",
                                                 "aten::_print",
                                                 "aten::sym_constrain_range",
                                                 "aten::sym_constrain_range_for_size",
                                                 "torch::_check",
                                                 "torch::_check_is_size",
                                                 "torch::_check_value",
                                                 "torch::_assert",
                                                 "torch::sym_constrain_range",
                                                 "torch::sym_constrain_range_for_size",
                                                 "aten::_functional_assert_async.msg",
                                                 "aten::_functional_assert_scalar",
                                                 "aten::_functional_sym_constrain_range",
                                                 "aten::_functional_sym_constrain_range_for_size",
                                                 "higher_order::_export_tracepoint",
                                                 "higher_order::print"};
  return std::ranges::find(kGuards, op) != std::end(kGuards);
}

namespace {

// What returns its argument, now that no value is written.
bool IsForward(std::string_view op) {
  static constexpr std::string_view kForwards[] = {"aten::alias",      "aten::alias_copy", "aten::clone",
                                                   "aten::contiguous", "aten::detach",     "aten::detach_copy",
                                                   "aten::lift",       "aten::lift_fresh", "aten::lift_fresh_copy",
                                                   "aten::positive",   "aten::resolve_neg"};
  return std::ranges::find(kForwards, op) != std::end(kForwards);
}

}  // namespace

Result<Changed> DropGuards(Program::Impl& program, PassContext&) {
  Graph& graph = program.graph;
  Changed changed = Changed::kNo;
  for (const BlockId block : graph.AllBlocks()) {
    graph.ForEachNode(block, [&](NodeId node) {
      const std::string_view op = graph.op(node);
      if (IsForward(op) && graph.operand_count(node) == 1) {
        graph.ReplaceAllUses(graph.result(node), graph.operand(node, 0));
      } else if (!IsGuard(op)) {
        return;
      }
      // A token of a functional assertion may be used by the next one.
      for (uint32_t i = 0; i < graph[node].result_count; ++i)
        if (graph.HasUses(graph.result(node, i))) graph.ReplaceAllUses(graph.result(node, i), {});
      graph.Erase(node);
      changed = Changed::kYes;
    });
  }
  return changed;
}

}  // namespace flambeau
