#include "pass/aten/call.h"

#include <fmt/format.h>

#include <cassert>

namespace flambeau {

Call Call::Of(const Graph& graph, NodeId node) {
  return {graph[node].op, graph.operands(node), graph[node].attributes};
}

const Attribute* Call::Find(Symbol name) const {
  for (const NamedAttribute& attribute : attributes)
    if (attribute.name == name) return &attribute.value;
  return nullptr;
}

CallMaker::CallMaker(Context& context, std::string_view op) : context_(context), schema_(aten::FindSchema(op)) {
  assert(schema_ != nullptr);
}

CallMaker& CallMaker::Set(std::string_view name, ValueId value) {
  operands_.push_back(value);
  return Set(name, Operand{static_cast<uint32_t>(operands_.size() - 1)});
}

CallMaker& CallMaker::Set(std::string_view name, Attribute constant) {
  given_.push_back({context_.Intern(name), std::move(constant)});
  return *this;
}

CallMaker& CallMaker::Set(std::string_view name, std::span<const ValueId> values) {
  OperandList list;
  for (const ValueId value : values) {
    operands_.push_back(value);
    list.push_back(Operand{static_cast<uint32_t>(operands_.size() - 1)});
  }
  return Set(name, std::move(list));
}

Attribute CallMaker::Renumber(const Attribute& attribute, std::span<const ValueId> operands) {
  auto renumber = [&](Operand operand) {
    operands_.push_back(operands[operand.index]);
    return Operand{static_cast<uint32_t>(operands_.size() - 1)};
  };
  if (const auto* operand = std::get_if<Operand>(&attribute)) return renumber(*operand);
  const auto* list = std::get_if<OperandList>(&attribute);
  if (list == nullptr) return attribute;
  OperandList renumbered = *list;
  for (ListElement& element : renumbered)
    if (auto* operand = std::get_if<Operand>(&element)) element = renumber(*operand);
  return renumbered;
}

CallMaker& CallMaker::Take(std::string_view name, const Call& from, std::string_view from_name) {
  const Attribute* attribute = from.Find(context_.Intern(from_name));
  return attribute != nullptr ? Set(name, Renumber(*attribute, from.operands)) : *this;
}

CallMaker& CallMaker::Take(const Call& from, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) Take(name, from, name);
  return *this;
}

Call CallMaker::Make() {
  Call call;
  call.op = context_.Intern(schema_->name);
  call.operands = std::move(operands_);
  for (const aten::SchemaArgument& argument : schema_->arguments) {
    const Symbol name = context_.Intern(argument.name);
    Attribute value = argument.default_value;
    for (NamedAttribute& given : given_)
      if (given.name == name) value = std::move(given.value);
    call.attributes.push_back({name, std::move(value)});
  }
  given_.clear();
  return call;
}

NodeId InsertCall(Graph& graph, NodeId before, Call call, std::span<const TypeId> results, OriginId origin) {
  // The terminator is in no list: before it means at the end of its block.
  if (graph.IsTerminator(before))
    return graph.Append(graph[before].block, call.op, call.operands, std::move(call.attributes), results, origin);
  return graph.InsertBefore(before, call.op, call.operands, std::move(call.attributes), results, origin);
}

ValueId InsertCall(Graph& graph, NodeId before, Call call, TypeId result, OriginId origin) {
  return graph.result(InsertCall(graph, before, std::move(call), {&result, 1}, origin));
}

Location LocationOf(const Graph& graph, NodeId node) {
  Location location;
  if (!node) return location;
  location.operation = graph.op(node);
  const OriginId id = graph[node].origin;
  if (!id) return location;
  const Context& context = graph.context();
  if (const Symbol module = context[id].module_path(); module) location.module = context.Text(module);
  if (context[id].stack_trace) location.source = SourceLine(context.Text(context[id].stack_trace));
  return location;
}

Failure ReportUnknownWrites(const Location& where, Sink& sink) {
  return sink.Error(DiagnosticKind::kMissingInformation, fmt::format("{} writes to an argument, and its schema, which says to which, is not known", where.operation),
                    where, "flambeau.save writes the schemas of operators into an archive; an option gives them, too: operator_schemas, --operator-schema");
}

}  // namespace flambeau
