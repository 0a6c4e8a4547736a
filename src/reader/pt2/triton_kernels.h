// Launches of Triton kernels, which archives have as calls of one operator.
#pragma once

#include <optional>
#include <string>

#include "reader/pt2/older_programs.h"

namespace flambeau::pt2 {

struct KernelLaunch {
  std::string target, schema;  // of the operator `triton::kernel`, as captures of live modules have it
};

// nullopt for other calls.
std::optional<KernelLaunch> LaunchOf(const Call& call);

// Whether it is a launch of a kernel that only the process knew which saved the program.
bool LaunchesUnnamedKernel(const Call& call);

}  // namespace flambeau::pt2
