// What differs between opsets: operators are asked for in the form of their
// newest version; here they become what the target opset has.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/attribute_list.h"
#include "onnx/tensor.h"

namespace flambeau::onnx {

class Builder;

// Emits the operator in the form of the builder's opset if that differs from
// the newest; nullopt if nothing needs to change.
std::optional<std::vector<Tensor>> Legalize(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                            const AttributeList& attributes, size_t results);

}  // namespace flambeau::onnx
