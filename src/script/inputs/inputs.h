// What a caller says of a TorchScript program's inputs, in words:
// "float32[batch,3,224,224]", "3", "None".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/sink.h"
#include "flambeau/script.h"
#include "reader/torchscript/graph.h"

namespace flambeau::script {

// An input, or an element of one, of which nobody said enough.
struct MissingInput {
  std::string name, type;  // "images.0", "Tensor"
  std::string example;     // of a description: "float32[batch,3,224,224]"
};

// A description for each input of the program without `self`: the caller's, else
// what the program records.
struct DescribedInputs {
  std::vector<ScriptInput> inputs;  // of use where nothing is missing
  std::vector<MissingInput> missing;
};
Result<DescribedInputs> DescribeInputs(const torchscript::Graph& graph,
                                       std::span<const std::pair<std::string, std::string>> given, Sink& sink);

// One error that names all of them.
Failure ReportMissing(std::span<const MissingInput> missing, Location at, Sink& sink);

// What the source calls a value: "x" where torch has "x.1", to tell it from others of that name; empty where only torch
// has a name for it ("9").
std::string_view SourceName(std::string_view name);

}  // namespace flambeau::script
