#include "script/lists/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "script/lists/held.h"
#include "script/lists/rows.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

enum class Outcome { kNothing, kItself, kNewList, kElement, kNumber };

struct Row {
  std::string_view kind;
  Outcome outcome;
  size_t element = 0;       // the argument that is a tuple or dict
  bool takes_list = false;  // argument 1 is another such list
};

constexpr Row kRows[] = {
    {"aten::Delete", Outcome::kNothing},
    {"aten::__getitem__", Outcome::kElement},
    {"aten::_set_item", Outcome::kItself, 2},
    {"aten::add", Outcome::kNewList, 0, true},
    {"aten::add_", Outcome::kItself, 0, true},
    {"aten::append", Outcome::kItself, 1},
    {"aten::clear", Outcome::kNothing},
    {"aten::copy", Outcome::kNewList},
    {"aten::extend", Outcome::kItself, 0, true},
    {"aten::insert", Outcome::kItself, 2},
    {"aten::len", Outcome::kNumber},
    {"aten::list", Outcome::kNewList},
    {"aten::mul", Outcome::kNewList},
    {"aten::pop", Outcome::kElement},
    {"aten::reverse", Outcome::kNothing},
    {"aten::slice", Outcome::kNewList},
};

const Row* FindRow(std::string_view kind) {
  const auto found = std::ranges::find(kRows, kind, &Row::kind);
  return found != std::end(kRows) ? found : nullptr;
}

// The fields of an element of such a list; nullopt of what can be none.
std::optional<Vals> ValuesOf(const Val& element, const Heap& heap, Vals& keys) {
  if (const auto* tuple = element.As<TupleVal>()) return tuple->elements->empty() ? std::nullopt : std::optional(*tuple->elements);
  const auto* dict = element.As<DictVal>();
  if (dict == nullptr || heap[dict->cell].lost || heap[dict->cell].entries.empty()) return std::nullopt;
  Vals values;
  for (const auto& [key, value] : heap[dict->cell].entries) {
    keys.push_back(key);
    values.push_back(value);
  }
  return values;
}

Fields FieldsOfArgument(const Val& value, const Heap& heap) {
  Fields fields;
  if (const auto values = ValuesOf(value, heap, fields.keys)) {
    fields.count = values->size();
    return fields;
  }
  const Cell* list = ListOf(value, heap);
  return list != nullptr ? FieldsOf(*list, heap) : fields;
}

bool SameKeys(const Vals& a, const Vals& b) { return std::ranges::equal(a, b, SameConstant); }

// The argument as field `k` has it.
Result<Val> FieldOf(Evaluator& evaluator, const Val& argument, const Fields& fields, size_t k) {
  Heap& heap = evaluator.heap();
  Vals keys;
  if (!IsBounded(argument, heap)) return evaluator.Unsupported("puts a list that nests without end into a list");
  if (const auto values = ValuesOf(argument, heap, keys); values && values->size() == fields.count && SameKeys(keys, fields.keys)) {
    Hold(heap, argument);
    return (*values)[k];
  }
  if (const Cell* list = ListOf(argument, heap))
    if (auto columns = ColumnsOf(*list, heap, fields)) {
      for (const Val& element : Vals(list->elements)) Hold(heap, element);
      return Val(ListVal{heap.Add(std::move((*columns)[k]))});
    }
  return evaluator.Unsupported("puts other things than tuples of one kind, or dicts of the same keys, into a list of run-time length");
}

// Whether no two elements of both lists together are one dict. Those of the first become what a list holds.
bool AreApart(const std::shared_ptr<const Cell>& first, const Cell& second, Heap& heap) {
  const bool apart = IsApart(*first, heap);
  if (first->columns.empty() && second.apart) return apart;  // what the second has is held
  for (const Val& element : first->elements) Hold(heap, element);
  return apart && AreNew(second, heap);
}

