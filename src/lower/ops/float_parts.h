// The bits of floats, for other families.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// Whether the bits of that type are known here: of float16, bfloat16, float32 and float64.
bool HasBits(DType dtype);
// The bits of floats as an int64, negative where the sign is; those of NaN are the usual ones.
Tensor BitsOf(Lowering& to, Tensor x);
// The floats of that type that have these bits.
Tensor FromBits(Lowering& to, Tensor bits, DType dtype);

}  // namespace flambeau::lower
