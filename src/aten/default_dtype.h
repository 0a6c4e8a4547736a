// What torch.get_default_dtype() was when a program was captured.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace flambeau::aten {

// Archives don't record it, but it shows wherever PyTorch makes floats of nothing that floats: `ones(3)`, `n / 2`. nullopt if
// that is nowhere, and nothing depends on it then. Linear in the graph.
std::optional<DType> RecordedDefaultDtype(const Graph& graph);

}  // namespace flambeau::aten
