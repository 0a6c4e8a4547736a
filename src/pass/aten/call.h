// Makes ATen nodes: arguments by name, put into schema order, defaults filled
// in. For operators that PyTorch's table has; others are a bug.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/schema.h"
#include "diag/sink.h"
#include "flambeau/diagnostic.h"
#include "ir/graph.h"

namespace flambeau {

// A call without its place: a node's operator, operands and attributes.
struct Call {
  Symbol op;
  std::vector<ValueId> operands;
  std::vector<NamedAttribute> attributes;

  static Call Of(const Graph& graph, NodeId node);
  const Attribute* Find(Symbol name) const;
};

class CallMaker {
 public:
  CallMaker(Context& context, std::string_view op);

  CallMaker& Set(std::string_view name, ValueId value);
  CallMaker& Set(std::string_view name, Attribute constant);
  CallMaker& Set(std::string_view name, std::span<const ValueId> values);
  // The argument `from_name` of another call.
  CallMaker& Take(std::string_view name, const Call& from, std::string_view from_name);
  CallMaker& Take(const Call& from, std::initializer_list<std::string_view> names);
  // In schema order; resets the maker.
  Call Make();

 private:
  Attribute Renumber(const Attribute& attribute, std::span<const ValueId> operands);

  Context& context_;
  const aten::Schema* schema_;
  std::vector<ValueId> operands_;
  std::vector<NamedAttribute> given_;
};

NodeId InsertCall(Graph& graph, NodeId before, Call call, std::span<const TypeId> results, OriginId origin);
// Of a call with one result.
ValueId InsertCall(Graph& graph, NodeId before, Call call, TypeId result, OriginId origin);

// Where in the model a node comes from.
Location LocationOf(const Graph& graph, NodeId node);

// Says that a user's operator writes to who knows which argument.
Failure ReportUnknownWrites(const Location& where, Sink& sink);

}  // namespace flambeau
