// Launches of Triton kernels, which archives have as calls of one operator.
#pragma once

#include <optional>
#include <string>

#include "reader/pt2/older_programs.h"

namespace flambeau::pt2 {

// The operator `triton::kernel` that a launch is a call of, as captures of live modules have it; nullopt for other calls.
std::optional<std::string> TritonTarget(const Call& call);

}  // namespace flambeau::pt2
