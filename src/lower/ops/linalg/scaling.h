// Matrices of any size of numbers as matrices of numbers around 1, which have squares in their dtype.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

// By real factors, which broadcast.
Tensor Scaled(Lowering& to, Tensor matrix, Tensor factors);

// A = scale · matrix. The scales are powers of 2, so that dividing by them rounds nothing.
struct UnitScale {
  Tensor matrix;  // [batch, rows, columns]; the largest element of each is around 1, or all are 0
  Tensor scale;   // [batch, 1, 1], real
};
UnitScale ToUnitScale(Lowering& to, Tensor a);

// What grows as the matrix does, [batch, n], at the matrix's own scale again.
Tensor ValuesAt(Lowering& to, Tensor values, Tensor scale);

}  // namespace flambeau::lower
