// All families of operators; families.def lists them. A family's own file does
// not see that list: one more family recompiles no other.
#pragma once

#include <span>

#include "lower/op.h"

namespace flambeau::lower {

std::span<const std::span<const OpRow>> Families();

}  // namespace flambeau::lower
