// Names for every node and value of an ONNX graph, unique over all nested
// graphs, as the checker and runtimes insist, and the same in every run.
//
// Nodes are called after where they come from: `/encoder/layers.0/attn/MatMul`;
// values after the node: `/encoder/layers.0/attn/MatMul_output_0`. A name that
// something has already stays where it is free: first come the caller's names,
// then those of inputs, of initializers (`state_dict` names), of outputs, of the
// rest. An output without any name is called `output`.
#pragma once

#include <string>
#include <vector>

#include "diag/sink.h"
#include "ir/graph.h"
#include "onnx/operator_table.h"

namespace flambeau::onnx {

struct InterfaceNames {
  // In graph order; fewer than there are is fine, empty ones mean no wish. What
  // follows the names of the inputs are those of `weights`.
  std::vector<std::string> inputs, outputs;
  std::vector<ValueId> weights;
  // What outputs are called in the program, in graph order: a wish that gives way to names that are taken.
  std::vector<std::string> program_outputs;
};

// Fails where the caller's names clash.
//
// An output must be made in the graph that yields it, and by a name of its own:
// where it is an input, a constant, an outer value or another output, too, it
// goes through an Identity, or what says the same of a list at that opset.
Status AssignNames(Graph& graph, const InterfaceNames& names, Sink& sink, int opset = NewestOpset());

}  // namespace flambeau::onnx
