// What is asked of all elements of a list: whether one is there, where, how
// often, in which order, and what all of them come to. Numbers that are known at run time only are asked as a
// tensor.
#include <algorithm>

#include "script/builtins/builtins.h"
#include "script/lists/columns.h"
#include "script/lists/list_order.h"
#include "script/lists/sequences.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

bool IsAsked(const Cell& list) { return list.sequence || !list.columns.empty(); }

// Which elements equal `value`, as a tensor of bools.
Result<Val> Equals(Evaluator& evaluator, const Val& list, const Val& value) {
  if (!value.IsNumber()) return evaluator.Unsupported("looks in a list for what is known at run time only, and is no number");
  FLAMBEAU_TRY(const Val numbers, NumbersOfList(evaluator, list));
  FLAMBEAU_TRY(const Val wanted, evaluator.emit().NumberTensor(value, DType::kFloat64));
  return evaluator.emit().Call1("aten::eq.Tensor", {numbers, wanted});
}

Result<Vals> ItemOf(Evaluator& evaluator, std::string_view reduction, const Val& tensor) {
  FLAMBEAU_TRY(const Val reduced, evaluator.emit().Call1(reduction, {tensor}));
  FLAMBEAU_TRY(Val item, evaluator.emit().Call1("aten::item", {reduced}));
  return Vals{std::move(item)};
}

// `in`, of a list; of dicts and text, see containers.cpp.
Result<Vals> Contains(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list == nullptr) return ContainsKey(evaluator, node, arguments);
  bool unknown = IsAsked(*list);
  for (const Val& element : list->elements) {
    const auto equal = KnownEqual(element, arguments[1], evaluator.heap());
    if (equal && *equal) return Vals{true};
    unknown |= !equal;
  }
  if (!unknown) return Vals{false};
  FLAMBEAU_TRY(const Val equals, Equals(evaluator, arguments[0], arguments[1]));
  return ItemOf(evaluator, "aten::any", equals);
}

// (text, part, start, end): parts that begin before the end, which TorchScript counts from behind the last character.
Result<Vals> CountInText(Evaluator& evaluator, const std::string& text, Arguments arguments) {
  const auto* part = arguments[1].As<std::string>();
  auto start = arguments.size() > 2 ? arguments[2].AsInt() : std::optional<int64_t>(0);
  auto end = arguments.size() > 3 ? arguments[3].AsInt() : std::optional<int64_t>(-1);
  if (part == nullptr || part->empty() || !start || !end) return evaluator.Unsupported("counts in text what is empty, or known at run time only");
  const auto size = static_cast<int64_t>(text.size());
  if (*start < 0) start = std::max<int64_t>(std::max(*start, -size) + size, 0);
  if (*end < 0) end = std::max<int64_t>(std::max(*end, -size - 1) + size + 1, 0);
  int64_t count = 0;
  if (*start > size) return Vals{count};
  for (size_t at = static_cast<size_t>(*start); (at = text.find(*part, at)) != text.npos && static_cast<int64_t>(at) < *end; at += part->size()) ++count;
  return Vals{count};
}

Result<Vals> Count(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (const auto* text = arguments[0].As<std::string>()) return CountInText(evaluator, *text, arguments);
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list == nullptr) return evaluator.Unsupported("counts in something that is no list");
  bool unknown = IsAsked(*list);
  int64_t count = 0;
  for (const Val& element : list->elements) {
    const auto equal = KnownEqual(element, arguments[1], evaluator.heap());
    unknown |= !equal;
    count += equal.value_or(false);
  }
  if (!unknown) return Vals{count};
  FLAMBEAU_TRY(const Val equals, Equals(evaluator, arguments[0], arguments[1]));
  return ItemOf(evaluator, "aten::sum", equals);
}

