// What differs between opsets: operators are asked for in the form of their
// newest version; here they become what the target opset has. The rules are
// tables by subject (legalize/*.cpp). Some rules look at what onnxruntime runs,
// too, where the model is for it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/type.h"
#include "onnx/attribute_list.h"
#include "onnx/tensor.h"

namespace flambeau::onnx {

class Builder;

// Whether a rule has a say in what the operator becomes at that opset.
bool HasOlderForm(std::string_view op, int opset);

// Emits the operator in the form of the builder's opset if that differs from
// the newest, whose results have the types `results`; nullopt if nothing needs
// to change. Only where HasOlderForm.
std::optional<std::vector<Tensor>> Legalize(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                            const AttributeList& attributes, std::span<const Type> results);

// The attributes with axes counted from the start; nullopt if they are so.
std::optional<AttributeList> WithForwardAxes(std::string_view op, std::span<const Tensor> operands,
                                             const AttributeList& attributes);

}  // namespace flambeau::onnx
