#include "aten/aliasing.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "aten/strides.h"
#include "support/static_index.h"

namespace flambeau::aten {
namespace {

enum class When : uint8_t { kAlways, kNever, kUnless, kSameDtype, kContiguous, kStrides, kReal, kUnsummed, kUnknown };

struct AliasRow {
  std::string_view op, argument;
  When when;
};
constexpr AliasRow kAliasRows[] = {
#define FLAMBEAU_ALIAS(op, argument, when) {op, argument, When::when},
#define FLAMBEAU_WRITE(...)
#define FLAMBEAU_SELF(...)
#include "aten/aliasing.def"
#undef FLAMBEAU_SELF
#undef FLAMBEAU_WRITE
#undef FLAMBEAU_ALIAS
};
constexpr std::string_view kSelfRows[] = {
#define FLAMBEAU_ALIAS(...)
#define FLAMBEAU_WRITE(...)
#define FLAMBEAU_SELF(op) op,
#include "aten/aliasing.def"
#undef FLAMBEAU_SELF
#undef FLAMBEAU_WRITE
#undef FLAMBEAU_ALIAS
};
static_assert(std::ranges::is_sorted(kSelfRows));
// Which give tensors without dimensions as they are.
constexpr std::string_view kSelfOfNumbers[] = {"aten::mH", "aten::mT", "aten::matrix_H"};

struct WriteRow {
  std::string_view op, first, second, when, pure;
};
constexpr WriteRow kWriteRows[] = {
#define FLAMBEAU_ALIAS(...)
#define FLAMBEAU_WRITE(...) {__VA_ARGS__},
#define FLAMBEAU_SELF(...)
#include "aten/aliasing.def"
#undef FLAMBEAU_SELF
#undef FLAMBEAU_WRITE
#undef FLAMBEAU_ALIAS
};

template <class Row, size_t kCount>
const Row* Find(const Row (&rows)[kCount], std::string_view key) {
  static const auto* index = new StaticIndex<const Row*>(rows, &Row::op, [](const Row& row) { return &row; });
  return index->ValueOr(key, nullptr);
}

template <class Row, size_t kCount>
const Row* FindRow(const Row (&rows)[kCount], const Schema& schema) {
  const Row* row = Find(rows, schema.name);
  return row != nullptr ? row : Find(rows, schema.base);
}

bool IsTrue(const Graph& graph, NodeId node, std::string_view argument) {
  const Attribute* attribute = graph.FindAttribute(node, argument);
  const bool* value = attribute ? std::get_if<bool>(attribute) : nullptr;
  return value != nullptr && *value;
}

Relation From(Decision decision) {
  switch (decision) {
    case Decision::kNo: return Relation::kFresh;
    case Decision::kYes: return Relation::kAlias;
    case Decision::kUnknown: break;
  }
  return Relation::kMaybe;
}

// Where it is not known, the same where no size is 1 may be.
Relation From(Decision decision, auto unless_one) {
  const Relation relation = From(decision);
  return relation == Relation::kMaybe && unless_one() == Decision::kNo ? Relation::kIfOne : relation;
}

// Whether only a run knows the argument.
bool IsOpen(const Graph& graph, NodeId node, std::string_view argument) {
  const Attribute* attribute = graph.FindAttribute(node, argument);
  return attribute != nullptr && std::holds_alternative<Operand>(*attribute);
}

Relation OfConversion(const Graph& graph, NodeId node, const Type& from, const Type& to) {
  if (from.dtype != to.dtype || IsTrue(graph, node, "copy")) return Relation::kFresh;
  if (IsOpen(graph, node, "copy")) return Relation::kMaybe;
  // Types do not say on which device a value lives.
  if (const Attribute* device = graph.FindAttribute(node, "device"); device && !std::holds_alternative<None>(*device))
    return Relation::kMaybe;
  const MemoryFormat format = FormatOf(graph, node, MemoryFormat::kPreserve);
  return format == MemoryFormat::kPreserve ? Relation::kAlias : From(Suggests(from, format, graph.context().exprs()));
}

// Whether an equation, as einsum has them, has letters that its result has not: without "->" those that stand there twice.
bool SumsLetters(const Graph& graph, NodeId node) {
  const Attribute* attribute = graph.FindAttribute(node, "equation");
  const auto* equation = attribute ? std::get_if<std::string>(attribute) : nullptr;
  if (equation == nullptr) return false;
  const size_t arrow = equation->find("->");
  const std::string_view operand = std::string_view(*equation).substr(0, arrow);
  return std::ranges::any_of(operand, [&](char letter) {
    if (std::isalpha(static_cast<unsigned char>(letter)) == 0) return false;
    return arrow == std::string::npos ? std::ranges::count(operand, letter) > 1 : equation->find(letter, arrow) == std::string::npos;
  });
}

Relation Decide(const Graph& graph, NodeId node, When when, const Type& from, const Type& to) {
  ExprPool& exprs = graph.context().exprs();
  switch (when) {
    case When::kAlways: return Relation::kAlias;
    case When::kNever: return Relation::kFresh;
    case When::kUnless: {
      const Attribute* p = graph.FindAttribute(node, "p");
      const double* probability = p ? std::get_if<double>(p) : nullptr;
      if (IsOpen(graph, node, "train")) return Relation::kMaybe;
      const bool copies = IsTrue(graph, node, "train") && (probability == nullptr || *probability != 0);
      return copies ? Relation::kFresh : Relation::kAlias;
    }
    case When::kSameDtype: return OfConversion(graph, node, from, to);
    case When::kContiguous: {
      const MemoryFormat format = FormatOf(graph, node, MemoryFormat::kContiguous);
      return From(IsContiguous(from, format, exprs), [&] { return IsContiguousUnlessOne(from, format, exprs); });
    }
    case When::kStrides:
      if (!to.ranked) return Relation::kMaybe;
      return From(CanView(from, to.sizes, exprs), [&] { return CanViewUnlessOne(from, to.sizes, exprs); });
    case When::kReal: return IsComplex(from.dtype) ? Relation::kMaybe : Relation::kAlias;
    case When::kUnsummed: return SumsLetters(graph, node) ? Relation::kFresh : Relation::kMaybe;
    case When::kUnknown: break;
  }
  return Relation::kMaybe;
}

uint32_t ArgumentIndex(const Schema& schema, const SchemaArgument& argument) {
  return static_cast<uint32_t>(&argument - schema.arguments.data());
}

}  // namespace

MemoryFormat FormatOf(const Graph& graph, NodeId node, MemoryFormat absent) {
  const Attribute* attribute = graph.FindAttribute(node, "memory_format");
  const MemoryFormat* format = attribute ? std::get_if<MemoryFormat>(attribute) : nullptr;
  return format != nullptr ? *format : absent;
}

const SchemaArgument& ReturnOf(const Graph& graph, NodeId node, const Schema& schema, uint32_t result) {
  static const SchemaArgument kNone;
  if (schema.returns.size() == 1) return schema.returns[0];
  // A list among several returns cannot be told apart; none of these aliases.
  if (schema.returns.size() != graph[node].result_count) return kNone;
  return schema.returns[result];
}

std::optional<uint32_t> TensorOperand(const Graph& graph, NodeId node, uint32_t argument, uint32_t element) {
  if (argument >= graph[node].attributes.size()) return std::nullopt;
  const Attribute& value = graph[node].attributes[argument].value;
  if (const auto* operand = std::get_if<Operand>(&value)) return operand->index;
  if (const auto* list = std::get_if<OperandList>(&value))
    if (element < list->size())
      if (const auto* operand = std::get_if<Operand>(&(*list)[element])) return operand->index;
  return std::nullopt;
}

ValueId TensorArgument(const Graph& graph, NodeId node, uint32_t argument, uint32_t element) {
  const auto operand = TensorOperand(graph, node, argument, element);
  return operand ? graph.operand(node, *operand) : ValueId{};
}

uint32_t ElementCount(const Graph& graph, NodeId node, uint32_t argument) {
  if (argument >= graph[node].attributes.size()) return 0;
  const Attribute& value = graph[node].attributes[argument].value;
  if (std::holds_alternative<Operand>(value)) return 1;
  const auto* list = std::get_if<OperandList>(&value);
  return list != nullptr ? static_cast<uint32_t>(list->size()) : 0;
}

ResultAlias AliasOf(const Graph& graph, NodeId node, const Schema& schema, uint32_t result,
                    std::span<const TypeId> operands) {
  const SchemaArgument* from = nullptr;
  When when = When::kAlways;
  if (const AliasRow* row = FindRow(kAliasRows, schema); row != nullptr && schema.Find(row->argument) != nullptr) {
    from = schema.Find(row->argument);
    when = row->when;
  } else if (const SchemaArgument& to = ReturnOf(graph, node, schema, result); !to.alias.empty()) {
    const auto found = std::find_if(schema.arguments.begin(), schema.arguments.end(),
                                    [&](const SchemaArgument& argument) { return argument.alias == to.alias; });
    if (found != schema.arguments.end()) from = &*found;
  }
  if (from == nullptr) return {};
  const uint32_t argument = ArgumentIndex(schema, *from);
  // What einsum and its like do to several tensors makes a new one.
  if ((when == When::kUnknown || when == When::kUnsummed) && ElementCount(graph, node, argument) > 1) return {};
  const auto operand = TensorOperand(graph, node, argument, from->type.list ? result : 0);
  const Type& to = graph.type(graph.result(node, result));
  if (!operand || !operands[*operand] || !to.is_tensor()) return {};
  const Type& type = graph.context()[operands[*operand]];
  if (!type.is_tensor()) return {};
  const Relation relation = Decide(graph, node, when, type, to);
  const bool itself = relation == Relation::kAlias && !IsComplex(type.dtype) && type.dtype == to.dtype && type.ranked &&
                      to.ranked && type.rank() == to.rank() && !from->type.list &&
                      (std::ranges::binary_search(kSelfRows, schema.base) ||
                       (type.rank() == 0 && std::ranges::find(kSelfOfNumbers, schema.base) != std::end(kSelfOfNumbers)));
  return {relation, argument, itself};
}

Writes WritesOf(const Graph& graph, NodeId node, const Schema& schema) {
  Writes writes;
  auto add = [&](const SchemaArgument* argument) {
    if (argument == nullptr || argument->type.base != BaseType::kTensor) return;
    const uint32_t index = ArgumentIndex(schema, *argument);
    if (ElementCount(graph, node, index) > 0) writes.arguments.push_back(index);
  };
  if (const WriteRow* row = FindRow(kWriteRows, schema)) {
    if (!row->when.empty() && !IsTrue(graph, node, row->when)) return writes;
    writes.listed = true;
    writes.pure = row->pure;
    if (!row->first.empty()) {
      add(schema.Find(row->first));
      if (!row->second.empty()) add(schema.Find(row->second));
      return writes;
    }
  }
  for (const SchemaArgument& argument : schema.arguments)
    if (argument.writes) add(&argument);
  return writes;
}

}  // namespace flambeau::aten
