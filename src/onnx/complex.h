// Complex tensors. ONNX's operators do not compute with them, so a complex
// tensor is a value of the graph that holds pairs (real, imaginary) on a
// trailing axis, seen through a handle whose type is the complex one. Translators
// use that handle as any other: an operator that is asked for over complex
// operands is emitted over the pairs instead, by a rule for each operator of
// ONNX. What has no rule is reported.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/builder.h"

namespace flambeau::onnx {

// The dtype of the parts of a complex number, and the complex dtype of such parts.
DType PartDtype(DType complex);
DType ComplexDtype(DType part);
// The type of the value that holds a tensor of that type: complex ones are pairs.
Type PairType(Type type, ExprPool& exprs);

// The pairs of a complex tensor, and the complex tensor of pairs: no nodes.
Tensor Pairs(Builder& to, const Tensor& complex);
Tensor OfPairs(Builder& to, const Tensor& pairs);

// (real, imaginary), each without the trailing axis.
struct Parts {
  Tensor re, im;
};
Parts PartsOf(Builder& to, const Tensor& complex);
// Of parts that broadcast.
Tensor ComplexOf(Builder& to, const Parts& parts);
// To or from a complex dtype; numbers lose their imaginary part as in PyTorch.
Tensor CastComplex(Builder& to, const Tensor& tensor, DType dtype);

// Emits an operator that has complex operands; nullopt if none is complex.
std::optional<std::vector<Tensor>> EmitComplex(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                               const AttributeList& attributes, size_t results);

}  // namespace flambeau::onnx
