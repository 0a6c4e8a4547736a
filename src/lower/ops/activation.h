// Activations that losses and other families compose.
#pragma once

#include <optional>

#include "lower/lowering.h"

namespace flambeau::lower {

Tensor Relu(Lowering& to, Tensor self);
Tensor Softmax(Lowering& to, Tensor self, int64_t dim, std::optional<DType> dtype);
Tensor LogSoftmax(Lowering& to, Tensor self, int64_t dim, std::optional<DType> dtype);
Tensor LogSigmoid(Lowering& to, Tensor self);
Tensor Dropout(Lowering& to, Tensor input, Scalar p, bool train);

}  // namespace flambeau::lower
