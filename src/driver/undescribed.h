// What a TorchScript program tells before anybody has said what its inputs are.
#pragma once

#include <span>

#include "flambeau/convert.h"
#include "reader/torchscript/graph.h"
#include "script/inputs/inputs.h"

namespace flambeau {

ProgramSummary SummarizeUndescribed(const torchscript::Graph& graph, std::span<const script::MissingInput> missing);

}  // namespace flambeau
