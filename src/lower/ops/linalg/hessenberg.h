// What comes before the eigenvalues of a general matrix: similar matrices of less
// weight beside the diagonal, and with zeros below the elements beside it.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// A = Q·H·Qᴴ, as LAPACK's gehrd; the elements below the diagonal are real.
struct Hessenberg {
  Tensor h, q;
};
Hessenberg ReduceToHessenberg(Lowering& to, Tensor a);

// A = B·matrix·B⁻¹, as LAPACK's gebal: rows and columns are exchanged so that
// eigenvalues that stand alone are outside of what is left, and that is scaled by
// powers of 2. B is a scaled permutation.
struct Balanced {
  Tensor matrix, b;
};
Balanced Balance(Lowering& to, Tensor a);

}  // namespace flambeau::lower
