// The families of operators, one table each, listed in families.def.
#pragma once

#include <span>

#include "lower/op.h"

namespace flambeau::lower {

#define FLAMBEAU_FAMILY(function, holds) std::span<const OpRow> function();
#include "lower/ops/families.def"
#undef FLAMBEAU_FAMILY

std::span<const std::span<const OpRow>> Families();

}  // namespace flambeau::lower
