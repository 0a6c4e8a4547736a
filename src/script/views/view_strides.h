// The strides of a view, where they follow from those of the tensor: what
// decides whether a later reshape or contiguous() copies.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace flambeau::script {

// `node` calls the operator `base` on a tensor, its operand 0; `view` is the
// type of the result. nullopt: not known here.
std::optional<std::vector<Expr>> StridesOfView(const Graph& graph, NodeId node, std::string_view base, const Type& view);

}  // namespace flambeau::script
