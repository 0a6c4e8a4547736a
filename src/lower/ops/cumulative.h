// Running sums that keep their digits, for whoever sums along an axis.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

// The sums of the elements of `x` up to each along the axis, in the dtype of `x`; float32 is carried in float64, as in PyTorch.
Tensor CumulativeSum(Lowering& to, const Tensor& x, int64_t axis);

}  // namespace flambeau::lower