// Of the first one; that there is none is an exception, which a model does not raise.
Result<Vals> Index(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (arguments[0].Is<std::string>()) {
    FLAMBEAU_TRY(Vals place, FindBuiltin("aten::find")(evaluator, node, arguments));
    return place[0].AsInt() == -1 ? Result<Vals>(evaluator.Raise(node, "looks for text that the other lacks")) : std::move(place);
  }
  if (list == nullptr) return evaluator.CallOperator(node, arguments);  // aten::index of a tensor
  bool unknown = IsAsked(*list);
  for (size_t i = 0; i < list->elements.size() && !unknown; ++i) {
    const auto equal = KnownEqual(list->elements[i], arguments[1], evaluator.heap());
    unknown = !equal;
    if (equal && *equal) return Vals{static_cast<int64_t>(i)};
  }
  if (!unknown) return evaluator.Raise(node, "looks for the place of something that the list lacks");
  FLAMBEAU_TRY(const Val equals, Equals(evaluator, arguments[0], arguments[1]));
  FLAMBEAU_TRY(const Val counted, evaluator.emit().Call1("aten::to.dtype", {equals, int64_t{Info(DType::kInt64).torch_code}}));
  return ItemOf(evaluator, "aten::argmax", counted);
}

// The first one that equals the value.
Result<Vals> Remove(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (ListOf(arguments[0], evaluator.heap()) == nullptr) return evaluator.Unsupported("removes from something that is no list");
  FLAMBEAU_TRY(const Vals place, Index(evaluator, node, arguments));
  return DeleteElement(evaluator, node, Vals{arguments[0], place[0]});
}

// Which of two values comes first: below 0, 0, or above; nullopt where only the run knows, or they have no order.
std::optional<int> KnownOrder(const Val& a, const Val& b) {
  const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (const auto x = a.AsInt(), y = b.AsInt(); x && y) return sign(*x, *y);
  const auto number = [](const Val& value) -> std::optional<double> {
    if (const auto* real = value.As<double>()) return *real;
    return value.AsInt() ? std::optional(static_cast<double>(*value.AsInt())) : std::nullopt;
  };
  if (const auto x = number(a), y = number(b); x && y) return sign(*x, *y);
  const auto *text = a.As<std::string>(), *other = b.As<std::string>();
  if (text != nullptr && other != nullptr && text->find(kRunTimeText) == text->npos && other->find(kRunTimeText) == other->npos) return sign(*text, *other);
  const auto *tuple = a.As<TupleVal>(), *beside = b.As<TupleVal>();
  if (tuple == nullptr || beside == nullptr || tuple->elements->size() != beside->elements->size()) return std::nullopt;
  for (size_t i = 0; i < tuple->elements->size(); ++i) {
    const auto order = KnownOrder((*tuple->elements)[i], (*beside->elements)[i]);
    if (!order || *order != 0) return order;
  }
  return 0;
}

// The elements in order; nullopt where only the run knows it.
std::optional<Vals> InKnownOrder(Vals elements, bool reverse) {
  bool known = true;
  std::ranges::stable_sort(elements, [&](const Val& a, const Val& b) {
    const auto order = reverse ? KnownOrder(b, a) : KnownOrder(a, b);
    known &= order.has_value();
    return order && *order < 0;
  });
  return known ? std::optional(std::move(elements)) : std::nullopt;
}

// Tuples of numbers: by the last field first, as each sort leaves what is equal in its order.
Result<Val> SortedTuples(Evaluator& evaluator, const std::vector<Cell>& columns, bool reverse) {
  Emitter& emit = evaluator.emit();
  Heap& heap = evaluator.heap();
  Vals fields;
  for (const Cell& column : columns) {
    FLAMBEAU_TRY(Val numbers, NumbersOfList(evaluator, ListVal{heap.Add(column)}));
    fields.push_back(std::move(numbers));
  }
  Val order;
  for (size_t k = fields.size(); k-- > 0;) {
    Val keys = fields[k];
    if (!order.Is<Undefined>()) {
      FLAMBEAU_TRY(keys, emit.Call1("aten::index_select", {keys, int64_t{0}, order}));
    }
    FLAMBEAU_TRY(const Vals sorted, emit.Call("aten::sort.stable", {keys, true, int64_t{0}, reverse}));
    if (sorted.size() != 2) return kFailure;
    if (order.Is<Undefined>()) {
      order = sorted[1];
    } else {
      FLAMBEAU_TRY(order, emit.Call1("aten::index_select", {order, int64_t{0}, sorted[1]}));
    }
  }
  std::vector<Cell> made;
  for (const Val& field : fields) {
    FLAMBEAU_TRY(const Val ordered, emit.Call1("aten::index_select", {field, int64_t{0}, order}));
    FLAMBEAU_TRY(const Val list, ListOfNumbers(evaluator, ordered));
    made.push_back(*ListOf(list, heap));
  }
  if (made[0].sequence) return Val(ListVal{heap.Add({.columns = std::move(made)})});
  Vals tuples;
  for (size_t i = 0; i < made[0].elements.size(); ++i) {
    Vals elements;
    for (const Cell& column : made) elements.push_back(column.elements[i]);
    tuples.push_back(Evaluator::Tuple(std::move(elements)));
  }
  return evaluator.List(std::move(tuples));
}

