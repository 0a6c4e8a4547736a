// Complex tensors for other families.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// The conjugate; real tensors as they are.
Tensor Conj(Lowering& to, Tensor self);
// The real part; real tensors as they are.
Tensor RealPart(Lowering& to, Tensor self);
// The imaginary part of a complex tensor.
Tensor ImaginaryPart(Lowering& to, Tensor self);
// x·x̄, a real number.
Tensor SquaredSize(Lowering& to, Tensor self);
// The dtype of a tensor's absolute values: of complex numbers that of their parts.
DType RealDtype(const Tensor& tensor);

}  // namespace flambeau::lower