// An element of which the fields are these.
Val Element(Heap& heap, Vals fields, const Vals& keys) {
  if (keys.empty()) return Evaluator::Tuple(std::move(fields));
  Cell dict;
  for (size_t k = 0; k < keys.size(); ++k) dict.entries.emplace_back(keys[k], std::move(fields[k]));
  return DictVal{heap.Add(std::move(dict))};
}

}  // namespace

Fields FieldsOf(const Cell& list, const Heap& heap) {
  Fields fields;
  if (!list.columns.empty()) return {list.columns.size(), list.keys};
  if (list.elements.empty()) return fields;
  if (const auto values = ValuesOf(list.elements[0], heap, fields.keys)) fields.count = values->size();
  return fields;
}

std::optional<std::vector<Cell>> ColumnsOf(const Cell& list, const Heap& heap, const Fields& fields) {
  if (list.has_rows) return std::nullopt;
  const auto fits = [&](size_t count, const Vals& keys) {
    return fields.count == 0 || (count == fields.count && SameKeys(keys, fields.keys));
  };
  if (!list.columns.empty()) return fits(list.columns.size(), list.keys) ? std::optional(list.columns) : std::nullopt;
  if (list.sequence) return std::nullopt;
  if (list.elements.empty()) return fields.count != 0 ? std::optional(std::vector<Cell>(fields.count)) : std::nullopt;
  const Fields first = FieldsOf(list, heap);
  if (first.count == 0 || !fits(first.count, first.keys)) return std::nullopt;
  std::vector<Cell> columns(first.count);
  for (const Val& element : list.elements) {
    Vals keys;
    const auto values = ValuesOf(element, heap, keys);
    if (!values || values->size() != columns.size() || !SameKeys(keys, first.keys)) return std::nullopt;
    for (size_t k = 0; k < columns.size(); ++k) columns[k].elements.push_back((*values)[k]);
  }
  return columns;
}

bool WantsColumns(const Node& node, std::span<const Val> arguments, const Heap& heap) {
  auto has_columns = [&](const Val& value) {
    const Cell* list = ListOf(value, heap);
    return list != nullptr && !list->columns.empty();
  };
  if (arguments.empty() || !arguments[0].Is<ListVal>()) return false;
  if (node.kind == "aten::sort" || node.kind == "aten::sorted") return false;  // by all fields: builtins/search.cpp
  const Row* row = FindRow(node.kind);
  if (has_columns(arguments[0])) return row != nullptr || node.kind.starts_with("aten::") || node.kind == "prim::ListUnpack";
  if (row == nullptr || arguments.size() < 2) return false;
  if (row->takes_list) return has_columns(arguments[1]);
  // At a place, from one on, or so many times.
  return std::ranges::any_of(arguments.subspan(1), &Val::Is<NumberVal>) && FieldsOfArgument(arguments[0], heap).count != 0;
}

