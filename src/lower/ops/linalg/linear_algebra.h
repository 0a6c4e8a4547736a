// Products of matrices, for translators that compose them.
#pragma once

#include <optional>

#include "lower/lowering.h"

namespace flambeau::lower {

// input · weightᵀ + bias
Tensor Linear(Lowering& to, Tensor input, Tensor weight, std::optional<Tensor> bias);
// beta · self + alpha · mat1 · mat2; a beta of 0 ignores even NaN in self.
Tensor Addmm(Lowering& to, Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha);
// numpy's product, with PyTorch's ranks.
Tensor Matmul(Lowering& to, Tensor self, Tensor other);

}  // namespace flambeau::lower
