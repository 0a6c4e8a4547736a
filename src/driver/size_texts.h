// Sizes as the report, the summary of a program and the signature of a model
// show them.
#pragma once

#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/type.h"

namespace flambeau {

// "3", "batch", "2*batch + 1"; "?" where nothing is known.
std::vector<std::string> SizeTexts(const ExprPool& exprs, const Type& type);
// "2 … 1024"; "0 … ∞".
std::string RangeText(const ExprPool::Range& range);

}  // namespace flambeau
