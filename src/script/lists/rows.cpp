#include "script/lists/rows.h"

#include <algorithm>
#include <limits>

#include "script/builtins/builtins.h"
#include "script/lists/columns.h"
#include "script/lists/held.h"
#include "script/lists/sequences.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// Calls functions on lists, of whatever these hold.
class Calls {
 public:
  explicit Calls(Evaluator& evaluator) : evaluator_(evaluator) {}

  Result<Vals> operator()(std::string function, const Vals& arguments) {
    return CallOnList(evaluator_, Node{.kind = std::move(function)}, arguments);
  }
  Result<Val> One(std::string function, const Vals& arguments) {
    FLAMBEAU_TRY(Vals results, (*this)(std::move(function), arguments));
    return results.empty() ? Val() : std::move(results[0]);
  }

 private:
  Evaluator& evaluator_;
};

// What makes another list of the rows of one, or of two (places that are negative count from the end), and other columns
// of a list's. Those read where the row at the place begins and ends, which raises where there is none.
constexpr std::string_view kCode = R"py(def place(rows: List[List[int]], at: int) -> int:
  if torch.lt(at, 0):
    place = torch.add(at, torch.len(rows))
  else:
    place = at
  return place
def joined(rows: List[List[int]], more: List[List[int]]) -> List[List[int]]:
  made = annotate(List[List[int]], [])
  for i in range(torch.len(rows)):
    _0 = torch.append(made, rows[i])
  for j in range(torch.len(more)):
    _1 = torch.append(made, more[j])
  return made
def inserted(rows: List[List[int]], at: int, row: List[int]) -> List[List[int]]:
  made = annotate(List[List[int]], [])
  place = ops.prim.max(__torch__.place(rows, at), 0)
  for i in range(torch.len(rows)):
    if torch.eq(i, place):
      _0 = torch.append(made, row)
    else:
      pass
    _1 = torch.append(made, rows[i])
  if torch.ge(place, torch.len(rows)):
    _2 = torch.append(made, row)
  else:
    pass
  return made
def backwards(rows: List[List[int]]) -> List[List[int]]:
  made = annotate(List[List[int]], [])
  for i in range(torch.len(rows)):
    _0 = torch.append(made, rows[torch.sub(torch.sub(torch.len(rows), 1), i)])
  return made
def part(rows: List[List[int]], start: int, stop: int) -> List[List[int]]:
  made = annotate(List[List[int]], [])
  begin = __torch__.place(rows, start)
  end = __torch__.place(rows, stop)
  for i in range(torch.len(rows)):
    if torch.ge(i, begin):
      within = torch.lt(i, end)
    else:
      within = False
    if within:
      _0 = torch.append(made, rows[i])
    else:
      pass
  return made
def repeated(rows: List[List[int]], times: int) -> List[List[int]]:
  made = annotate(List[List[int]], [])
  for i in range(times):
    for j in range(torch.len(rows)):
      _0 = torch.append(made, rows[j])
  return made
def replaced(elements: List[int], bounds: List[int], at: int, row: List[int]) -> Tuple[List[int], List[int]]:
  begin = bounds[at]
  end = bounds[torch.add(at, 1)]
  growth = torch.sub(torch.len(row), torch.sub(end, begin))
  made = annotate(List[int], [])
  for i in range(torch.len(bounds)):
    if torch.gt(i, at):
      _0 = torch.append(made, torch.add(bounds[i], growth))
    else:
      _1 = torch.append(made, bounds[i])
  head = torch.add(torch.slice(elements, None, begin), row)
  return (torch.add(head, torch.slice(elements, end)), made)
def without(elements: List[int], bounds: List[int], at: int) -> Tuple[List[int], List[int]]:
  begin = bounds[at]
  end = bounds[torch.add(at, 1)]
  made = annotate(List[int], [])
  for i in range(torch.sub(torch.len(bounds), 1)):
    if torch.gt(i, at):
      _0 = torch.append(made, torch.sub(bounds[torch.add(i, 1)], torch.sub(end, begin)))
    else:
      _1 = torch.append(made, bounds[i])
  return (torch.add(torch.slice(elements, None, begin), torch.slice(elements, end)), made)
)py";

