// Arithmetic with PyTorch's promotion, for translators that compose it.
#pragma once

#include <optional>
#include <string_view>

#include "lower/lowering.h"

namespace flambeau::lower {

// Whether the elements are integers that may pass 32 bits, from where on kernels of onnxruntime make mistakes.
bool MayBeWide(Lowering& to, const Tensor& x);

Tensor Add(Lowering& to, Tensor self, Tensor other, Scalar alpha);
Tensor Sub(Lowering& to, Tensor self, Tensor other, Scalar alpha);
Tensor Mul(Lowering& to, Tensor self, Tensor other);
Tensor Div(Lowering& to, Tensor self, Tensor other);  // true division
Tensor FloorDivide(Lowering& to, Tensor self, Tensor other);
Tensor Remainder(Lowering& to, Tensor self, Tensor other);  // sign of the divisor
Tensor Pow(Lowering& to, Tensor self, Tensor exponent);
Tensor Copysign(Lowering& to, Tensor self, Tensor other);
Tensor Maximum(Lowering& to, Tensor self, Tensor other);
Tensor Minimum(Lowering& to, Tensor self, Tensor other);
Tensor LogAddExp(Lowering& to, Tensor a, Tensor b);  // log(exp(a) + exp(b)), of one dtype
Tensor Clamp(Lowering& to, Tensor self, std::optional<Tensor> min, std::optional<Tensor> max);

}  // namespace flambeau::lower
