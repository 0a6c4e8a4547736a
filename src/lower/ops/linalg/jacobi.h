// Eigenvalues of symmetric matrices and singular values, for other families.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// Eigenvalues [batch, n], ascending, and eigenvectors as columns.
struct Eigen {
  Tensor values, vectors;
};
Eigen SymmetricEigen(Lowering& to, Tensor a, bool upper);

// A = U·diag(values)·Vᴴ, values descending.
struct Singular {
  Tensor u;       // [batch, m, min(m, n)], or all m columns
  Tensor values;  // [batch, min(m, n)]
  Tensor vt;      // Vᴴ: [batch, min(m, n), n], or all n rows
};
Singular SingularDecomposition(Lowering& to, Tensor a, bool full);
Tensor SingularValues(Lowering& to, Tensor a);

}  // namespace flambeau::lower
