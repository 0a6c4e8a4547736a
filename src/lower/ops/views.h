// Views that other families are written with.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

Tensor TransposeInt(Lowering& to, Tensor self, int64_t dim0, int64_t dim1);
Tensor MoveDims(Lowering& to, Tensor self, Ints source, Ints destination);
Tensor Expand(Lowering& to, Tensor self, Dims size);
// The windows of `size` elements, `step` apart, along a new last dimension.
Tensor Unfold(Lowering& to, Tensor self, int64_t dimension, Dim size, Dim step);
Tensor Flip(Lowering& to, Tensor self, Ints dims);
// A tensor whose rank differs between the paths through a program, as the row of its elements.
Tensor Ranked(Lowering& to, Tensor self);
Tensor AtLeast2d(Lowering& to, Tensor self);
Tensor AtLeast3d(Lowering& to, Tensor self);
// A tensor given a new dimension of size 1 for each missing one, in front.
Tensor LeadingDims(Lowering& to, Tensor self, int64_t rank);
TensorList MeshgridIj(Lowering& to, TensorList tensors);

}  // namespace flambeau::lower
