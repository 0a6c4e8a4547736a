// The handles of the IR. All index stores of one Context or one Graph.
#pragma once

#include "support/ids.h"
#include "support/interner.h"

namespace flambeau {

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using BlockId = Id<struct BlockTag>;    // a body: the main graph, a branch, a loop's body
using TypeId = Id<struct TypeTag>;      // interned in a Context: equal types, equal ids
using Expr = Id<struct ExprTag>;        // a symbolic integer, interned in an ExprPool
using DataId = Id<struct DataTag>;      // a tensor's bytes, wherever they lie
using OriginId = Id<struct OriginTag>;  // where in the user's model a node comes from

}  // namespace flambeau