// A list of tuples or dicts of known length, as it would be if only a run knew it: whether two of them may be one is said of
// those alone.
Cell AsTable(const Cell& list, Heap& heap) {
  if (list.elements.empty() || !list.columns.empty()) return list;
  auto columns = ColumnsOf(list, heap);
  if (!columns) return list;
  for (const Val& element : list.elements) Hold(heap, element);
  return {.columns = *std::move(columns), .keys = FieldsOf(list, heap).keys};
}

// The number of elements, of whatever the list holds.
Result<Val> LengthOf(const Cell& list, Emitter& emit) {
  const Cell* first = &list;
  while (!first->columns.empty() && !first->has_rows) first = &first->columns[0];
  if (first->has_rows) {
    FLAMBEAU_TRY(const Val bounds, LengthOf(first->columns[kRowBounds], emit));
    return emit.Call1("_operator::sub", {bounds, int64_t{1}});
  }
  if (!first->sequence) return Val(static_cast<int64_t>(first->elements.size()));
  return emit.Call1("aten::len.t", {ListVal{emit.heap().Add({.sequence = emit.Read(*first->sequence)})}});
}

// A list of rows that is being read or written.
class Rows {
 public:
  Rows(Evaluator& evaluator, uint32_t cell)
      : evaluator_(evaluator),
        call_(evaluator),
        cell_(cell),
        elements_(evaluator.heap().Add(Column(kRowElements))),
        bounds_(evaluator.heap().Add(Column(kRowBounds))),
        apart_(evaluator.heap()[cell].apart) {}

  Result<Val> Length() {
    FLAMBEAU_TRY(const Val bounds, call_.One("aten::len", {ListVal{bounds_}}));
    return evaluator_.emit().Call1("_operator::sub", {bounds, int64_t{1}});
  }

  Status Append(const Val& row) {
    FLAMBEAU_CHECK_OK(TakeIn(row));
    FLAMBEAU_CHECK_OK(call_("aten::extend", {ListVal{elements_}, row}));
    FLAMBEAU_TRY(const Val end, call_.One("aten::len", {ListVal{elements_}}));
    FLAMBEAU_CHECK_OK(call_("aten::append", {ListVal{bounds_}, end}));
    return Store();
  }

  // A copy of the row, which is put back if it is written.
  Result<Val> At(const Val& index) {
    Emitter& emit = evaluator_.emit();
    FLAMBEAU_TRY(const Val place, Place(index));
    FLAMBEAU_TRY(const Val next, emit.Call1("_operator::add", {place, int64_t{1}}));
    FLAMBEAU_TRY(const Val begin, call_.One("aten::__getitem__", {ListVal{bounds_}, place}));
    FLAMBEAU_TRY(const Val end, call_.One("aten::__getitem__", {ListVal{bounds_}, next}));
    FLAMBEAU_TRY(const Val row, call_.One("aten::slice", {ListVal{elements_}, begin, end, int64_t{1}}));
    if (const Cell* list = ListOf(row, evaluator_.heap()); list != nullptr && !list->columns.empty()) {
      Cell& its = evaluator_.heap().Edit(row.As<ListVal>()->cell);
      its.apart = apart_;
      its.sole = evaluator_.heap()[cell_].sole;
    }
    return row;
  }

  // Counted from the front. One before the first row becomes one that is none from either end.
  Result<Val> Place(const Val& index) {
    if (index.AsInt().value_or(-1) >= 0) return index;
    Emitter& emit = evaluator_.emit();
    FLAMBEAU_TRY(const Val length, Length());
    FLAMBEAU_TRY(const Val negative, emit.Call1("_operator::lt", {index, int64_t{0}}));
    FLAMBEAU_TRY(const Val offset, emit.Call1("torch::sym_ite", {negative, length, int64_t{0}}));
    FLAMBEAU_TRY(const Val place, emit.Call1("_operator::add", {index, offset}));
    FLAMBEAU_TRY(const Val before, emit.Call1("_operator::lt", {place, int64_t{0}}));
    FLAMBEAU_TRY(const Val beyond, emit.Call1("_operator::add", {length, int64_t{1}}));
    return emit.Call1("torch::sym_ite", {before, beyond, place});
  }

