// Runs a list of passes, with the hooks behind --passes, --print-after and
// --time-passes. It knows no pass.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string_view>

#include "pass/pass.h"

namespace flambeau {

// Each may be empty.
struct PassHooks {
  // Whether a pass is to run.
  std::function<bool(std::string_view pass)> enabled;
  std::function<void(std::string_view pass, const Graph& graph)> after;
  std::function<void(std::string_view pass, Changed changed, std::chrono::nanoseconds time)> timed;
  // Runs after each pass that changed the graph; it reports what it finds.
  std::function<Status(const Graph& graph, Sink& sink)> verify;
};

// Stops at the first pass that fails.
Result<Changed> RunPasses(std::span<const AtenPass> passes, Program::Impl& program, PassContext& context,
                          const PassHooks& hooks = {});
Result<Changed> RunPasses(std::span<const OnnxPass> passes, Graph& graph, PassContext& context,
                          const PassHooks& hooks = {});

}  // namespace flambeau
