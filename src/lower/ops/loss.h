// What losses share.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

enum Reduction : int64_t { kNoReduction, kMeanReduction, kSumReduction };

// The loss of each element, their mean or their sum.
Tensor Reduced(Lowering& to, Tensor loss, int64_t reduction);

}  // namespace flambeau::lower