  Status Replace(const Val& index, const Val& row) {
    FLAMBEAU_CHECK_OK(TakeIn(row));
    return PutBack(index, row);
  }
  // The same of what was taken out there.
  Status PutBack(const Val& index, const Val& row) { return Become("replaced", {ListVal{elements_}, ListVal{bounds_}, index, row}); }
  Status Delete(const Val& index) { return Become("without", {ListVal{elements_}, ListVal{bounds_}, index}); }

  Status DropLast() {
    FLAMBEAU_CHECK_OK(call_("aten::pop", {ListVal{bounds_}}));
    FLAMBEAU_TRY(const Val end, call_.One("aten::__getitem__", {ListVal{bounds_}, int64_t{-1}}));
    FLAMBEAU_TRY(const Val rest, call_.One("aten::slice", {ListVal{elements_}, int64_t{0}, end, int64_t{1}}));
    evaluator_.heap().Edit(elements_) = Cell(evaluator_.heap()[rest.As<ListVal>()->cell]);
    return Store();
  }

  // Rows of numbers, all of one length and not empty, as a tensor. Of no row, PyTorch makes floats without a second dimension.
  Result<Val> Tensor(Vals arguments) {
    arguments[0] = ListVal{elements_};
    FLAMBEAU_TRY(const Val flat, call_.One("aten::tensor", std::move(arguments)));
    Emitter& emit = evaluator_.emit();
    FLAMBEAU_TRY(const Val count, emit.Call1("aten::sym_size.int", {flat, int64_t{0}}));
    FLAMBEAU_TRY(const Val length, Length());
    FLAMBEAU_TRY(const Val divisor, emit.Call1("torch::sym_max", {length, int64_t{1}}));
    FLAMBEAU_TRY(const Val quotient, emit.Call1("_operator::floordiv", {count, divisor}));
    FLAMBEAU_TRY(const Val width, emit.Call1("torch::sym_max", {quotient, int64_t{1}}));
    return emit.Call1("aten::reshape", {flat, evaluator_.List({int64_t{-1}, width})});
  }

 private:
  // The list is one of the rows from now on.
  Status TakeIn(const Val& row) {
    const auto* list = row.As<ListVal>();
    if (list == nullptr) return evaluator_.Unsupported("puts other things than lists into a list of lists of run-time length");
    if (!IsBounded(row, evaluator_.heap())) return evaluator_.Unsupported("puts a list that nests without end into a list");
    if (IsHeld(row, evaluator_.heap())) {
      apart_ = false;
      ShareAll(evaluator_.heap());
    }
    Hold(evaluator_.heap(), row);
    return {};
  }
  // The columns become what the function makes of them; argument 2 is the place of a row.
  Status Become(std::string_view function, Vals arguments) {
    FLAMBEAU_TRY(arguments[2], Place(arguments[2]));
    FLAMBEAU_TRY(const Vals made, evaluator_.CallLibrary(kCode, function, arguments));
    const Vals& columns = *made[0].As<TupleVal>()->elements;
    elements_ = columns[kRowElements].As<ListVal>()->cell;
    bounds_ = columns[kRowBounds].As<ListVal>()->cell;
    return Store();
  }
  Status Store() {
    Cell& cell = evaluator_.Edit(cell_);
    cell.columns = {AsTable(evaluator_.heap()[elements_], evaluator_.heap()), evaluator_.heap()[bounds_]};
    cell.apart = apart_;
    return {};
  }
  // Whether two elements of it may be one is what is known of the list.
  Cell Column(RowColumn column) const {
    const Cell& list = evaluator_.heap()[cell_];
    Cell made = list.columns[column];
    made.Unshare();
    made.apart = list.apart;
    made.sole = list.sole;
    return made;
  }

  Evaluator& evaluator_;
  Calls call_;
  uint32_t cell_, elements_, bounds_;
  bool apart_;
};

struct RowFunction {
  std::string_view kind, function;
  bool in_place;
};
constexpr RowFunction kRowFunctions[] = {
    {"aten::add", "joined", false},     {"aten::add_", "joined", true},  {"aten::extend", "joined", true},
    {"aten::insert", "inserted", true}, {"aten::mul", "repeated", false}, {"aten::reverse", "backwards", true},
    {"aten::slice", "part", false},
};

// Whether it leaves a list of known length as it is.
bool MakesAnother(const Node& node) {
  const auto* row = std::ranges::find(kRowFunctions, node.kind, &RowFunction::kind);
  return row != std::end(kRowFunctions) && !row->in_place;
}

