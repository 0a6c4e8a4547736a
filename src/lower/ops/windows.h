// Pools and convolutions of integers, which ONNX has of floats only, and of what
// onnxruntime has no kernel for: the elements of the windows are brought together
// and reduced. So are windows whose steps are known to a run only.
#pragma once

#include <string_view>

#include "lower/lowering.h"

namespace flambeau::lower {

struct WindowShape {
  Dims kernel, stride, dilation;
};

// (batch, channels, spatial…), padded already, to (batch, channels, windows…, elements…) with an axis for each
// spatial one.
Tensor WindowsOf(Lowering& to, Tensor x, const WindowShape& shape, const Dims& counts);

// Whether `op` is to be computed so.
bool NeedsWindows(const Lowering& to, const Tensor& input, std::string_view op);

// Zeros around the spatial axes; `pads` as ONNX has them.
Tensor PadSpatial(Lowering& to, Tensor x, const Dims& pads);

struct WindowConvolution {
  Dims stride, pads, dilation;
  int64_t groups;
};
Tensor ConvolveWindows(Lowering& to, Tensor input, Tensor weight, const Tensor& bias, const WindowConvolution& how);
// As a convolution of the input with zeros between its elements.
Tensor ConvolveWindowsTransposed(Lowering& to, Tensor input, Tensor weight, const Tensor& bias, const Dims& stride,
                                  const Dims& padding, const Dims& output_padding, const Dims& dilation,
                                  int64_t groups);

}  // namespace flambeau::lower
