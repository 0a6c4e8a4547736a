// Where in the user's model a node of an ONNX graph comes from, for messages.
#pragma once

#include "flambeau/diagnostic.h"
#include "ir/graph.h"

namespace flambeau::onnx {

Location LocationOf(const Graph& graph, NodeId node);

}  // namespace flambeau::onnx