Result<Vals> Sort(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list == nullptr) return evaluator.CallOperator(node, arguments);  // aten::sort of a tensor
  const std::optional<bool> reverse = arguments.size() > 1 ? evaluator.KnownBool(arguments[1]) : false;
  if (!reverse) return evaluator.Unsupported("sorts in an order that is known at run time only");
  Val result;
  const auto columns = ColumnsOf(*list, evaluator.heap());
  if (auto sorted = IsAsked(*list) ? std::nullopt : InKnownOrder(list->elements, *reverse)) {
    result = evaluator.List(std::move(*sorted));
  } else if (columns && !columns->empty()) {
    FLAMBEAU_TRY(result, SortedTuples(evaluator, *columns, *reverse));
  } else {
    FLAMBEAU_TRY(const Val tensor, NumbersOfList(evaluator, arguments[0]));
    FLAMBEAU_TRY(const Vals ordered, evaluator.emit().Call("aten::sort", {tensor, int64_t{0}, *reverse}));
    FLAMBEAU_TRY(result, ListOfNumbers(evaluator, ordered[0]));
  }
  if (node.kind == "aten::sorted") return Vals{std::move(result)};
  Cell made = *ListOf(result, evaluator.heap());
  Cell& cell = evaluator.Edit(arguments[0].As<ListVal>()->cell);
  cell.elements = std::move(made.elements);
  cell.sequence = made.sequence;
  cell.columns = std::move(made.columns);
  return Vals{};
}

template <bool kAny>
Result<Vals> AnyOrAll(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list == nullptr) return evaluator.CallOperator(node, arguments);
  bool unknown = IsAsked(*list);
  for (const Val& element : list->elements) {
    const auto known = evaluator.KnownBool(element);
    if (known && *known == kAny) return Vals{kAny};
    unknown |= !known;
  }
  if (!unknown) return Vals{!kAny};
  FLAMBEAU_TRY(const Val tensor, NumbersOfList(evaluator, arguments[0]));
  return ItemOf(evaluator, kAny ? "aten::any" : "aten::all", tensor);
}

// The first number is it unless a later one is beyond it, so that no NaN but that of the first counts.
Result<Vals> ExtremumOfAll(Evaluator& evaluator, const Val& list, std::string_view reduction) {
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(Val numbers, NumbersOf(evaluator, list));
  if (IsFloating(evaluator.TypeOf(*numbers.As<TensorVal>()).dtype)) {
    FLAMBEAU_TRY(const Val undefined, emit.Call1("aten::isnan", {numbers}));
    FLAMBEAU_TRY(const Val first, emit.Call1("aten::select.int", {numbers, int64_t{0}, int64_t{0}}));
    FLAMBEAU_TRY(numbers, emit.Call1("aten::where.self", {undefined, first, numbers}));
  }
  return ItemOf(evaluator, reduction, numbers);
}

bool IsBool(Evaluator& evaluator, const Val& value) {
  const auto* number = value.As<NumberVal>();
  return value.Is<bool>() || (number != nullptr && evaluator.emit().TypeOf(number->id).kind == TypeKind::kBool);
}

