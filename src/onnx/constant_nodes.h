// Constants of a graph as nodes, where its initializers are inputs: what a user may feed are the weights.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/graph.h"

namespace flambeau::onnx {

// Larger constants stay initializers, whatever they are: only those can lie beside the model.
inline constexpr uint64_t kLargestConstantNode = 1 << 20;  // bytes

// Each constant in use that is no weight becomes a Constant node at the start of the main graph, where the bodies within
// see it, too. Before opset 9 Constant has floats alone: integers and bools are cast from the same as floats. What no
// Constant of the opset says stays as it is.
void MakeConstantNodes(Graph& graph, const std::function<bool(ValueId)>& is_weight, int opset);

}  // namespace flambeau::onnx
