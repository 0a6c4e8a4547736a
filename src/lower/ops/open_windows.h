// Pools over windows of which a size or a step is known to a run only: they go along one axis after the other, over the
// elements of its windows.
#pragma once

#include <optional>

#include "lower/lowering.h"

namespace flambeau::lower {

struct OpenWindow {
  Dims kernel, stride, padding, dilation;  // an entry an axis
  bool ceil_mode;
};

// One value stands for all axes, and no stride for the kernel.
OpenWindow OpenWindowOf(Lowering& to, int64_t spatial, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation,
                        bool ceil_mode);

Tensor MaxPoolByAxes(Lowering& to, Tensor x, const OpenWindow& window);
Tensor AveragePoolByAxes(Lowering& to, Tensor x, const OpenWindow& window, bool count_include_pad, std::optional<int64_t> divisor);

}  // namespace flambeau::lower
