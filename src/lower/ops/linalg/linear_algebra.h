// Products of matrices, for translators that compose them.
#pragma once

#include <optional>

#include "lower/lowering.h"

namespace flambeau::lower {

// input · weightᵀ + bias
Tensor Linear(Lowering& to, Tensor input, Tensor weight, std::optional<Tensor> bias);
// numpy's product, with PyTorch's ranks.
Tensor Matmul(Lowering& to, Tensor self, Tensor other);

}  // namespace flambeau::lower
