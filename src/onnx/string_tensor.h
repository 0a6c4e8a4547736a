// Tensors of strings. Their bytes are, for each element, its length (four
// bytes, little-endian) and its characters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor_data.h"

namespace flambeau::onnx {

TensorData MakeStringTensor(std::span<const std::string> elements, std::vector<int64_t> sizes);
// nullopt where the bytes don't hold as many strings as the sizes say.
std::optional<std::vector<std::string>> ReadStrings(const TensorData& data);

}  // namespace flambeau::onnx
