// Grids of integers onto which floats are quantized. Also for other families.
#pragma once

#include <optional>

#include "lower/op.h"

namespace flambeau::lower {

// One scale and zero point, or one for each index of `axis`, or for each block of so many elements along it; or
// of several dimensions, which broadcast. The integers lie in [low, high].
struct Grid {
  Tensor scale, zero_point;
  std::optional<int64_t> axis;
  int64_t low, high;
  std::optional<int64_t> block = {};
  // Rounded as PyTorch does, which multiplies by 1 / scale: where the scale comes from the elements, many lie halfway.
  bool exact = false;
};

// What an integer type holds.
struct Limits {
  int64_t low, high;
};
Limits LimitsOf(DType dtype);

// Whether ONNX's operators quantize to that type by blocks.
bool TakesBlocks(Lowering& to, DType dtype);
Tensor Quantize(Lowering& to, Tensor x, const Grid& grid, DType dtype);
// The zero point may be absent.
Tensor Dequantize(Lowering& to, Tensor x, const Grid& grid, DType result);

}  // namespace flambeau::lower
