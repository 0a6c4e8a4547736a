// Two lists of numbers beside each other, where only a run knows them.
#pragma once

#include "script/evaluator.h"

namespace flambeau::script {

// Whether they hold the same, as a bool.
Result<Val> EqualLists(Evaluator& evaluator, const Val& a, const Val& b);
// The one that TorchScript's order of lists has first, or last.
Result<Vals> FirstOfLists(Evaluator& evaluator, const Val& a, const Val& b);
Result<Vals> LastOfLists(Evaluator& evaluator, const Val& a, const Val& b);

}  // namespace flambeau::script
