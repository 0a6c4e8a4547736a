// Singular values the way LAPACK goes to them, which decides the signs of the vectors.
#pragma once

#include "lower/op.h"
#include "lower/ops/linalg/jacobi.h"

namespace flambeau::lower {

// LAPACK's decomposition of small matrices. The smaller side of larger ones is divided, and that is not done here:
// their vectors have other signs.
Singular SignedSingularDecomposition(Lowering& to, Tensor a, bool full);

// An upper bidiagonal B, and an A that is leftᵀ·B·right.
struct Bidiagonal {
  Tensor diagonal, beside;  // [batch, n]; the last element beside the diagonal is 0
  Tensor left, right;       // [batch, n, …]
};

// The same of a lower bidiagonal B, with the elements below its diagonal; leftᵀ·B·right stays.
Bidiagonal UpperFromLower(Lowering& to, const Bidiagonal& lower);

// leftᵀ·diag(values)·right, values descending.
struct SingularRows {
  Tensor values, left, right;
};

// Of rows of real numbers. As bdsqr does it in the precision of `dtype`, for n from 1 to 25. All is float64.
SingularRows Diagonalize(Lowering& to, const Bidiagonal& given, DType dtype);

}  // namespace flambeau::lower
