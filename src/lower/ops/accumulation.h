// In what PyTorch computes: 16-bit floats in float32, so that a result is
// rounded once, however many steps it takes.
#pragma once

#include <limits>

#include "support/dtype.h"

namespace flambeau::lower {

inline bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

inline DType AccumulationDtype(DType dtype) { return IsHalf(dtype) ? DType::kFloat32 : dtype; }

// The machine epsilon of that.
inline double Epsilon(DType dtype) {
  return AccumulationDtype(dtype) == DType::kFloat64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

}  // namespace flambeau::lower
