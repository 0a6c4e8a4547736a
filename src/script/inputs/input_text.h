// The words in which a caller describes an input: "float32[batch,3,224,224]",
// "3", "None", "[float32[3,h,w], float32[3,h,w]]", "{'mask': bool[batch,n]}".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flambeau/script.h"
#include "reader/torchscript/graph.h"

namespace flambeau::script {

// nullopt if the text describes no input.
std::optional<ScriptInput> ParseInput(std::string_view text);

// How an input of that type may be described.
std::string ExampleOf(const torchscript::Type& type);

}  // namespace flambeau::script
