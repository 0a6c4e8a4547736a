#include "driver/output_ranks.h"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "onnx/location.h"

namespace flambeau {
namespace {

// The value, and those of the branches that it is chosen from, or of the Loop that carries it before the first turn, and so on.
std::vector<ValueId> WaysTo(const Graph& graph, ValueId output) {
  std::vector<ValueId> ways{output};
  std::unordered_set<ValueId> seen{output};
  for (size_t i = 0; i < ways.size(); ++i) {
    const Value& value = graph[ways[i]];
    if (value.kind != ValueKind::kResult) continue;
    const auto add = [&](ValueId way) {
      if (seen.insert(way).second) ways.push_back(way);
    };
    const std::string_view op = graph.op(value.node);
    if (op == "Identity" || op == "Cast") add(graph.operand(value.node, 0));
    if (op == "Loop" && value.index + 2 < graph[value.node].operand_count) add(graph.operand(value.node, value.index + 2));
    if (op == "If") graph.ForEachBody(value.node, [&](BlockId block) { add(graph.output(block, value.index)); });
  }
  return ways;
}

}  // namespace

void DeclareOutputRanks(Graph& graph, Sink& sink) {
  for (const ValueId output : graph.outputs(graph.main())) {
    const Type& type = graph.type(output);
    if (!type.is_tensor() || type.ranked || graph[output].kind != ValueKind::kResult) continue;
    const Type* most = nullptr;
    for (const ValueId way : WaysTo(graph, output)) {
      const Type& other = graph.type(way);
      if (other.is_tensor() && other.ranked && (most == nullptr || other.rank() > most->rank())) most = &other;
    }
    const std::string_view name = graph.context().Text(graph[output].name);
    if (most == nullptr) {
      sink.Warning(DiagnosticKind::kFrozenDimension, fmt::format("the rank of output '{}' is known when the model runs only, so the model declares none", name),
                   onnx::LocationOf(graph, graph[output].node), "onnx.checker refuses an output without a shape; runtimes do not");
      continue;
    }
    sink.Warning(DiagnosticKind::kFrozenDimension,
                 fmt::format("the rank of output '{}' depends on the path that a run takes; the model declares {} dimensions", name, most->rank()),
                 onnx::LocationOf(graph, graph[output].node), "runtimes give the rank that PyTorch gives; reshape the output in the model to have one rank");
    graph.SetType(output, graph.context().Intern(Type::OfTensor(type.dtype, most->sizes)));
  }
}

}  // namespace flambeau
