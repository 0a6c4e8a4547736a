// Writing elements by position, for families that accumulate into bins.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

enum class Combine { kReplace, kAdd, kMul, kMin, kMax };

// ONNX's ScatterElements in a dtype that its reductions have kernels for; index
// and source are of one shape.
Tensor ScatterAxis(Lowering& to, Tensor self, int64_t axis, Tensor index, Tensor source, Combine combine);
// ScatterND with the same care; `index` is a stack of coordinates.
Tensor ScatterPoints(Lowering& to, Tensor self, Tensor index, Tensor updates, Combine combine);

}  // namespace flambeau::lower
