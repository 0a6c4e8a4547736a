// What the builder's files share about sizes.
#pragma once

#include "onnx/builder.h"

namespace flambeau::onnx {

// Whether the size can be a number of the model: all its symbols have sources.
bool IsComputable(Builder& to, Dim dim);

}  // namespace flambeau::onnx
