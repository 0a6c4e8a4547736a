// Discrete Fourier transforms for other families.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// By what the sums are divided: nothing, √n, n. Values as in ATen's _fft_*.
enum class Normalization : int64_t { kNone = 0, kByRoot = 1, kByCount = 2 };

// Between complex tensors, along each axis; exp(-2πi…) if forward.
Tensor FourierC2c(Lowering& to, Tensor self, const Ints& axes, Normalization norm, bool forward);
// Of a real tensor; the last of `axes` has the first half of the result if it is onesided.
Tensor FourierR2c(Lowering& to, Tensor self, const Ints& axes, Normalization norm, bool onesided);
// Inverse, of the half along the last of `axes`, which the result has in that size.
Tensor FourierC2r(Lowering& to, Tensor self, const Ints& axes, Normalization norm, Dim last_size);

}  // namespace flambeau::lower
