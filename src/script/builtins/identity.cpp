// Whether values are one object, or equal.
#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/builtins.h"
#include "script/lists/list_order.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

bool EqualNumbers(const Val& a, const Val& b) {
  const auto i = a.AsInt(), j = b.AsInt();
  if (i && j) return *i == *j;
  const auto number = [](const Val& value, std::optional<int64_t> integer) -> std::complex<double> {
    if (const auto* complex = value.As<std::complex<double>>()) return *complex;
    return integer ? static_cast<double>(*integer) : *value.As<double>();
  };
  return number(a, i) == number(b, j);
}

// Of the same kind as the first, which is neither a number nor a container.
std::optional<bool> EqualValues(const Val& a, const Val& b) {
  if (a.Is<Nothing>()) return true;
  if (const auto* text = a.As<std::string>()) {
    const std::string& other = *b.As<std::string>();
    const bool known = text->find(kRunTimeText) == text->npos && other.find(kRunTimeText) == other.npos;
    return known ? std::optional(*text == other) : std::nullopt;
  }
  if (const auto* device = a.As<DeviceVal>()) return device->text == b.As<DeviceVal>()->text;
  if (const auto* object = a.As<ObjectVal>()) return object->cell == b.As<ObjectVal>()->cell;
  if (const auto* value = a.As<EnumVal>()) {
    const torchscript::EnumConstant &member = *value->constant, &other = *b.As<EnumVal>()->constant;
    return member.member == other.member && member.class_name == other.class_name;
  }
  return std::nullopt;
}

bool IsOpen(const Val& value, const Heap& heap) {
  const Cell* list = ListOf(value, heap);
  return list != nullptr && (list->sequence || !list->columns.empty());
}

// Nested values; IsBounded of both.
std::optional<bool> KnownEqualBounded(const Val& a, const Val& b, const Heap& heap) {
  const auto of_run_time = [](const Val& value) { return value.Is<OptionalVal>() || value.Is<NumberVal>() || value.Is<TensorVal>(); };
  if (of_run_time(a) || of_run_time(b)) {
    const auto *x = a.As<TensorVal>(), *y = b.As<TensorVal>();
    return x != nullptr && y != nullptr && x->id == y->id ? std::optional(true) : std::nullopt;
  }
  if (a.IsConstantNumber() && b.IsConstantNumber()) return EqualNumbers(a, b);
  if (a.Is<Undefined>() || b.Is<Undefined>()) return std::nullopt;
  if (a.storage.index() != b.storage.index()) return false;
  if (IsOpen(a, heap) || IsOpen(b, heap)) return std::nullopt;
  const Vals *left = ElementsOf(a, heap), *right = ElementsOf(b, heap);
  if (left == nullptr || right == nullptr) return EqualValues(a, b);
  if (left->size() != right->size()) return false;
  bool unknown = false;
  for (size_t i = 0; i < left->size(); ++i) {
    const auto equal = KnownEqualBounded((*left)[i], (*right)[i], heap);
    if (equal && !*equal) return false;
    unknown |= !equal;
  }
  return unknown ? std::nullopt : std::optional(true);
}

}  // namespace

std::optional<bool> KnownEqual(const Val& a, const Val& b, const Heap& heap) {
  return IsBounded(a, heap) && IsBounded(b, heap) ? KnownEqualBounded(a, b, heap) : std::nullopt;
}

