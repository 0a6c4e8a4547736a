// Windows of pools, as PyTorch counts them, and what the largest of an empty one is.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

// The number of windows along an axis; `window` counts the gaps of a dilation.
Dim PooledSize(Lowering& to, Dim size, Dim window, Dim stride, Dim padding, bool ceil_mode);

// What is less than any other number of the dtype, or equal.
Scalar LeastOf(DType dtype);

}  // namespace flambeau::lower
