// The bits of floats, for other families.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// The bits of a float64 as uint64; those of NaN are the usual ones.
Tensor BitsOf(Lowering& to, Tensor x);

}  // namespace flambeau::lower
