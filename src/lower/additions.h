// What lowering puts into a model beside its graph.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ids.h"
#include "onnx/model.h"

namespace flambeau::lower {

struct Additions {
  // Versions of the domains that custom nodes are of; others have version 1.
  std::map<std::string, int, std::less<>> domains;
  // Which of the program's outputs each output of the graph is.
  std::vector<size_t> outputs;
  // Metadata that a program gives nodes itself.
  std::unordered_map<NodeId, onnx::Properties> node_metadata;
};

}  // namespace flambeau::lower
