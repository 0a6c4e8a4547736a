// Resizing by one matrix an axis, for what ONNX's Resize computes otherwise:
// antialiased with corners that are aligned, scales that the sizes don't say, or
// sizes of run time before opset 18, and bytes.
#pragma once

#include <optional>

#include "lower/lowering.h"

namespace flambeau::lower {

enum class AntialiasFilter { kLinear, kCubic, kLanczos };

// Whether the matrix of an axis is small enough for a constant.
constexpr bool HoldsWeights(int64_t in, int64_t out) { return in > 0 && out > 0 && in <= (int64_t{1} << 22) / out; }

// Resizes the trailing axes to `sizes`; `factors` (output over input) may be empty.
Tensor AntialiasByMatrices(Lowering& to, Tensor x, const Dims& sizes, const Floats& factors, bool align_corners,
                           AntialiasFilter filter);

// Likewise of uint8 images, in PyTorch's fixed point: the last axis first, each rounded to bytes.
Tensor BytesByMatrices(Lowering& to, Tensor x, const Dims& sizes, const Floats& factors, bool align_corners,
                       bool antialias, AntialiasFilter filter);

}  // namespace flambeau::lower
