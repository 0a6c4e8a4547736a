// Sizes of pools, as PyTorch counts windows.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

// The number of windows along an axis; `window` counts the gaps of a dilation.
Dim PooledSize(Lowering& to, Dim size, Dim window, int64_t stride, int64_t padding, bool ceil_mode);

}  // namespace flambeau::lower
