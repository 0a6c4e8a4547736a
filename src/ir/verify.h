// Whether a graph is what the rest of the code takes for granted: links and
// lists that agree, operands defined before they are used and visible there,
// attributes that name operands which exist, constants that fit their bytes.
//
// For the manager to run after each pass, and for tests. Linear; reports at
// most kMaxReports faults, which are bugs of the pass and not of the user.
#pragma once

#include "diag/sink.h"
#include "ir/graph.h"

namespace flambeau {

struct VerifyOptions {
  // As ONNX wants them: value and node labels are unique over all blocks, and
  // what a body yields is defined in it.
  bool unique_names = false;
  bool own_outputs = false;
};

Status VerifyGraph(const Graph& graph, Sink& sink, const VerifyOptions& options = {});

}  // namespace flambeau
