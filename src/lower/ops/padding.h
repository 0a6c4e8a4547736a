// Padding for other families.
#pragma once

#include <optional>
#include <string_view>

#include "lower/op.h"

namespace flambeau::lower {

// torch.nn.functional.pad: pads come in pairs from the last dimension forwards.
Tensor Pad(Lowering& to, Tensor self, Dims pad, std::string_view mode, std::optional<Scalar> value);

}  // namespace flambeau::lower
