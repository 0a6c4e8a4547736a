// The error function in float64, for which onnxruntime has no kernel.
#pragma once

#include "onnx/builder.h"

namespace flambeau::onnx {

// e^(x²)·erfc(x), x >= 0.
Tensor ErfcxOfPositive(Builder& to, const Tensor& x);
// erf(x) to within 1e-15; x is of known rank.
Tensor ErfOfDouble(Builder& to, const Tensor& x);

}  // namespace flambeau::onnx