// The list becomes what `by` is.
Status Replace(Evaluator& evaluator, const Val& list, const Val& by) {
  const Cell copy = evaluator.heap()[by.As<ListVal>()->cell];
  Cell& cell = evaluator.Edit(list.As<ListVal>()->cell);
  cell.elements = copy.elements;
  cell.columns = copy.columns;
  cell.has_rows = copy.has_rows;
  cell.apart = copy.apart;
  cell.sole = copy.sole;
  return {};
}

// The bounds of a slice by steps of one, without an end as far as there are rows; nullopt of others.
std::optional<Vals> Bounds(std::span<const Val> arguments) {
  auto at = [&](size_t i, const Val& absent) { return i < arguments.size() && !arguments[i].Is<Nothing>() ? arguments[i] : absent; };
  if (at(3, int64_t{1}).AsInt() != 1) return std::nullopt;
  return Vals{arguments[0], at(1, int64_t{0}), at(2, std::numeric_limits<int64_t>::max())};
}

// The list of lists as one of which the length is known at run time only.
Result<Cell> AsRows(Evaluator& evaluator, const Cell& list) {
  const Heap& heap = evaluator.heap();
  if (list.has_rows) return list;
  std::vector<Cell> lists;
  for (const Val& element : list.elements) lists.push_back(*ListOf(element, heap));
  const auto is_open = [](const Cell& each) { return each.sequence || !each.columns.empty(); };
  const auto elements = Skeleton::OfLists(lists, evaluator.emit(), heap);
  if (!elements && std::ranges::any_of(lists, is_open))
    return evaluator.Unsupported("needs at run time a list of lists that do not all hold tensors, or numbers, of one dtype");
  FLAMBEAU_TRY(std::vector<Cell> columns, RowColumns(evaluator.emit(), list, elements.value_or(Skeleton())));
  return Cell{.columns = std::move(columns), .has_rows = true, .apart = IsApart(list, heap)};
}

// It becomes one, of which a row was taken before.
Status MakeRows(Evaluator& evaluator, uint32_t cell, const TakenRow* taken = nullptr) {
  Heap& heap = evaluator.heap();
  const std::shared_ptr<const Cell> list = heap.Contents(cell);
  if (list->has_rows) return {};
  FLAMBEAU_TRY(Cell made, AsRows(evaluator, *list));
  made.apart = taken != nullptr ? taken->apart : made.apart;
  made.sole = taken != nullptr ? taken->sole : made.apart;
  if (taken == nullptr && !made.apart) ShareAll(heap);
  for (const Val& element : list->elements) Hold(heap, element);
  Cell& rows = heap.Edit(cell);
  rows.elements.clear();
  rows.columns = std::move(made.columns);
  rows.has_rows = true;
  rows.apart = made.apart;
  rows.sole = made.sole;
  return {};
}

// A call of a function on a list that has rows.
struct RowCall {
  Evaluator& evaluator;
  uint32_t list;
  std::span<const Val> arguments;
  bool puts_back;

  Rows rows() const { return Rows(evaluator, list); }
};

Result<Vals> Append(const RowCall& call) {
  FLAMBEAU_CHECK_OK(call.rows().Append(call.arguments[1]));
  return Vals{call.arguments[0]};
}

Result<Vals> Length(const RowCall& call) {
  FLAMBEAU_TRY(Val length, call.rows().Length());
  return Vals{std::move(length)};
}

Result<Vals> AsTensor(const RowCall& call) {
  FLAMBEAU_TRY(Val tensor, call.rows().Tensor(Vals(call.arguments.begin(), call.arguments.end())));
  return Vals{std::move(tensor)};
}

Result<Vals> SetItem(const RowCall& call) {
  const Val &place = call.arguments[1], &row = call.arguments[2];
  if (!IsRowAt(call.evaluator.heap(), call.list, place, row)) {  // as in l[i] += [x]
    Rows rows = call.rows();
    FLAMBEAU_CHECK_OK(call.puts_back ? rows.PutBack(place, row) : rows.Replace(place, row));
  }
  return Vals{call.arguments[0]};
}

Result<Vals> Delete(const RowCall& call) {
  FLAMBEAU_CHECK_OK(call.rows().Delete(call.arguments[1]));
  return Vals{};
}

