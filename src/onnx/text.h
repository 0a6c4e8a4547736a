// A model in ONNX's textual syntax, as onnx.parser reads it.
//
// For people, so tensors of more than kMostElements elements show no contents:
// they stand as external data without a place, `["location": "..."]`.
#pragma once

#include <string>

#include "onnx/model.h"

namespace flambeau::onnx {

inline constexpr uint64_t kMostElements = 16;

std::string ModelText(const ModelData& model);

}  // namespace flambeau::onnx
