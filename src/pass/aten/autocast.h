// The casts that an autocast region makes: the captured region holds
// `matmul(f32, f32) -> bf16` without them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "diag/sink.h"
#include "ir/graph.h"

namespace flambeau {

// The regions around a node that are switched on, innermost last.
struct AutocastRegion {
  bool cuda;
  DType dtype;
};
using AutocastRegions = std::vector<AutocastRegion>;

class Autocast {
 public:
  Autocast(Graph& graph, Sink& sink) : graph_(graph), sink_(sink) {}

  // The region in which the whole program was captured, of which it says nothing itself: an operator has a result that
  // autocast alone makes. Nothing where none has.
  AutocastRegions Surrounding() const;
  // Casts the arguments of a node as its innermost region would, and compares
  // the dtypes that follow with the recorded ones.
  Status Apply(NodeId node, const AutocastRegions& regions);
  // Casts are shared until this is called.
  void Forget() { casts_.clear(); }

 private:
  void CastOperands(NodeId node, DType dtype);
  Status CheckResults(NodeId node, DType dtype, bool exact);

  Graph& graph_;
  Sink& sink_;
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
};

}  // namespace flambeau
