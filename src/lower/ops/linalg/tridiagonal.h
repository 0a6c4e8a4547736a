// What LAPACK's way to the eigenvectors of symmetric matrices makes of their signs.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// The eigenvectors (columns, in any order) with the signs that LAPACK gives them,
// where it takes the implicit QL method: matrices of up to 25 rows. Of larger ones
// they stay. `symmetric` is Hermitian,
// in the widest precision; `dtype` is that of the values which LAPACK would compute.
Tensor WithSignsOfLapack(Lowering& to, Tensor vectors, Tensor symmetric, bool upper, DType dtype);

}  // namespace flambeau::lower
