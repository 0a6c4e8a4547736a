// Grids of integers onto which floats are quantized. Also for other families.
#pragma once

#include <optional>

#include "lower/op.h"

namespace flambeau::lower {

// One scale and zero point, or one for each index of `axis`, or for each block of so many elements along it.
// The integers lie in [low, high].
struct Grid {
  Tensor scale, zero_point;
  std::optional<int64_t> axis;
  int64_t low, high;
  std::optional<int64_t> block = {};
};

// What an integer type holds.
struct Limits {
  int64_t low, high;
};
Limits LimitsOf(DType dtype);

// Whether ONNX's operators quantize to that type.
bool IsQuantizedType(Lowering& to, DType dtype);
Tensor Quantize(Lowering& to, Tensor x, const Grid& grid, DType dtype);
// The zero point may be absent.
Tensor Dequantize(Lowering& to, Tensor x, Grid grid, DType result);

}  // namespace flambeau::lower
