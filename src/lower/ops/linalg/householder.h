// Orthogonal factorizations for other families.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// I - tau·v·vᴴ, which takes a column to beta at the pivot and zeros after it; as LAPACK's larfg.
struct Reflector {
  Tensor v;          // [batch, n]: zeros before the pivot, 1 there
  Tensor tau, beta;  // [batch, 1]; tau is 0 where there is nothing after the pivot
};
Reflector ReflectorOf(Lowering& to, Tensor column, Tensor pivot);

// A = Q·R as LAPACK's geqrf stores it: R, below its diagonal the reflectors'
// vectors (their first element is 1), and their factors tau.
struct Reflectors {
  Tensor vectors;  // [batch, m, n]
  Tensor tau;      // [batch, count]
};
Reflectors Reflect(Lowering& to, Tensor a);
// One step of it: column k is reflected, and all after it with it.
Reflectors ReflectColumn(Lowering& to, const Reflectors& reflectors, Tensor k);
// Q·C, or Qᴴ·C; C has the batch and the rows of the reflectors.
Tensor ApplyReflectors(Lowering& to, const Reflectors& reflectors, Tensor c, bool adjoint);
// The first columns of Q.
Tensor OrthogonalColumns(Lowering& to, const Reflectors& reflectors, Dim columns);

}  // namespace flambeau::lower
