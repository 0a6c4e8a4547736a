// The operators that Flambeau translates.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lower/op.h"

namespace flambeau::lower {

// The row of that full overload name ("aten::add.Tensor"); nullptr if there is none.
const OpRow* FindOp(std::string_view name);
// Every row, by name.
std::vector<const OpRow*> AllOps();
// Whether its translator means the right thing where operands or results are complex.
bool TakesComplex(std::string_view name);
// Whether its translator needs the rank of no operand.
bool TakesUnranked(std::string_view name);
// Names of supported overloads of the same operator, or close spellings.
std::vector<std::string_view> NearestOps(std::string_view name);

}  // namespace flambeau::lower