namespace {

Result<Vals> Not(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (const auto known = evaluator.KnownBool(arguments[0])) return Vals{!*known};
  FLAMBEAU_TRY(Val result, evaluator.emit().Call1("_operator::not_", {arguments[0]}));
  return Vals{std::move(result)};
}

// --- identity -----------------------------------------------------------------------------

// A member of an enum beside one that only a run knows, which is a number.
Vals AsNumbers(Evaluator& evaluator, Arguments arguments) {
  Vals numbers(arguments.begin(), arguments.end());
  const bool open = std::ranges::any_of(numbers, [](const Val& value) { return value.Is<NumberVal>(); });
  for (Val& value : numbers)
    if (const auto* member = value.As<EnumVal>(); member != nullptr && open) value = evaluator.emit().NumberOf(*member);
  return numbers;
}

// Whether two names are of one tensor, unless paths of the program decide it.
std::optional<bool> AreOneObject(Storages& storages, ValueId a, ValueId b) {
  const Storages::HandleId object = storages.ObjectOf(a), other = storages.ObjectOf(b);
  if (object == other) return true;
  if (storages.maybe_one().RootOf(object) == storages.maybe_one().RootOf(other)) return std::nullopt;
  const ValueId both[] = {a, b};
  return storages.StorageOf(a) == storages.StorageOf(b) || storages.AreApart(both) ? std::optional(false) : std::nullopt;
}

Failure UnknownIdentity(Evaluator& evaluator, std::string_view what, std::string_view hint = "let the paths set a flag, and ask for that") {
  return evaluator.sink().Error(DiagnosticKind::kUnknownAliasing, fmt::format("asks whether two {} are one, which paths of the program decide", what), {},
                                std::string(hint));
}

constexpr std::string_view kCompare = "compare them with ==";

// Whether what only a run knows may be a member of an enum.
bool MayBeMember(Evaluator& evaluator, const Node& node, size_t place) {
  if (!evaluator.HasEnums()) return false;
  using enum torchscript::TypeKind;
  const torchscript::TypePtr& type = node.inputs[place]->type;
  return type == nullptr || (type->kind != kInt && type->kind != kFloat && type->kind != kBool && type->kind != kComplex && type->kind != kNumber);
}

// Whether equal values that are no tensors, lists or objects are one in TorchScript: each constant that the program writes, and
// each attribute, is an object of its own.
std::optional<bool> AreOne(const Node& node, const Val& a, const Val& b) {
  if (const auto* member = a.As<EnumVal>()) return member->constant->value == b.As<EnumVal>()->constant->value;
  if (const auto* tuple = a.As<TupleVal>()) return tuple->elements == b.As<TupleVal>()->elements ? std::optional(true) : std::nullopt;
  if (!a.Is<std::string>() && !a.Is<std::complex<double>>()) return true;
  // Known once the program is compiled, and then of constants that are made anew for the question.
  const bool written = std::ranges::any_of(node.inputs, [](const torchscript::Value* value) { return value->node != nullptr && value->node->kind == "prim::Constant"; });
  return written ? std::optional(false) : std::nullopt;
}

Result<Vals> Is(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Val &a = arguments[0], &b = arguments[1];
  if (b.Is<Nothing>()) evaluator.kept_inputs().NoteAsked(node, a);
  const auto* optional = b.Is<Nothing>() ? a.As<OptionalVal>() : a.Is<Nothing>() ? b.As<OptionalVal>() : nullptr;
  if (optional != nullptr) return Not(evaluator, node, Vals{NumberVal{optional->present}});
  if (a.Is<Nothing>() || b.Is<Nothing>()) return Vals{a.Is<Nothing>() && b.Is<Nothing>()};
  const auto *x = a.As<ListVal>(), *y = b.As<ListVal>();
  if (x != nullptr && y != nullptr) {
    if (x->cell != y->cell && MayBeSame(evaluator.heap(), x->cell, y->cell)) return UnknownIdentity(evaluator, "lists or dicts");
    return Vals{x->cell == y->cell};
  }
  const auto *s = a.As<TensorVal>(), *t = b.As<TensorVal>();
  if (s != nullptr && t != nullptr) {
    const auto one = AreOneObject(evaluator.emit().storages(), s->id, t->id);
    return one ? Result<Vals>(Vals{*one}) : UnknownIdentity(evaluator, "tensors");
  }
  if (MayBeMember(evaluator, node, 0) && MayBeMember(evaluator, node, 1) && (a.Is<NumberVal>() || b.Is<NumberVal>()))
    return UnknownIdentity(evaluator, "members of an enum", kCompare);
  if (a.IsNumber() && b.IsNumber()) {
    FLAMBEAU_TRY(const Val equal, evaluator.emit().Call1("_operator::eq", {a, b}));
    return Vals{equal};
  }
  const auto equal = KnownEqual(a, b, evaluator.heap());
  if (!equal) return evaluator.Unsupported("asks whether two values are one that are known at run time only");
  if (!*equal) return Vals{false};
  const auto one = AreOne(node, a, b);
  if (!one) return UnknownIdentity(evaluator, "equal values", kCompare);
  if (!*one)
    evaluator.sink().Warning(DiagnosticKind::kUnsupportedForm, "`is` of two values that are equal is False here: TorchScript asks whether they are one object", {}, std::string(kCompare));
  return Vals{*one};
}

Result<Vals> IsNot(Evaluator& evaluator, const Node& node, Arguments arguments) {
  FLAMBEAU_TRY(const Vals is, Is(evaluator, node, arguments));
  return Not(evaluator, node, is);
}

bool IsOperand(const Val& value) { return value.Is<TensorVal>() || value.IsNumber(); }

template <bool kEqual>
Result<Vals> Compare(Evaluator& evaluator, const Node& node, Arguments given) {
  const Vals arguments = AsNumbers(evaluator, given);
  if (IsOperand(arguments[0]) && IsOperand(arguments[1])) return evaluator.CallOperator(node, arguments);
  if (const auto equal = KnownEqual(arguments[0], arguments[1], evaluator.heap())) return Vals{*equal == kEqual};
  const auto *a = arguments[0].As<ListVal>(), *b = arguments[1].As<ListVal>();
  if (a == nullptr || b == nullptr) return evaluator.Unsupported("compares values that are known at run time only");
  const Cell &mine = evaluator.heap()[a->cell], &other = evaluator.heap()[b->cell];
  if (mine.sequence || other.sequence) {
    FLAMBEAU_TRY(const Val equal, EqualLists(evaluator, arguments[0], arguments[1]));
    return kEqual ? Result<Vals>(Vals{equal}) : Not(evaluator, node, Vals{equal});
  }
  const auto is_number = [](const Val& value) { return value.IsNumber(); };
  if (mine.elements.size() != other.elements.size() || !mine.columns.empty() || !other.columns.empty() ||
      !std::ranges::all_of(mine.elements, is_number) || !std::ranges::all_of(other.elements, is_number))
    return evaluator.Unsupported("compares lists that are known at run time only");
  // Lists of numbers: element by element.
  const Vals left = mine.elements, right = other.elements;
  Val all = true;
  for (size_t i = 0; i < left.size(); ++i) {
    FLAMBEAU_TRY(const Val equal, evaluator.emit().Call1("_operator::eq", {left[i], right[i]}));
    FLAMBEAU_TRY(all, evaluator.emit().Call1("_operator::and_", {all, equal}));
  }
  if (!kEqual) {
    FLAMBEAU_TRY(all, evaluator.emit().Call1("_operator::not_", {all}));
  }
  return Vals{all};
}

constexpr BuiltinRow kRows[] = {
    {"aten::__is__", &Is},
    {"aten::__isnot__", &IsNot},
    {"aten::__not__", &Not},
    {"aten::eq", &Compare<true>},
    {"aten::ne", &Compare<false>},
};

}  // namespace

std::span<const BuiltinRow> IdentityBuiltins() { return kRows; }

}  // namespace flambeau::script
