// Values of ONNX nodes on constants.
//
// What only changes how bytes are seen (Transpose, Slice, Expand, …) gives
// another view of the same source: it costs nothing at any size, and the writer
// gathers the bytes. What computes elements reads all of them.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/tensor_data.h"
#include "pass/onnx/editor.h"

namespace flambeau {

// The results of the node as views of its first operand's bytes; nullopt where
// the operator is no such view, or not of these bytes.
std::optional<std::vector<TensorData>> EvaluateView(const Editor& editor, NodeId node);

// Whether EvaluateElements knows the operator.
bool HasEvaluation(std::string_view op);
// The node's only result, computed; nullopt where that can't be done or takes
// more than `limit` bytes. All operands are constants (or absent).
std::optional<TensorData> EvaluateElements(const Editor& editor, NodeId node, uint64_t limit);

}  // namespace flambeau
