// What a call of a module runs besides its forward.
#pragma once

#include <memory>

#include "reader/torchscript/library.h"

namespace flambeau::torchscript {

// The graph of a call of a module of this class: its pre-hooks, forward, its hooks.
Result<std::unique_ptr<Graph>> EmitHookedCall(const ClassInfo& info, Library& library);

}  // namespace flambeau::torchscript