// prim::min and prim::max: of two numbers, of two lists, of one list.
Result<Vals> Extremum(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list == nullptr) return evaluator.CallOperator(node, arguments);
  if (arguments.size() == 1 && list->sequence && list->of_numbers)
    return ExtremumOfAll(evaluator, arguments[0], node.kind == "prim::min" ? "aten::min" : "aten::max");
  if (arguments.size() > 1)
    return node.kind == "prim::min" ? FirstOfLists(evaluator, arguments[0], arguments[1]) : LastOfLists(evaluator, arguments[0], arguments[1]);
  if (list->elements.empty() || list->sequence) return evaluator.Unsupported("compares lists");
  const Vals elements = list->elements;
  std::string_view op = NumberOperator(node.kind);
  if (std::ranges::all_of(elements, [&](const Val& each) { return IsBool(evaluator, each); }))
    op = node.kind == "prim::min" ? "_operator::and_" : "_operator::or_";
  Val best = elements[0];
  for (size_t i = 1; i < elements.size(); ++i) {
    FLAMBEAU_TRY(best, evaluator.emit().Call1(op, {elements[i], best}));  // the first is it unless a later one is beyond it
  }
  return Vals{std::move(best)};
}

Result<Vals> Sum(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list == nullptr) return evaluator.CallOperator(node, arguments);
  if (list->sequence) {
    FLAMBEAU_TRY(const Val numbers, NumbersOf(evaluator, arguments[0]));
    return ItemOf(evaluator, "aten::sum", numbers);
  }
  const Vals elements = list->elements;
  const torchscript::Type* type = node.outputs.empty() ? nullptr : node.outputs[0]->type.get();
  Val sum = type != nullptr && type->kind == torchscript::TypeKind::kFloat ? Val(0.0) : Val(int64_t{0});
  for (const Val& element : elements) {
    FLAMBEAU_TRY(sum, evaluator.emit().Call1("_operator::add", {sum, element}));
  }
  return Vals{std::move(sum)};
}

constexpr BuiltinRow kRows[] = {
    {"aten::__contains__", &Contains, kReadsText},
    {"aten::all", &AnyOrAll<false>},
    {"aten::any", &AnyOrAll<true>},
    {"aten::count", &Count, kReadsText},
    {"aten::index", &Index, kReadsText},
    {"aten::remove", &Remove},
    {"aten::sort", &Sort},
    {"aten::sorted", &Sort},
    {"aten::sum", &Sum, kTakesOptionals},
    {"prim::max", &Extremum, kTakesOptionals},
    {"prim::min", &Extremum, kTakesOptionals},
};

}  // namespace

Result<Val> NumbersOfList(Evaluator& evaluator, const Val& list) {
  const Cell cell = *ListOf(list, evaluator.heap());
  if (cell.sequence && cell.of_numbers) return NumbersOf(evaluator, list);
  if (!cell.sequence && cell.columns.empty() && std::ranges::all_of(cell.elements, &Val::IsNumber))
    return evaluator.emit().NumbersTensor(cell.elements, DType::kFloat64);
  return evaluator.Unsupported("compares the elements of a list that is known at run time only, and holds no numbers");
}

// From a 1-d tensor: the list's length is known if the tensor's is.
Result<Val> ListOfNumbers(Evaluator& evaluator, const Val& tensor) {
  Emitter& emit = evaluator.emit();
  const Type type = evaluator.TypeOf(*tensor.As<TensorVal>());
  const auto size = evaluator.context().exprs().AsConstant(type.sizes[0]);
  if (!size) {
    // Numbers of a list of run-time length are int64, bool or float64.
    Val numbers = tensor;
    const DType dtype = type.dtype == DType::kBool ? DType::kBool : IsFloating(type.dtype) ? DType::kFloat64 : DType::kInt64;
    if (dtype != type.dtype) {
      FLAMBEAU_TRY(numbers, emit.Call1("aten::to.dtype", {numbers, int64_t{Info(dtype).torch_code}}));
    }
    FLAMBEAU_TRY(const Val list, emit.Call1("aten::unbind.int", {numbers, int64_t{0}}));
    return SequenceLike(evaluator, list, true);
  }
  Vals numbers;
  for (int64_t i = 0; i < *size; ++i) {
    FLAMBEAU_TRY(const Val element, emit.Call1("aten::select.int", {tensor, int64_t{0}, i}));
    FLAMBEAU_TRY(Val number, emit.Call1("aten::item", {element}));
    numbers.push_back(std::move(number));
  }
  return evaluator.List(std::move(numbers));
}

std::span<const BuiltinRow> SearchBuiltins() { return kRows; }

}  // namespace flambeau::script
