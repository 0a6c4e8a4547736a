#include "pass/manager.h"

#include <fmt/format.h>

namespace flambeau {
namespace {

const Graph& GraphOf(const Graph& graph) { return graph; }
const Graph& GraphOf(const Program::Impl& program) { return program.graph; }

template <class Subject>
Result<Changed> Run(std::span<const PassRow<Subject>> passes, Subject& subject, PassContext& context,
                    const PassHooks& hooks) {
  Changed any = Changed::kNo;
  for (const PassRow<Subject>& pass : passes) {
    FLAMBEAU_TRY(const Changed changed, pass.run(subject, context));
    if (hooks.after) hooks.after(pass.name, GraphOf(subject));
    if (changed == Changed::kNo) continue;
    any = Changed::kYes;
    if (!hooks.verify) continue;
    ContextScope scope(context.sink, [&](Diagnostic& diagnostic) {
      diagnostic.notes.push_back(fmt::format("after the pass '{}'", pass.name));
    });
    FLAMBEAU_CHECK_OK(hooks.verify(GraphOf(subject), context.sink));
  }
  return any;
}

}  // namespace

Result<Changed> RunPasses(std::span<const AtenPass> passes, Program::Impl& program, PassContext& context,
                          const PassHooks& hooks) {
  return Run(passes, program, context, hooks);
}

Result<Changed> RunPasses(std::span<const OnnxPass> passes, Graph& graph, PassContext& context,
                          const PassHooks& hooks) {
  return Run(passes, graph, context, hooks);
}

}  // namespace flambeau
