// How the results of operators lie in memory: scripts ask for that, and a later reshape or contiguous() copies or does not.
#pragma once

#include <optional>
#include <vector>

#include "aten/schema.h"
#include "ir/graph.h"

namespace flambeau::script {

// The strides of a result of that type, a view or not, of a node that calls the operator. nullopt: they are in the type,
// or not known here.
std::optional<std::vector<Expr>> StridesOfResult(Graph& graph, NodeId node, const aten::Schema& schema, const Type& type);

}  // namespace flambeau::script
