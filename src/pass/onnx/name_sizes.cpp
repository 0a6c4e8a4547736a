// Sizes of results of branches that differ. Before opset 11, shape inference gives the results of an If the sizes that
// its then_branch has, where no others are declared (ONNX's If-1); onnxruntime infers so too, and then gives a result
// the memory of another one that it takes to be as large. A name that nothing else has keeps them apart.
#include <fmt/format.h>

#include <string>

#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

constexpr int kBranchesMayDiffer = 11;

Expr NewName(ExprPool& exprs, int& next) {
  std::string name;
  do name = fmt::format("either_{}", next++);
  while (exprs.Find(name));
  return exprs.Symbolic(name);
}

}  // namespace

Result<Changed> NameSizes(Graph& graph, PassContext& context) {
  if (context.opset >= kBranchesMayDiffer) return Changed::kNo;
  ExprPool& exprs = graph.context().exprs();
  Changed changed = Changed::kNo;
  int next = 0;
  for (const BlockId block : graph.AllBlocks()) {
    graph.ForEachNode(block, [&](NodeId node) {
      if (graph.op(node) != "If") return;
      for (uint32_t i = 0; i < graph[node].result_count; ++i) {
        const ValueId result = graph.result(node, i);
        Type type = graph.type(result);
        bool named = false;
        for (Expr& size : type.sizes) {
          if (!exprs.HasAnonymous(size)) continue;
          size = NewName(exprs, next);
          named = true;
        }
        if (!named) continue;
        graph.SetType(result, graph.context().Intern(std::move(type)));
        changed = Changed::kYes;
      }
    });
  }
  return changed;
}

}  // namespace flambeau
