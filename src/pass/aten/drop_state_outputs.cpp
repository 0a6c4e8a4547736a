#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pass/aten/passes.h"

namespace flambeau {

Result<Changed> DropStateOutputs(Program::Impl& program, PassContext& context) {
  if (context.state_outputs) return Changed::kNo;
  Graph& graph = program.graph;
  const uint32_t count = graph.output_count(graph.main());
  std::vector<ValueId> outputs;
  std::vector<OutputSpec> specs;
  for (uint32_t i = 0; i < count; ++i) {
    if (program.outputs[i].IsState()) continue;
    outputs.push_back(graph.output(graph.main(), i));
    specs.push_back(program.outputs[i]);
  }
  if (outputs.size() == count) return Changed::kNo;
  std::string names;
  size_t lost = 0;
  constexpr size_t kNamed = 8;
  for (uint32_t i = 0; i < count; ++i) {
    const OutputSpec& spec = program.outputs[i];
    // What the model gives out as well is there.
    if (!spec.IsState() || std::ranges::find(outputs, graph.output(graph.main(), i)) != outputs.end()) continue;
    if (++lost <= kNamed) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", graph.context().Text(spec.target));
  }
  if (lost > kNamed) names += fmt::format(" and {} more", lost - kNamed);
  if (lost > 0)
    context.sink.Warning(DiagnosticKind::kIgnoredMutation,
                         fmt::format("the model writes {}; the new values are not outputs", names), {},
                         "ask for state outputs to get them");
  graph.SetOutputs(graph.main(), outputs);
  program.outputs = std::move(specs);
  return Changed::kYes;
}

}  // namespace flambeau
