// What convolutions, pools and resizes share: arguments of one value an axis,
// and inputs without a batch.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

// `values` for each of `count` axes: one value stands for all of them.
Ints PerAxis(const Ints& values, int64_t count);
Dims PerAxis(const Dims& values, int64_t count);
// The same of kernels, strides and dilations, which are at least 1.
Ints StepsPerAxis(const Ints& values, int64_t count);
Dims StepsPerAxis(Lowering& to, const Dims& values, int64_t count);
// ONNX's pads: those at the begins of all axes, then those at the ends.
Ints BothSides(const Ints& padding);

// Gives an operator that needs (batch, channels, spatial…) an input that may
// lack the batch, or the batch and the channels.
class Batched {
 public:
  Batched(Lowering& to, Tensor input, int64_t spatial);
  Tensor tensor() const { return tensor_; }
  // The result without the axes that were added.
  Tensor Undo(Tensor result) const;

 private:
  Lowering& to_;
  Ints added_;
  Tensor tensor_;
};

}  // namespace flambeau::lower
