// Which bools of the program are known on the path at hand: the conditions of
// the Ifs around it, and what follows from them.
#pragma once

#include <map>
#include <optional>

#include "ir/graph.h"

namespace flambeau::script {

class Facts {
 public:
  void Assume(const Graph& graph, ValueId condition, bool holds);
  std::optional<bool> Of(const Graph& graph, ValueId condition) const;

 private:
  std::map<ValueId, bool> known_;
};

}  // namespace flambeau::script
