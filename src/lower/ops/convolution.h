// Convolutions of one to three dimensions, for translators that compose them.
#pragma once

#include <optional>

#include "lower/lowering.h"

namespace flambeau::lower {

// aten::convolution: (batch, channels, spatial…), where the batch may be missing.
Tensor Convolution(Lowering& to, Tensor input, Tensor weight, std::optional<Tensor> bias, Dims stride, Dims padding,
                   Dims dilation, bool transposed, Dims output_padding, Dim groups);

}  // namespace flambeau::lower
