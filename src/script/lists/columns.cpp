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

namespace {

// A call of a function on such a list, of which each column is called in its place.
class ColumnCall {
 public:
  ColumnCall(Evaluator& evaluator, const Node& node, std::span<const Val> arguments, const Row& row, bool puts_back)
      : evaluator_(evaluator),
        heap_(evaluator.heap()),
        node_(node),
        arguments_(arguments),
        row_(row),
        puts_back_(puts_back),
        cell_(arguments[0].As<ListVal>()->cell),
        was_table_(!heap_[cell_].columns.empty()) {
    const size_t other = row.takes_list ? 1 : row.element;
    if (other != 0 && other < arguments.size()) other_ = other;
  }

  Result<Vals> Run() {
    FLAMBEAU_CHECK_OK(Split());
    NoteSharing();
    if (TakesDict())
      if (const auto taken = RowTaken(heap_, Taking(heap_, cell_, arguments_[1]))) return Vals{*taken};
    for (size_t k = 0; k < columns_.size(); ++k) {
      FLAMBEAU_TRY(const std::optional<Vals> whole, CallColumn(k));
      if (whole) return *whole;
    }
    Store();
    return Results();
  }

 private:
  bool Makes() const { return row_.outcome == Outcome::kNewList; }
  bool Takes() const { return node_.kind == "aten::__getitem__"; }
  bool TakesDict() const { return Takes() && !fields_.keys.empty(); }

  Status Split() {
    if (!std::ranges::all_of(arguments_, [&](const Val& each) { return HasFewFields(each, heap_); }))
      return evaluator_.sink().Error(DiagnosticKind::kLimitExceeded,
                                     fmt::format("asks for a list of run-time length of elements with more than {} fields", kMaxFields));
    fields_ = FieldsOfArgument(arguments_[0], heap_);
    if (fields_.count == 0 && other_) fields_ = FieldsOfArgument(arguments_[*other_], heap_);
    auto columns = ColumnsOf(heap_[cell_], heap_, fields_);
    if (!columns || columns->empty())
      return evaluator_.Unsupported("needs at run time a list whose elements are not all tuples of one kind, or dicts of the same keys");
    columns_ = *std::move(columns);
    return {};
  }

  // Which lists and dicts become elements of another list, or of the list twice.
  void NoteSharing() {
    own_ = IsApart(heap_[cell_], heap_);
    apart_ = own_ && node_.kind != "aten::mul";
    if (other_ && !puts_back_) {
      const Val& given = arguments_[*other_];
      const auto* list = given.As<ListVal>();
      const auto added = list != nullptr ? heap_.Contents(list->cell) : std::make_shared<const Cell>(Cell{.elements = {given}});
      shares_ = !AreNew(*added, heap_);
      apart_ = AreApart(heap_.Contents(cell_), *added, heap_);
      if (Makes() && list != nullptr) IsNoLongerSole(list->cell);
      if (!Makes() && (shares_ || !apart_)) ShareAll(heap_);
    }
    if (!own_ && !was_table_) ShareAll(heap_);
    if (Makes()) IsNoLongerSole(cell_);
  }

  void IsNoLongerSole(uint32_t list) {
    if (heap_[list].sole) heap_.Edit(list).sole = false;
  }

  // The result, if it is that of any column.
  Result<std::optional<Vals>> CallColumn(size_t k) {
    Vals operands(arguments_.begin(), arguments_.end());
    Cell own_column = columns_[k];
    own_column.Unshare();
    own_column.apart = own_;  // as of the list
    own_column.sole = heap_[cell_].sole;
    const uint32_t column = heap_.Add(std::move(own_column));
    operands[0] = ListVal{column};
    if (other_) {
      FLAMBEAU_TRY(operands[*other_], FieldOf(evaluator_, arguments_[*other_], fields_, k));
    }
    FLAMBEAU_TRY(Vals of_field, CallOnList(evaluator_, node_, operands, puts_back_));
    const bool from_known_tuples = Takes() && fields_.keys.empty() && !was_table_;  // whose own lists stay as they are
    if (row_.outcome == Outcome::kElement && !from_known_tuples)
      for (const Val& taken : of_field) Disown(heap_, taken);
    if (row_.outcome == Outcome::kNumber) return std::optional(std::move(of_field));
    changed_.push_back(heap_[column]);
    if (of_field.empty()) return std::optional<Vals>();
    if (Makes()) made_.push_back(*ListOf(of_field[0], heap_));
    results_.push_back(std::move(of_field[0]));
    return std::optional<Vals>();
  }

  // The list becomes the changed columns. What reads dicts gives out copies, of which it must know that they are its own.
  void Store() {
    const bool reads = Makes() || Takes();
    if (reads && (fields_.keys.empty() || was_table_)) return;
    for (const Val& element : Vals(heap_[cell_].elements)) Hold(heap_, element);
    Cell& list = reads ? heap_.Edit(cell_) : evaluator_.Edit(cell_);
    if (list.columns.empty()) list.sole = own_ && !Makes() && !shares_ && apart_;
    list.elements.clear();
    list.columns = std::move(changed_);
    list.keys = fields_.keys;
    list.apart = reads ? own_ : apart_;
  }

  Vals Results() {
    switch (row_.outcome) {
      case Outcome::kItself: return {arguments_[0]};
      case Outcome::kNewList: return {ListVal{heap_.Add({.columns = std::move(made_), .keys = fields_.keys, .apart = apart_})}};
      case Outcome::kElement: return {TakenElement()};
      case Outcome::kNothing:
      case Outcome::kNumber: break;
    }
    return {};
  }

  Val TakenElement() {
    Val element = Element(heap_, std::move(results_), fields_.keys);
    if (TakesDict()) {
      const TakenRow taking = Taking(heap_, cell_, arguments_[1]);
      TakeRow(heap_, taking, element);
      TakeEntries(heap_, element.As<DictVal>()->cell, taking.apart, taking.sole);
    } else {
      Hold(heap_, element);
    }
    return element;
  }

  Evaluator& evaluator_;
  Heap& heap_;
  const Node& node_;
  std::span<const Val> arguments_;
  const Row& row_;
  bool puts_back_;
  uint32_t cell_;
  bool was_table_;               // it had columns before the call
  std::optional<size_t> other_;  // the argument that is an element, or another such list
  Fields fields_;
  std::vector<Cell> columns_;
  bool own_ = false;     // no two elements are one before the call
  bool apart_ = false;   // nor after it
  bool shares_ = false;  // elements of another list
  std::vector<Cell> changed_, made_;  // the columns after the call, and those of the list that it makes
  Vals results_;                      // of each column
};

}  // namespace

Result<Vals> OnColumns(Evaluator& evaluator, const Node& node, std::span<const Val> arguments, bool puts_back) {
  const Row* row = FindRow(node.kind);
  if (row == nullptr || FindBuiltin(node.kind) == nullptr)
    return evaluator.Unsupported("asks something of a list of tuples or dicts whose length is known at run time only");
  return ColumnCall(evaluator, node, arguments, *row, puts_back).Run();
}

}  // namespace flambeau::script