Result<Vals> OnColumns(Evaluator& evaluator, const Node& node, std::span<const Val> arguments, bool puts_back) {
  const Row* row = FindRow(node.kind);
  if (row == nullptr || FindBuiltin(node.kind) == nullptr)
    return evaluator.Unsupported("asks something of a list of tuples or dicts whose length is known at run time only");
  Heap& heap = evaluator.heap();
  if (!std::ranges::all_of(arguments, [&](const Val& each) { return HasFewFields(each, heap); }))
    return evaluator.sink().Error(DiagnosticKind::kLimitExceeded,
                                  fmt::format("asks for a list of run-time length of elements with more than {} fields", kMaxFields));
  const uint32_t cell = arguments[0].As<ListVal>()->cell;
  const size_t other = row->takes_list ? 1 : row->element;
  Fields fields = FieldsOfArgument(arguments[0], heap);
  if (fields.count == 0 && other != 0 && other < arguments.size()) fields = FieldsOfArgument(arguments[other], heap);
  const auto columns = ColumnsOf(heap[cell], heap, fields);
  if (!columns || columns->empty())
    return evaluator.Unsupported("needs at run time a list whose elements are not all tuples of one kind, or dicts of the same keys");
  const bool own = IsApart(heap[cell], heap);
  bool apart = own && node.kind != "aten::mul", shares = false;  // elements of another list
  const bool makes = row->outcome == Outcome::kNewList;
  if (other != 0 && other < arguments.size() && !puts_back) {
    const auto* list = arguments[other].As<ListVal>();
    const auto added = list != nullptr ? heap.Contents(list->cell) : std::make_shared<const Cell>(Cell{.elements = {arguments[other]}});
    shares = !AreNew(*added, heap);
    apart = AreApart(heap.Contents(cell), *added, heap);
    if (makes && list != nullptr && heap[list->cell].sole) heap.Edit(list->cell).sole = false;
    if (!makes && (shares || !apart)) ShareAll(heap);
  }
  if (!own && heap[cell].columns.empty()) ShareAll(heap);
  if (makes && heap[cell].sole) heap.Edit(cell).sole = false;
  const bool takes = node.kind == "aten::__getitem__", reads = makes || takes;
  const bool takes_known_tuple = takes && fields.keys.empty() && heap[cell].columns.empty();
  const bool takes_dict = takes && !fields.keys.empty();
  if (takes_dict)
    if (const auto taken = RowTaken(heap, Taking(heap, cell, arguments[1]))) return Vals{*taken};
  std::vector<Cell> changed, made;
  Vals results;
  for (size_t k = 0; k < columns->size(); ++k) {
    Vals operands(arguments.begin(), arguments.end());
    Cell own_column = (*columns)[k];
    own_column.Unshare();
    own_column.apart = own;  // as of the list
    own_column.sole = heap[cell].sole;
    const uint32_t column = heap.Add(std::move(own_column));
    operands[0] = ListVal{column};
    if (other != 0 && other < operands.size()) {
      FLAMBEAU_TRY(operands[other], FieldOf(evaluator, arguments[other], fields, k));
    }
    FLAMBEAU_TRY(Vals of_field, CallOnList(evaluator, node, operands, puts_back));
    // Of known tuples, the list's own lists stay as they are.
    for (const Val& taken : of_field)
      if (row->outcome == Outcome::kElement && !takes_known_tuple) Disown(heap, taken);
    if (row->outcome == Outcome::kNumber) return of_field;
    changed.push_back(heap[column]);
    if (of_field.empty()) continue;
    if (row->outcome == Outcome::kNewList) made.push_back(*ListOf(of_field[0], heap));
    results.push_back(std::move(of_field[0]));
  }
  // What reads dicts gives out copies, of which the list must know that they are its own.
  if (!reads || (!fields.keys.empty() && heap[cell].columns.empty())) {
    for (const Val& element : Vals(heap[cell].elements)) Hold(heap, element);
    Cell& list = reads ? heap.Edit(cell) : evaluator.Edit(cell);
    if (list.columns.empty()) list.sole = own && !makes && !shares && apart;
    list.elements.clear();
    list.columns = std::move(changed);
    list.keys = fields.keys;
    list.apart = reads ? own : apart;
  }
  switch (row->outcome) {
    case Outcome::kItself: return Vals{arguments[0]};
    case Outcome::kNewList: return Vals{ListVal{heap.Add({.columns = std::move(made), .keys = fields.keys, .apart = apart})}};
    case Outcome::kElement: {
      Val element = Element(heap, std::move(results), fields.keys);
      if (!takes_dict) {
        Hold(heap, element);
        return Vals{std::move(element)};
      }
      const TakenRow taking = Taking(heap, cell, arguments[1]);
      TakeRow(heap, taking, element);
      TakeEntries(heap, element.As<DictVal>()->cell, taking.apart, taking.sole);
      return Vals{std::move(element)};
    }
    default: return Vals{};
  }
}

}  // namespace flambeau::script
