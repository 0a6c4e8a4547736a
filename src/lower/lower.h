// A functional ATen program becomes an ONNX graph.
#pragma once

#include "aten/program.h"
#include "diag/sink.h"
#include "ir/graph.h"

namespace flambeau::lower {

struct LowerOptions {
  int opset = 20;
  bool state_outputs = false;  // new values of mutated buffers and inputs are outputs, too
  bool export_params = true;   // false: parameters are inputs of the graph
};

// Inputs of the result: the user's, in order (then parameters where they are not
// exported); outputs: the user's, in order, then the new states. Values keep
// the names that the capture gave inputs, outputs and results.
//
// Goes on past what it can't translate, so that one run reports all of it; the
// result is a failure then.
Result<Graph> LowerProgram(const Program::Impl& program, const LowerOptions& options, Sink& sink);

}  // namespace flambeau::lower
