#include "script/columns.h"

#include <algorithm>

namespace flambeau::script {

using torchscript::Node;

namespace {

enum class Outcome { kNothing, kItself, kNewList, kTuple, kNumber };

struct Row {
  std::string_view kind;
  Outcome outcome;
  size_t element = 0;       // the argument that is a tuple
  bool takes_list = false;  // argument 1 is another such list
  bool takes_place = false; // argument 1 is a place
};

constexpr Row kRows[] = {
    {"aten::Delete", Outcome::kNothing, 0, false, true},
    {"aten::__getitem__", Outcome::kTuple, 0, false, true},
    {"aten::_set_item", Outcome::kItself, 2, false, true},
    {"aten::add", Outcome::kNewList, 0, true},
    {"aten::add_", Outcome::kItself, 0, true},
    {"aten::append", Outcome::kItself, 1},
    {"aten::clear", Outcome::kNothing},
    {"aten::copy", Outcome::kNewList},
    {"aten::extend", Outcome::kItself, 0, true},
    {"aten::insert", Outcome::kItself, 2, false, true},
    {"aten::len", Outcome::kNumber},
    {"aten::list", Outcome::kNewList},
    {"aten::pop", Outcome::kTuple, 0, false, true},
    {"aten::reverse", Outcome::kNothing},
    {"aten::slice", Outcome::kNewList},
};

const Row* FindRow(std::string_view kind) {
  const auto found = std::ranges::find(kRows, kind, &Row::kind);
  return found != std::end(kRows) ? found : nullptr;
}

size_t FieldsOf(const Val& value, const Heap& heap) {
  if (const auto* tuple = value.As<TupleVal>()) return tuple->elements->size();
  const Cell* list = ListOf(value, heap);
  const auto columns = list != nullptr ? ColumnsOf(*list) : std::nullopt;
  return columns ? columns->size() : 0;
}

// The argument as field `k` has it.
Result<Val> FieldOf(Evaluator& evaluator, const Val& argument, size_t fields, size_t k) {
  if (const auto* tuple = argument.As<TupleVal>(); tuple != nullptr && tuple->elements->size() == fields)
    return (*tuple->elements)[k];
  if (const Cell* list = ListOf(argument, evaluator.heap()))
    if (auto columns = ColumnsOf(*list, fields)) return Val(ListVal{evaluator.heap().Add(std::move((*columns)[k]))});
  return evaluator.Unsupported("puts other things than tuples of one kind into a list of run-time length");
}

}  // namespace

std::optional<std::vector<Cell>> ColumnsOf(const Cell& list, size_t fields) {
  if (list.has_rows) return std::nullopt;
  if (!list.columns.empty()) return fields == 0 || list.columns.size() == fields ? std::optional(list.columns) : std::nullopt;
  if (list.sequence) return std::nullopt;
  if (list.elements.empty()) return fields != 0 ? std::optional(std::vector<Cell>(fields)) : std::nullopt;
  std::vector<Cell> columns(fields);
  for (const Val& element : list.elements) {
    const auto* tuple = element.As<TupleVal>();
    if (tuple == nullptr || tuple->elements->empty()) return std::nullopt;
    if (columns.empty()) columns.resize(tuple->elements->size());
    if (tuple->elements->size() != columns.size()) return std::nullopt;
    for (size_t k = 0; k < columns.size(); ++k) columns[k].elements.push_back((*tuple->elements)[k]);
  }
  return columns;
}

bool WantsColumns(const Node& node, std::span<const Val> arguments, const Heap& heap) {
  auto has_columns = [&](const Val& value) {
    const Cell* list = ListOf(value, heap);
    return list != nullptr && !list->columns.empty();
  };
  if (arguments.empty() || !arguments[0].Is<ListVal>()) return false;
  if (node.kind == "aten::sort" || node.kind == "aten::sorted") return false;  // by all fields: builtin_search.cpp
  const Row* row = FindRow(node.kind);
  if (has_columns(arguments[0])) return row != nullptr || node.kind.starts_with("aten::") || node.kind == "prim::ListUnpack";
  if (row == nullptr || arguments.size() < 2) return false;
  if (row->takes_list) return has_columns(arguments[1]);
  return row->takes_place && arguments[1].Is<NumberVal>() && FieldsOf(arguments[0], heap) != 0;
}

Result<Vals> OnColumns(Evaluator& evaluator, const Node& node, std::span<const Val> arguments) {
  const Row* row = FindRow(node.kind);
  const Builtin builtin = FindBuiltin(node.kind);
  if (row == nullptr || builtin == nullptr)
    return evaluator.Unsupported("asks something of a list of tuples whose length is known at run time only");
  Heap& heap = evaluator.heap();
  const uint32_t cell = arguments[0].As<ListVal>()->cell;
  const size_t other = row->takes_list ? 1 : row->element;
  const size_t fields = std::max(FieldsOf(arguments[0], heap), other != 0 && other < arguments.size() ? FieldsOf(arguments[other], heap) : 0);
  const auto columns = ColumnsOf(heap[cell], fields);
  if (!columns || columns->empty()) return evaluator.Unsupported("needs at run time a list whose elements are not all tuples of one kind");
  std::vector<Cell> changed, made;
  Vals results;
  for (size_t k = 0; k < columns->size(); ++k) {
    Vals operands(arguments.begin(), arguments.end());
    const uint32_t column = heap.Add((*columns)[k]);
    operands[0] = ListVal{column};
    if (other != 0 && other < operands.size()) {
      FLAMBEAU_TRY(operands[other], FieldOf(evaluator, arguments[other], columns->size(), k));
    }
    FLAMBEAU_TRY(Vals of_field, builtin(evaluator, node, operands));
    if (row->outcome == Outcome::kNumber) return of_field;
    changed.push_back(heap[column]);
    if (of_field.empty()) continue;
    if (row->outcome == Outcome::kNewList) made.push_back(*ListOf(of_field[0], heap));
    results.push_back(std::move(of_field[0]));
  }
  const bool reads = row->outcome == Outcome::kNewList || node.kind == "aten::__getitem__";
  if (!reads) {
    Cell& written = evaluator.Edit(cell);
    written.elements.clear();
    written.columns = std::move(changed);
  }
  switch (row->outcome) {
    case Outcome::kItself: return Vals{arguments[0]};
    case Outcome::kNewList: return Vals{ListVal{heap.Add({.columns = std::move(made)})}};
    case Outcome::kTuple: return Vals{Evaluator::Tuple(std::move(results))};
    default: return Vals{};
  }
}

}  // namespace flambeau::script
