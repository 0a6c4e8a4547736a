// Modules that code takes out of a container by what only a run knows.
#pragma once

#include <memory>
#include <string>

#include "reader/torchscript/library.h"

namespace flambeau::torchscript {

inline constexpr std::string_view kPick = "prim::ModuleContainerIndex";

// A function of the container, of which this class is, of the index, and of what `call`, a call of a method of what is
// picked, is given besides: the call of that method of each module, in an If on which one it is.
Result<std::unique_ptr<Graph>> EmitPickedCall(const ClassInfo& container, const Node& call, const TypePtr& index, Library& library);

// Drops what was picked and is not needed any more, as its calls are inlined.
void DropUnusedPicks(Graph& graph);

}  // namespace flambeau::torchscript
