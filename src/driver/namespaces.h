// Which module a node belongs to, as torch.onnx writes it and in a short form.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/graph.h"

namespace flambeau {

// The module hierarchy down to one captured node.
struct Scopes {
  std::string classes, names;  // lists as Python writes them: ['model.Net', 'model.Block', 'aten.relu.default']
  std::string name_space;      // ": model.Net/layers.0: model.Block/relu: aten.relu.default"
};
Scopes ScopesOf(const Context& context, const Origin& origin);

// The short form: "layers.0.attn" at the first of neighbouring nodes of a
// module. Paths are cut at the depth at which all of them together take no more
// than a tenth of the graph's bytes. Nodes must have their names.
std::unordered_map<NodeId, std::string_view> BriefNamespaces(const Graph& graph);

}  // namespace flambeau
