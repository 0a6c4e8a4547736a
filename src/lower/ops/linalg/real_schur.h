// Eigenvalues of real matrices in the order in which LAPACK finds them.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// A = Z·T·Z⁻¹ with T triangular but for blocks of 2×2 on its diagonal, each a
// pair of conjugate eigenvalues: LAPACK's geev up to its vectors (gebal, gehrd,
// hseqr). `a` is float64; `dtype` is what LAPACK would compute in.
struct RealSchur {
  Tensor t, z;
};
RealSchur RealSchurForm(Lowering& to, Tensor a, DType dtype);

}  // namespace flambeau::lower
