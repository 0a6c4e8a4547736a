// Ranks of the model's outputs: ONNX wants to know them, where a program may leave them to the path that a run takes.
#pragma once

#include "diag/sink.h"
#include "ir/graph.h"

namespace flambeau {

// Gives outputs of unknown rank, which Ifs decide, the type of the branch with the most dimensions: a squeeze that a size
// decides says what it leaves as it is. A warning names the output and the line; runtimes give what the path gives.
void DeclareOutputRanks(Graph& graph, Sink& sink);

}  // namespace flambeau