Result<Vals> Pop(const RowCall& call) {
  const bool last = call.arguments.size() < 2 || call.arguments[1].AsInt() == -1;
  Rows rows = call.rows();
  FLAMBEAU_TRY(Val row, rows.At(last ? int64_t{-1} : call.arguments[1]));
  Hold(call.evaluator.heap(), row);
  FLAMBEAU_CHECK_OK(last ? rows.DropLast() : rows.Delete(call.arguments[1]));
  return Vals{std::move(row)};
}

Result<Vals> Copy(const RowCall& call) {
  Heap& heap = call.evaluator.heap();
  heap.Edit(call.list).sole = false;
  Cell copy = heap[call.list];
  copy.Unshare();
  return Vals{ListVal{heap.Add(std::move(copy))}};
}

struct RowMethod {
  std::string_view kind;
  Result<Vals> (*call)(const RowCall& call);
};
constexpr RowMethod kRowMethods[] = {
    {"aten::Delete", &Delete}, {"aten::_set_item", &SetItem}, {"aten::append", &Append}, {"aten::as_tensor", &AsTensor}, {"aten::copy", &Copy},
    {"aten::len", &Length},    {"aten::list", &Copy},         {"aten::pop", &Pop},       {"aten::tensor", &AsTensor},
};

// The row at the place, which leaves a list of known length as it is.
Result<Vals> TakenRowOf(Evaluator& evaluator, uint32_t list, const Val& place) {
  Heap& heap = evaluator.heap();
  const TakenRow taking = Taking(heap, list, place);
  if (const auto taken = RowTaken(heap, taking)) return Vals{*taken};
  uint32_t rows = list;
  if (!heap[rows].has_rows) {
    FLAMBEAU_TRY(Cell made, AsRows(evaluator, *heap.Contents(rows)));
    rows = heap.Add(std::move(made));
  }
  FLAMBEAU_TRY(Val row, Rows(evaluator, rows).At(place));
  TakeRow(heap, taking, row);
  return Vals{std::move(row)};
}

// nullopt where there is no such function.
Result<std::optional<Vals>> CallRowFunction(Evaluator& evaluator, const Node& node, std::span<const Val> arguments) {
  const auto* row = std::ranges::find(kRowFunctions, node.kind, &RowFunction::kind);
  if (row == std::end(kRowFunctions)) return std::optional<Vals>();
  Vals operands(arguments.begin(), arguments.end());
  if (row->function == "part") {
    const auto bounds = Bounds(arguments);
    if (!bounds) return std::optional<Vals>();
    operands = *bounds;
  }
  if (row->function == "repeated" && operands[1].Is<ListVal>()) std::swap(operands[0], operands[1]);
  FLAMBEAU_TRY(const Vals made, evaluator.CallLibrary(kCode, row->function, operands));
  if (!row->in_place) return std::optional(made);
  FLAMBEAU_CHECK_OK(Replace(evaluator, arguments[0], made[0]));
  return std::optional(Vals{arguments[0]});
}

}  // namespace

Result<Vals> RowsOfNumbers(Evaluator& evaluator, const Val& tensor) {
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const Val flat, emit.Call1("aten::reshape", {tensor, evaluator.List({int64_t{-1}})}));
  FLAMBEAU_TRY(const Val length, emit.Call1("aten::sym_size.int", {tensor, int64_t{0}}));
  FLAMBEAU_TRY(const Val width, emit.Call1("aten::sym_size.int", {tensor, int64_t{1}}));
  FLAMBEAU_TRY(const Val count, emit.Call1("_operator::add", {length, int64_t{1}}));
  FLAMBEAU_TRY(const Val places, emit.Call1("aten::arange", {count}));
  FLAMBEAU_TRY(const Val begins, emit.Call1("aten::mul.Scalar", {places, width}));
  Cell rows{.has_rows = true, .apart = true, .sole = true};
  for (const Val& numbers : {flat, begins}) {
    FLAMBEAU_TRY(const Val list, ListOfNumbers(evaluator, numbers));
    FLAMBEAU_TRY(const Val sequence, AsSequence(evaluator, list));
    rows.columns.push_back(evaluator.heap()[sequence.As<ListVal>()->cell]);
  }
  return Vals{ListVal{evaluator.heap().Add(std::move(rows))}};
}

