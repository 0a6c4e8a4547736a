// A functional ATen program becomes an ONNX graph.
#pragma once

#include "aten/program.h"
#include "diag/sink.h"
#include "ir/graph.h"
#include "lower/additions.h"

namespace flambeau::lower {

class CustomOperators;

struct LowerOptions {
  int opset = 20;
  bool state_outputs = false;  // new values of mutated buffers and inputs are outputs, too
  bool export_params = true;   // false: what a state_dict holds are inputs of the graph
  bool widens_for_runtime = true;  // onnx::Builder
  const CustomOperators* custom = nullptr;  // what the user brings (custom.h)
  bool narrows_weights = true;     // Lowering
};

struct LoweredProgram {
  Graph graph;
  Additions additions;
  std::vector<ValueId> inputs;  // of the program, one for each input of the graph
};

// Inputs of the result: the user's, in order (then parameters where they are not
// exported); outputs: the user's, in order, then the new states. Values keep
// the names that the capture gave inputs, outputs and results.
//
// Goes on past what it can't translate, so that one run reports all of it; the
// result is a failure then.
Result<LoweredProgram> LowerProgram(const Program::Impl& program, const LowerOptions& options, Sink& sink);

}  // namespace flambeau::lower
