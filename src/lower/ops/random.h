// Random numbers. onnxruntime draws anew at each run.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

// Uniform in [0, 1); `dtype` is a floating one.
Tensor RandomUniform(Lowering& to, const Dims& sizes, DType dtype);
Tensor RandomNormal(Lowering& to, const Dims& sizes, DType dtype);

}  // namespace flambeau::lower
