// Factorization into triangles, with rows exchanged, for other families.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// X of A·X = B, or of X·A = B; matrices whose batches broadcast.
Tensor SolveMatrices(Lowering& to, Tensor a, Tensor b, bool left);
Tensor InverseMatrix(Lowering& to, Tensor a);
Tensor Determinant(Lowering& to, Tensor a);

}  // namespace flambeau::lower
