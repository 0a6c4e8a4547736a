// Which results of a call share storage with which arguments, and which
// arguments a call writes: the schemas' annotations and aliasing.def.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "aten/schema.h"
#include "ir/graph.h"

namespace flambeau::aten {

// kIfOne: fresh, but where a size that is known at run time only is 1.
enum class Relation : uint8_t { kFresh, kAlias, kMaybe, kIfOne };

struct ResultAlias {
  Relation relation = Relation::kFresh;
  uint32_t argument = 0;  // of the schema
  bool itself = false;    // the tensor that was given, not another view of its storage
};

// Of result number `result` of an ATen node. `operands`: the types of its
// operands as captured; strides decide much, and the values that a pass has put
// in their place may have others.
ResultAlias AliasOf(const Graph& graph, NodeId node, const Schema& schema, uint32_t result,
                    std::span<const TypeId> operands);

struct Writes {
  std::vector<uint32_t> arguments;  // of the schema, in order
  // Set by a row of the table: the operator that returns what is written.
  bool listed = false;
  std::string_view pure;
};

Writes WritesOf(const Graph& graph, NodeId node, const Schema& schema);

// The memory format that a call asks for; `absent` where it names none.
MemoryFormat FormatOf(const Graph& graph, NodeId node, MemoryFormat absent);

// The entry of schema.returns to which a result belongs.
const SchemaArgument& ReturnOf(const Graph& graph, NodeId node, const Schema& schema, uint32_t result);

// Which operand a tensor argument is, or element `element` of a list; nullopt if
// it is absent.
std::optional<uint32_t> TensorOperand(const Graph& graph, NodeId node, uint32_t argument, uint32_t element = 0);
// The value of a tensor argument, or of element `element` of a list; invalid if
// absent.
ValueId TensorArgument(const Graph& graph, NodeId node, uint32_t argument, uint32_t element = 0);
// The number of values that the argument holds: 0 for a constant.
uint32_t ElementCount(const Graph& graph, NodeId node, uint32_t argument);

}  // namespace flambeau::aten
