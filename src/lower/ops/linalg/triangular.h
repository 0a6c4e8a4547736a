// Systems of equations with triangular matrices.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

struct Triangle {
  bool upper = false;
  bool unit = false;  // the diagonal counts as ones
};

// X of A·X = B. Elements on the other side of the diagonal are not read. The
// batches of both are one.
Tensor SolveTriangle(Lowering& to, Tensor a, Tensor b, Triangle triangle);
// A and B, matrices, with their batches broadcast to one.
std::pair<Tensor, Tensor> WithCommonBatch(Lowering& to, Tensor a, Tensor b);

}  // namespace flambeau::lower
