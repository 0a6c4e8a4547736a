// How an operator becomes a node: legalised for the target opset, checked
// against its version there, cast around types that the version or the runtime
// lacks, its results' types inferred.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/builder.h"

namespace flambeau::onnx {

// An operator in the form of its newest version.
std::vector<Tensor> EmitNewestForm(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                   const AttributeList& attributes, size_t results);
// An operator in the very form that the target opset has.
std::vector<Tensor> EmitAsIs(Builder& to, std::string_view op, std::span<const Tensor> operands,
                             const AttributeList& attributes, size_t results);

// Reports a dtype that the target opset's version of the operator does not take or give, where nothing is cast around it.
void RequireDtypes(Builder& to, std::string_view op, std::span<const Tensor> operands, std::span<const Type> results);

// The dtype, wider without loss, in which the runtime computes an operator of which it has no kernel for `dtype`.
std::optional<DType> WiderForRuntime(const Builder& to, std::string_view op, std::string_view type_parameter, DType dtype);

}  // namespace flambeau::onnx
