// Where NaN stands among numbers. PyTorch's maxima and minima are NaN where any
// element is, and NaN sorts above infinity; onnxruntime's reductions, ArgMax and
// TopK leave that to chance. Elementwise Max, Min and Clip are fine.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

// Whether NaN can be among the elements: not in integers, nor in what was just made of them.
bool MayHoldNan(Lowering& to, const Tensor& x);

// Numbers in the order of the elements, with NaN above (or below) all of them. Only their order means something.
enum class NanRank { kHighest, kLowest };
Tensor OrderKeys(Lowering& to, Tensor x, NanRank rank);

// `result`, a reduction of x along `axes` (absent: all), or NaN where any of its elements is NaN.
Tensor NanWhereAny(Lowering& to, Tensor result, Tensor x, Tensor axes, bool keepdim);

}  // namespace flambeau::lower
