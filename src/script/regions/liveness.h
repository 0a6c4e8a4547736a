// What a TorchScript program needs of what it computes.
#pragma once

#include <unordered_set>

#include "reader/torchscript/graph.h"

namespace flambeau::script {

// The values on which depend what the program returns and what it writes, but
// not what alone decides whether it raises. A loop needs all that it carries.
std::unordered_set<const torchscript::Value*> LiveValues(const torchscript::Graph& source);

// The values that are outputs of the program, or parts of these, and nothing else.
std::unordered_set<const torchscript::Value*> OnlyReturned(const torchscript::Graph& source);

// The nodes of the program after which few others follow, no branches or loops among them: what is walked on two paths from there
// to the end takes little room.
std::unordered_set<const torchscript::Node*> LastNodes(const torchscript::Graph& source);

// Whether it writes somewhere, as far as models go: texts and warnings do not count.
bool HasEffect(const torchscript::Node& node);

}  // namespace flambeau::script
