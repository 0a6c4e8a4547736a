// Calls as older versions of PyTorch wrote them, made into today's.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "flambeau/program.h"

namespace flambeau::pt2 {

struct Call {
  std::string_view target;
  std::vector<Argument> positional;
  std::vector<std::pair<std::string_view, Argument>> named;
  std::vector<std::pair<std::string_view, ValueInfo>> results;
};

// Does nothing to the calls of today. `says_version`: the archive says which PyTorch wrote it, 2.5 or newer.
void Modernize(Call& call, bool says_version);

}  // namespace flambeau::pt2
