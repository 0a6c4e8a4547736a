// Sizes, positions and rearrangements that the families of views, joining,
// indexing and scattering share. All sizes may be symbolic.
#pragma once

#include <span>

#include "lower/lowering.h"

namespace flambeau::lower {

// The position counted from the front: negative ones count from the end.
Dim FromFront(Lowering& to, Dim position, Dim size);
// `wanted` with its -1 replaced by what is left of `count` elements.
Dims InferSize(Lowering& to, Dims wanted, Dim count);
// The tensor, known to have these sizes.
Tensor Sized(Lowering& to, Tensor tensor, const Dims& sizes);
// Sizes that operands of these sizes broadcast to.
Dims BroadcastDims(Lowering& to, const Dims& a, const Dims& b);

// The tensors expanded to the sizes that they broadcast to.
TensorList Broadcast(Lowering& to, TensorList tensors);

// To divide by: onnxruntime divides nothing by a 0 either, and by no constant 0 even where nothing runs.
Dim AtLeastOne(Lowering& to, Dim size);
// 0, 1, …, count - 1 as int64.
Tensor Iota(Lowering& to, Dim count);
// All elements in one dimension.
Tensor Flat(Lowering& to, Tensor tensor);
// A 0-d tensor with one dimension; others as they are.
Tensor AtLeast1d(Lowering& to, Tensor tensor);
// Slice as ONNX has it: bounds are clamped, negative ones count from the end.
Tensor SliceRange(Lowering& to, Tensor tensor, int64_t axis, Dim start, Dim end, Dim step);
// Constant sizes.
Dims DimsOf(Lowering& to, const Ints& sizes);
// Sizes with that of `axis` replaced.
Dims WithSize(const Dims& sizes, int64_t axis, Dim size);

// The permutation that moves dimension source[i] to destination[i].
Ints MovingPermutation(int64_t rank, const Ints& source, const Ints& destination);
Ints Inverse(const Ints& permutation);

// Length of a diagonal of a matrix.
Dim DiagonalLength(Lowering& to, Dim rows, Dim columns, Dim offset);
// rows × columns of bool: column = row + offset.
Tensor DiagonalMask(Lowering& to, Dim rows, Dim columns, Dim offset);
// Zeros after the last element of an axis.
Tensor PadEnd(Lowering& to, Tensor tensor, int64_t axis, Dim count);


// Strides of a contiguous tensor.
Dims ContiguousStrides(Lowering& to, const Dims& sizes);
// offset + Σ i·stride for every index of a tensor of these sizes.
Tensor StridedPositions(Lowering& to, const Dims& sizes, const Dims& strides, Dim offset);

}  // namespace flambeau::lower