bool HoldsLists(const Cell& list, const Heap& heap) {
  if (list.has_rows) return true;
  return !list.elements.empty() && std::ranges::all_of(list.elements, [&](const Val& element) {
    const auto* row = element.As<ListVal>();
    return row != nullptr && !heap[row->cell].lost;
  });
}

Result<std::vector<Cell>> RowColumns(Emitter& emit, const Cell& list, const Skeleton& elements) {
  if (list.has_rows) return list.columns;
  Cell bounds{.elements = {int64_t{0}}};
  std::vector<Cell> rows;
  Val end = int64_t{0};
  for (const Val& element : list.elements) {
    rows.push_back(*ListOf(element, emit.heap()));
    FLAMBEAU_TRY(const Val length, LengthOf(rows.back(), emit));
    FLAMBEAU_TRY(end, emit.Call1("_operator::add", {end, length}));
    bounds.elements.push_back(end);
  }
  FLAMBEAU_TRY(const Cell joined, elements.Joined(rows, emit));
  return std::vector<Cell>{AsTable(joined, emit.heap()), std::move(bounds)};
}

bool HasRows(std::span<const Val> arguments, const Heap& heap) {
  return std::ranges::any_of(arguments, [&](const Val& argument) {
    const auto* list = argument.As<ListVal>();
    return list != nullptr && heap[list->cell].has_rows;
  });
}

bool WantsRows(const Node& node, std::span<const Val> arguments, const Heap& heap) {
  if (HasRows(arguments, heap)) return true;
  // At a place, from one on, or so many times.
  static constexpr std::string_view kWithNumber[] = {"aten::Delete", "aten::__getitem__", "aten::_set_item", "aten::insert",
                                                     "aten::mul",    "aten::pop",         "aten::slice"};
  if (arguments.size() < 2 || std::ranges::find(kWithNumber, node.kind) == std::end(kWithNumber)) return false;
  if (std::ranges::none_of(arguments, &Val::Is<NumberVal>)) return false;
  const Cell* list = ListOf(arguments[node.kind == "aten::mul" && arguments[0].IsNumber() ? 1 : 0], heap);
  return list != nullptr && HoldsLists(*list, heap);
}

Status PutList(Evaluator& evaluator, const TakenRow& taken, uint32_t row) {
  FLAMBEAU_CHECK_OK(MakeRows(evaluator, taken.list, &taken));
  return Rows(evaluator, taken.list).PutBack(taken.place, ListVal{row});
}

Result<Vals> OnRows(Evaluator& evaluator, const Node& node, std::span<const Val> arguments, bool puts_back) {
  if (node.kind == "prim::TupleConstruct" || node.kind == "prim::ListConstruct") return FindBuiltin(node.kind)(evaluator, node, arguments);
  const auto* list = arguments[0].As<ListVal>();
  Heap& heap = evaluator.heap();
  if (list != nullptr && node.kind == "aten::__getitem__") return TakenRowOf(evaluator, list->cell, arguments[1]);
  if (list != nullptr && !HasRows(arguments.subspan(1), heap) && (heap[list->cell].has_rows || !MakesAnother(node))) {
    FLAMBEAU_CHECK_OK(MakeRows(evaluator, list->cell));
    const auto* method = std::ranges::find(kRowMethods, node.kind, &RowMethod::kind);
    if (method != std::end(kRowMethods)) return method->call({evaluator, list->cell, arguments, puts_back});
  }
  FLAMBEAU_TRY(const std::optional<Vals> changed, CallRowFunction(evaluator, node, arguments));
  if (changed) return *changed;
  return evaluator.Unsupported("asks this of a list of lists whose length is known at run time only",
                               "append to it, index or slice it, go over it, or make a tensor of it");
}

Result<Vals> CallOnList(Evaluator& evaluator, const Node& node, std::span<const Val> arguments, bool puts_back) {
  if (WantsRows(node, arguments, evaluator.heap())) return OnRows(evaluator, node, arguments, puts_back);
  if (WantsColumns(node, arguments, evaluator.heap())) return OnColumns(evaluator, node, arguments, puts_back);
  return FindBuiltin(node.kind)(evaluator, node, arguments);
}

}  // namespace flambeau::script
