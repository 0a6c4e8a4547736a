// torch's functionalization wraps a user's operator that writes: auto_functionalized_v2(op, …) names the memory that is
// written ("bases"), which part of it each argument is, and gives the new bases. Here the operator writes to copies of them
// again, so that there is one way, functionalize's, to make it pure.
#include <fmt/format.h>

#include "aten/schema.h"
#include "pass/aten/call.h"
#include "pass/aten/passes.h"

namespace flambeau {
namespace {

using aten::Schema;
using aten::SchemaArgument;

constexpr std::string_view kDense = "higher_order::auto_functionalized", kOfBases = "higher_order::auto_functionalized_v2";

class Expander {
 public:
  Expander(Graph& graph, NodeId node, const Schema& schema)
      : graph_(graph), context_(graph.context()), node_(node), call_(Call::Of(graph, node)), schema_(schema), maker_(context_, schema.name) {}

  // Whether the node had what its kind has.
  bool Run() {
    return (graph_.op(node_) == kOfBases ? TakeBases() : TakeArguments()) && Replace();
  }

 private:
  const Attribute* Find(std::string_view name) const { return call_.Find(context_.Intern(name)); }
  const Attribute* Find(std::string_view prefix, std::string_view name) const { return Find(fmt::format("{}_{}", prefix, name)); }

  ValueId ValueOf(const Operand& operand) const { return call_.operands[operand.index]; }
  ValueId Insert(Call call, TypeId type) { return InsertCall(graph_, node_, std::move(call), type, graph_[node_].origin); }

  ValueId Copy(ValueId value) {
    const ValueId copy = Insert(CallMaker(context_, "aten::clone").Set("self", value).Make(), graph_[value].type);
    written_.push_back(copy);
    return copy;
  }

  std::optional<Expr> SizeOf(const ListElement& element) {
    if (const auto* number = std::get_if<int64_t>(&element)) return context_.exprs().Constant(*number);
    const auto* operand = std::get_if<Operand>(&element);
    if (operand == nullptr || !ValueOf(*operand)) return std::nullopt;
    const auto& contents = graph_.type(ValueOf(*operand)).contents;
    return contents && !contents->empty() ? (*contents)[0] : context_.exprs().Anonymous();
  }

  // The part of a copied base that the argument, or the element of one, called `prefix` is. nullopt: the node is malformed.
  std::optional<ValueId> PartOf(const std::string& prefix) {
    const Attribute* index = Find(prefix, "base_index");
    if (index == nullptr) return std::nullopt;
    if (std::holds_alternative<None>(*index)) return ValueId{};
    const auto* position = std::get_if<int64_t>(index);
    if (position == nullptr || *position < 0 || static_cast<size_t>(*position) >= written_.size()) return std::nullopt;
    const ValueId base = written_[static_cast<size_t>(*position)];
    Type type = graph_.type(base);
    if (const Attribute* size = Find(prefix, "size")) {
      type.sizes.clear();
      if (const auto* constants = std::get_if<Ints>(size)) {
        for (const int64_t each : *constants) type.sizes.push_back(context_.exprs().Constant(each));
      } else if (const auto* mixed = std::get_if<OperandList>(size)) {
        for (const ListElement& element : *mixed) {
          const auto each = SizeOf(element);
          if (!each) return std::nullopt;
          type.sizes.push_back(*each);
        }
      } else {
        return std::nullopt;
      }
      CallMaker maker(context_, "aten::as_strided");
      maker.Set("self", base).Take("size", call_, prefix + "_size").Take("stride", call_, prefix + "_stride");
      maker.Take("storage_offset", call_, prefix + "_storage_offset");
      return Insert(maker.Make(), context_.Intern(Type::OfTensor(type.dtype, std::move(type.sizes))));
    }
    if (const Attribute* dim = Find(prefix, "slice_dim")) {
      const auto* axis = std::get_if<int64_t>(dim);
      const Attribute *start = Find(prefix, "slice_start"), *end = Find(prefix, "slice_end");
      if (axis == nullptr || *axis < 0 || static_cast<size_t>(*axis) >= type.sizes.size() || !start || !end) return std::nullopt;
      const auto *from = std::get_if<int64_t>(start), *to = std::get_if<int64_t>(end);
      type.sizes[static_cast<size_t>(*axis)] = from && to ? context_.exprs().Constant(*to - *from) : context_.exprs().Anonymous();
      CallMaker maker(context_, "aten::slice.Tensor");
      maker.Set("self", base).Take("dim", call_, prefix + "_slice_dim").Take("start", call_, prefix + "_slice_start").Take("end", call_, prefix + "_slice_end");
      return Insert(maker.Make(), context_.Intern(Type::OfTensor(type.dtype, std::move(type.sizes))));
    }
    return base;
  }

