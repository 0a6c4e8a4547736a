#include <fmt/format.h>

#include <string>
#include <vector>

#include "pass/aten/passes.h"

namespace flambeau {

Result<Changed> DropStateOutputs(Program::Impl& program, PassContext& context) {
  if (context.state_outputs) return Changed::kNo;
  Graph& graph = program.graph;
  std::vector<ValueId> outputs;
  std::vector<OutputSpec> specs;
  std::string names;
  size_t dropped = 0;
  constexpr size_t kNamed = 8;
  for (uint32_t i = 0; i < graph.output_count(graph.main()); ++i) {
    const OutputSpec& spec = program.outputs[i];
    const bool state = spec.kind == OutputKind::kBufferMutation || spec.kind == OutputKind::kParameterMutation ||
                       spec.kind == OutputKind::kUserInputMutation;
    if (!state) {
      outputs.push_back(graph.output(graph.main(), i));
      specs.push_back(spec);
    } else if (++dropped <= kNamed) {
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", graph.context().Text(spec.target));
    }
  }
  if (dropped == 0) return Changed::kNo;
  if (dropped > kNamed) names += fmt::format(" and {} more", dropped - kNamed);
  context.sink.Warning(DiagnosticKind::kIgnoredMutation,
                       fmt::format("the model writes {}; the new values are not outputs", names), {},
                       "ask for state outputs to get them");
  graph.SetOutputs(graph.main(), outputs);
  program.outputs = std::move(specs);
  return Changed::kYes;
}

}  // namespace flambeau
