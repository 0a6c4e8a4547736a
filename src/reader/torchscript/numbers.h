// Number literals.
#pragma once

#include <optional>
#include <string_view>

#include "reader/torchscript/graph.h"

namespace flambeau::torchscript {

// "7", "1.0000000000000001e-05", "2j"; nullopt if it is none or out of range.
std::optional<Constant> ParseNumber(std::string_view text, bool negative);

}  // namespace flambeau::torchscript
