// Bessel functions of float64.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// The modified one of the first kind and order 0.
Tensor BesselI0(Lowering& to, Tensor x);

}  // namespace flambeau::lower