  bool TakeBases() {
    const Attribute* bases = Find("_all_bases");
    const auto* list = bases ? std::get_if<OperandList>(bases) : nullptr;
    if (list == nullptr) return false;
    for (const ListElement& element : *list) {
      const auto* base = std::get_if<Operand>(&element);
      if (base == nullptr || !ValueOf(*base)) return false;
      Copy(ValueOf(*base));
    }
    for (const SchemaArgument& argument : schema_.arguments) {
      if (!argument.writes) {
        maker_.Take(argument.name, call_, argument.name);
        continue;
      }
      const std::string prefix = fmt::format("_{}", argument.name);
      if (!argument.type.list) {
        const auto part = PartOf(prefix);
        if (!part) return false;
        if (*part) maker_.Set(argument.name, *part);
        continue;
      }
      const Attribute* length = Find(prefix, "length");
      const auto* count = length ? std::get_if<int64_t>(length) : nullptr;
      if (count == nullptr) continue;  // no list
      std::vector<ValueId> parts;
      for (int64_t i = 0; i < *count; ++i) {
        const auto part = PartOf(fmt::format("{}_{}", prefix, i));
        if (!part) return false;
        parts.push_back(*part);
      }
      maker_.Set(argument.name, parts);
    }
    return true;
  }

  bool TakeArguments() {
    for (const SchemaArgument& argument : schema_.arguments) {
      const Attribute* given = argument.writes ? Find(argument.name) : nullptr;
      if (const auto* one = given ? std::get_if<Operand>(given) : nullptr; one && ValueOf(*one)) {
        maker_.Set(argument.name, Copy(ValueOf(*one)));
      } else if (const auto* list = given ? std::get_if<OperandList>(given) : nullptr) {
        std::vector<ValueId> copies;
        for (const ListElement& element : *list)
          if (const auto* each = std::get_if<Operand>(&element); each && ValueOf(*each)) copies.push_back(Copy(ValueOf(*each)));
        maker_.Set(argument.name, copies);
      } else {
        maker_.Take(argument.name, call_, argument.name);
      }
    }
    return true;
  }

  // The operator's own results come first; one that gives none has a None there.
  bool Replace() {
    const uint32_t count = graph_[node_].result_count;
    if (count < written_.size()) return false;
    const auto own = count - static_cast<uint32_t>(written_.size());
    std::vector<TypeId> types;
    for (uint32_t i = 0; i < own && !schema_.returns.empty(); ++i) types.push_back(graph_[graph_.result(node_, i)].type);
    const NodeId call = InsertCall(graph_, node_, maker_.Make(), types, graph_[node_].origin);
    for (uint32_t i = 0; i < count; ++i) {
      const ValueId from = graph_.result(node_, i);
      if (i < own && i >= types.size()) {
        if (graph_.HasUses(from)) return false;
        continue;
      }
      const ValueId to = i < own ? graph_.result(call, i) : written_[i - own];
      graph_.SetName(to, graph_[from].name);
      graph_.ReplaceAllUses(from, to);
    }
    graph_.Erase(node_);
    return true;
  }

  Graph& graph_;
  Context& context_;
  NodeId node_;
  Call call_;
  const Schema& schema_;
  CallMaker maker_;
  std::vector<ValueId> written_;  // copies of what is written, in the order of the results
};

Status Expand(Graph& graph, NodeId node, Sink& sink) {
  const auto& attributes = graph[node].attributes;
  const auto* target = attributes.empty() ? nullptr : std::get_if<std::string>(&attributes[0].value);
  Location where = LocationOf(graph, node);
  if (target == nullptr) return sink.Error(DiagnosticKind::kBadProgram, "wraps no operator that has a name", std::move(where));
  where.operation = aten::CanonicalName(*target);
  const Schema* schema = aten::FindSchema(where.operation);
  if (schema == nullptr) return ReportUnknownWrites(where, sink);
  if (Expander(graph, node, *schema).Run()) return {};
  return sink.Error(DiagnosticKind::kBadProgram, "its arguments are not those that its schema and what wraps it ask for", std::move(where));
}

}  // namespace

Result<Changed> ExpandFunctionalized(Program::Impl& program, PassContext& context) {
  Changed changed = Changed::kNo;
  bool ok = true;
  for (const BlockId block : program.graph.AllBlocks())
    program.graph.ForEachNode(block, [&](NodeId node) {
      const std::string_view op = program.graph.op(node);
      if (op != kDense && op != kOfBases) return;
      changed = Changed::kYes;
      ok = Expand(program.graph, node, context.sink) && ok;
    });
  if (!ok) return kFailure;
  return changed;
}

}  // namespace flambeau
