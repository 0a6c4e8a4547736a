// Antialiased resizing by one matrix an axis, for what ONNX's Resize computes
// otherwise: corners that are aligned, and scales that the sizes don't say.
#pragma once

#include <optional>

#include "lower/lowering.h"

namespace flambeau::lower {

enum class AntialiasFilter { kLinear, kCubic };

// Resizes the trailing axes to `sizes`; `factors` (output over input) may be empty.
Tensor AntialiasByMatrices(Lowering& to, Tensor x, const Ints& sizes, const Floats& factors, bool align_corners,
                           AntialiasFilter filter);

}  // namespace flambeau::lower
