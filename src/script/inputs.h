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

// A description for each input of the program without `self`: the caller's, else
// what the program records. What is missing is one error that names all of it.
Result<std::vector<ScriptInput>> DescribeInputs(const torchscript::Graph& graph,
                                                std::span<const std::pair<std::string, std::string>> given, Sink& sink);

// What the source calls a value: "x" where torch has "x.1", to tell it from others of that name; empty where only torch
// has a name for it ("9").
std::string_view SourceName(std::string_view name);

}  // namespace flambeau::script
