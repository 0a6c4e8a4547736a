// The captured program as the engine holds it: the ATen graph and its signature.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aten/declarations.h"
#include "flambeau/program.h"
#include "ir/context.h"
#include "ir/graph.h"

namespace flambeau {

struct InputSpec {
  InputKind kind;
  ValueId value;  // an input of the main block, or a constant with bytes
  Symbol name;    // of the placeholder
  Symbol target;  // in the state_dict; empty for user inputs, and constants that each run makes anew
  bool persistent = true;
  bool seems_read = false;  // to torch's exporter of TorchScript, which keeps it (script/inputs/kept_inputs.cpp)
};

// One for each operand of the main block's terminator, in order.
struct OutputSpec {
  OutputKind kind;
  Symbol name;
  Symbol target;  // the buffer or input that a mutation writes

  // Whether it is a new value of what was there before, no result.
  bool IsState() const {
    return kind == OutputKind::kBufferMutation || kind == OutputKind::kParameterMutation || kind == OutputKind::kUserInputMutation;
  }
};

struct DimensionName {
  size_t input;  // among the user's tensor inputs
  size_t dim;
  std::string name;
  std::string frozen_by;  // the source line that made it a constant, if that is known
};

struct Program::Impl {
  Impl() : context(std::make_unique<Context>()), graph(context.get()) {}

  std::unique_ptr<Context> context;
  Graph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  aten::Declarations declared;  // schemas of users' operators
  std::vector<DimensionName> dimension_names;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string name = "main_graph";
  std::string torch_version;
  DType default_dtype = DType::kFloat32;  // torch's at the capture
  // Of the archive, where there is one: all its models or methods, and what stands beside them.
  std::vector<std::string> alternatives;
  std::vector<std::pair<std::string, uint64_t>> extra_files;  // name, bytes
};

}  // namespace flambeau
