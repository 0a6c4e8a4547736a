// Nodes of an ONNX model become nodes of the graph at hand.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lower/lowering.h"
#include "onnx/model.h"

namespace flambeau::lower {

// `operands` stand for the model's inputs; returns its outputs. Reports, and
// returns nullopt, where the model does not fit: other counts, or a node that
// the target opset has in another form.
std::optional<std::vector<Tensor>> Splice(Lowering& to, const onnx::ModelData& model, std::span<const Tensor> operands);

}  // namespace flambeau::lower
