// Operators that say what other operators say (aten/equivalents.def), as calls of those.
#pragma once

#include <span>

#include "aten/equivalents.h"
#include "script/evaluator.h"

namespace flambeau::script {

// `op` is what is replaced.
Result<Vals> CallEquivalent(Evaluator& evaluator, const aten::Equivalent& equivalent, std::string_view op, std::span<const Val> arguments);

}  // namespace flambeau::script
