// Runs a list of passes, with hooks for dumps and reports. It knows no pass.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "pass/pass.h"

namespace flambeau {

// Each may be empty.
struct PassHooks {
  // Runs after each pass.
  std::function<void(std::string_view pass, const Graph& graph)> after;
  // Runs after each pass that changed the graph; it reports what it finds.
  std::function<Status(const Graph& graph, Sink& sink)> verify;
};

// Stops at the first pass that fails.
Result<Changed> RunPasses(std::span<const AtenPass> passes, Program::Impl& program, PassContext& context,
                          const PassHooks& hooks = {});
Result<Changed> RunPasses(std::span<const OnnxPass> passes, Graph& graph, PassContext& context,
                          const PassHooks& hooks = {});

}  // namespace flambeau
