// Index lists as PyTorch has them, for reading and writing.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

// An index list in the form that GatherND and ScatterND take: the indexed
// dimensions come first, all indices have one shape.
struct IndexPlan {
  Tensor self;           // with a dimension for each 0-d mask
  TensorList indices;    // integers, one for each of the first dimensions
  Ints to_front;         // the permutation of self that puts the indexed dimensions first
  Dims index_sizes;      // of the indices after broadcasting
  int64_t position = 0;  // where the index dimensions go in the result
};
IndexPlan PlanIndices(Lowering& to, Tensor self, const TensorList& indices);
// The indices broadcast to one shape, stacked along a new last dimension.
Tensor StackIndices(Lowering& to, const IndexPlan& plan);

// Integer indices clamped to what their dimensions have.
TensorList WithinSizes(Lowering& to, const Tensor& self, TensorList indices);

// If the list is one mask and nothing else: the dimension at which it is.
std::optional<int64_t> SingleMask(const TensorList& indices);

// Coordinates of what isn't zero: [rank, count].
Tensor NonZeroCoordinates(Lowering& to, Tensor self);

Tensor SelectInt(Lowering& to, Tensor self, int64_t dim, Dim index);
Tensor Index(Lowering& to, Tensor self, TensorList indices);
Tensor TakeAlong(Lowering& to, Tensor self, int64_t dim, Tensor index);

}  // namespace flambeau::lower
