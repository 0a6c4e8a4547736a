// Constants, objects, types and text.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "script/builtins/builtins.h"
#include "script/list_order.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

std::optional<bool> KnownEqualBounded(const Val& a, const Val& b, const Heap& heap) {
  if (a.Is<OptionalVal>() || b.Is<OptionalVal>()) return std::nullopt;
  if (a.Is<NumberVal>() || b.Is<NumberVal>() || a.Is<TensorVal>() || b.Is<TensorVal>()) {
    const auto *x = a.As<TensorVal>(), *y = b.As<TensorVal>();
    if (x != nullptr && y != nullptr && x->id == y->id) return true;
    return std::nullopt;
  }
  if (a.IsConstantNumber() && b.IsConstantNumber()) {
    const auto i = a.AsInt(), j = b.AsInt();
    if (i && j) return *i == *j;
    auto number = [](const Val& value, std::optional<int64_t> integer) -> std::complex<double> {
      if (const auto* complex = value.As<std::complex<double>>()) return *complex;
      return integer ? static_cast<double>(*integer) : *value.As<double>();
    };
    return number(a, i) == number(b, j);
  }
  if (a.Is<Undefined>() || b.Is<Undefined>()) return std::nullopt;
  if (a.storage.index() != b.storage.index()) return false;
  if (const auto* text = a.As<std::string>()) {
    const std::string& other = *b.As<std::string>();
    const bool known = text->find(kRunTimeText) == text->npos && other.find(kRunTimeText) == other.npos;
    return known ? std::optional(*text == other) : std::nullopt;
  }
  if (const auto* device = a.As<DeviceVal>()) return device->text == b.As<DeviceVal>()->text;
  if (const auto* value = a.As<EnumVal>())
    return value->constant->member == b.As<EnumVal>()->constant->member &&
           value->constant->class_name == b.As<EnumVal>()->constant->class_name;
  if (a.Is<Nothing>()) return true;
  if (const auto* object = a.As<ObjectVal>()) return object->cell == b.As<ObjectVal>()->cell;
  const Vals* left = nullptr;
  const Vals* right = nullptr;
  if (const auto* list = a.As<ListVal>()) {
    const Cell &mine = heap[list->cell], &other = heap[b.As<ListVal>()->cell];
    if (mine.sequence || other.sequence || !mine.columns.empty() || !other.columns.empty()) return std::nullopt;
    left = &mine.elements;
    right = &other.elements;
  } else if (const auto* tuple = a.As<TupleVal>()) {
    left = tuple->elements.get();
    right = b.As<TupleVal>()->elements.get();
  } else {
    return std::nullopt;
  }
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

// As TorchScript has it: "1." of a whole number, else 17 digits.
std::string TextOfDouble(double value) {
  constexpr double kBeyond = 9223372036854775808.0;  // int64
  if (std::abs(value) < kBeyond && std::trunc(value) == value) return fmt::format("{}.", static_cast<int64_t>(value));
  return fmt::format("{:.17g}", value);
}

std::string TextOfBounded(Evaluator& evaluator, const Val& value) {
  if (const auto* text = value.As<std::string>()) return *text;
  if (const auto* i = value.As<int64_t>()) return fmt::format("{}", *i);
  if (const auto* b = value.As<bool>()) return *b ? "True" : "False";
  if (const auto* d = value.As<double>()) return TextOfDouble(*d);
  if (const auto* device = value.As<DeviceVal>()) return device->text;
  if (value.Is<Nothing>()) return "None";
  if (const auto* list = value.As<ListVal>()) {
    std::string out = "[";
    for (const Val& element : evaluator.heap()[list->cell].elements) out += (out.size() > 1 ? ", " : "") + TextOfBounded(evaluator, element);
    return out + "]";
  }
  return std::string(1, kRunTimeText);
}

}  // namespace

std::string TextOf(Evaluator& evaluator, const Val& value) {
  return IsBounded(value, evaluator.heap()) ? TextOfBounded(evaluator, value) : std::string(1, kRunTimeText);
}

namespace {

Result<Vals> First(Evaluator&, const Node&, Arguments arguments) { return Vals{arguments[0]}; }
Result<Vals> Ignore(Evaluator&, const Node&, Arguments) { return Vals{}; }
Result<Vals> None(Evaluator&, const Node&, Arguments) { return Vals{Nothing{}}; }
Result<Vals> False(Evaluator&, const Node&, Arguments) { return Vals{false}; }
Result<Vals> Unassigned(Evaluator&, const Node& node, Arguments) { return Vals(node.outputs.size()); }

Result<Vals> Unwrap(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments[0].Is<Nothing>()) return evaluator.Unsupported("unwraps an optional that is None for these inputs");
  if (const auto* optional = arguments[0].As<OptionalVal>()) return Vals{*optional->value};
  return Vals{arguments[0]};
}
// What a program says when it has found out the type of a value.
Result<Vals> Refine(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* optional = arguments[0].As<OptionalVal>();
  const bool still_optional = !node.outputs.empty() && node.outputs[0]->type &&
                              node.outputs[0]->type->kind == torchscript::TypeKind::kOptional;
  return Vals{optional != nullptr && !still_optional ? *optional->value : evaluator.emit().Settled(arguments[0])};
}

Result<Vals> Raise(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* text = arguments.empty() ? nullptr : arguments[0].As<std::string>();
  std::string message = text != nullptr ? ": " + *text : "";
  std::ranges::replace(message, kRunTimeText, '?');
  return evaluator.Raise(node, fmt::format("the program raises an exception for these inputs{}", message));
}

// --- objects --------------------------------------------------------------------------

const std::string* NameOf(const Node& node) {
  const torchscript::Constant* name = node.Find("name");
  return name != nullptr ? std::get_if<std::string>(&name->value) : nullptr;
}

Result<Vals> GetAttr(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* object = arguments[0].As<ObjectVal>();
  const std::string* name = NameOf(node);
  if (object == nullptr || name == nullptr)
    return evaluator.sink().Error(DiagnosticKind::kBadProgram, "reads an attribute of something that is no object");
  FLAMBEAU_TRY(Val value, evaluator.GetAttribute(object->cell, *name));
  if (value.IsNumber() || value.Is<ListVal>()) evaluator.attribute_uses().Note(object->cell, *name, true);
  if (const auto* tensor = value.As<TensorVal>()) evaluator.attribute_uses().NoteTensor(*tensor);
  return Vals{std::move(value)};
}

Result<Vals> SetAttr(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* object = arguments[0].As<ObjectVal>();
  const std::string* name = NameOf(node);
  if (object == nullptr || name == nullptr || arguments.size() != 2)
    return evaluator.sink().Error(DiagnosticKind::kBadProgram, "writes an attribute of something that is no object");
  evaluator.attribute_uses().Note(object->cell, *name, false);
  FLAMBEAU_CHECK_OK(evaluator.SetAttribute(object->cell, *name, arguments[1]));
  return Vals{};
}

Result<Vals> HasAttr(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* object = arguments[0].As<ObjectVal>();
  const std::string* name = NameOf(node);
  if (object == nullptr || name == nullptr) return Vals{false};
  return Vals{evaluator.heap()[object->cell].attributes.Find(*name) != nullptr};
}

Result<Vals> CreateObject(Evaluator& evaluator, const Node& node, Arguments) {
  const torchscript::TypePtr& type = node.outputs[0]->type;
  return Vals{ObjectVal{evaluator.heap().Add({.class_name = type != nullptr ? type->name : std::string()})}};
}

Result<Vals> Not(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (const auto known = evaluator.KnownBool(arguments[0])) return Vals{!*known};
  FLAMBEAU_TRY(Val result, evaluator.emit().Call1("_operator::not_", {arguments[0]}));
  return Vals{std::move(result)};
}

// --- identity and equality ----------------------------------------------------------------

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
  if (storages.ObjectOf(a) == storages.ObjectOf(b)) return true;
  const auto objects = storages.ObjectsOf(a);
  if (std::ranges::find(objects, storages.ObjectOf(b)) != objects.end()) return std::nullopt;
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

Result<Vals> Truth(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (const auto known = evaluator.KnownBool(arguments[0])) return Vals{*known};
  const auto* number = arguments[0].As<NumberVal>();
  if (number == nullptr) return evaluator.CallOperator(node, arguments);
  if (evaluator.emit().TypeOf(number->id).kind == TypeKind::kBool) return Vals{arguments[0]};
  FLAMBEAU_TRY(Val result, evaluator.emit().Call1("_operator::ne", {arguments[0], int64_t{0}}));
  return Vals{std::move(result)};
}

// A number of another kind: of text, or as TorchScript converts numbers.
template <class T>
Result<Vals> Convert(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  if (text == nullptr) return evaluator.CallOperator(node, arguments);
  try {
    size_t end = 0;
    Val number;
    if constexpr (std::is_same_v<T, double>) number = std::stod(*text, &end);
    else number = static_cast<int64_t>(std::stoll(*text, &end));
    if (end == text->size()) return Vals{std::move(number)};
  } catch (const std::exception&) {  // as of any other text
  }
  return evaluator.Unsupported(fmt::format("'{}' is no number", *text));
}

Result<Vals> DivMod(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(Val quotient, evaluator.emit().Call1("_operator::floordiv", arguments.first(2)));
  FLAMBEAU_TRY(Val rest, evaluator.emit().Call1("_operator::mod", arguments.first(2)));
  return Vals{std::move(quotient), std::move(rest)};
}

// --- text -----------------------------------------------------------------------------------

Result<Vals> Text(Evaluator& evaluator, const Node&, Arguments arguments) {
  return Vals{TextOf(evaluator, arguments[0])};
}

// "{}" is replaced by the next argument.
Result<Vals> Format(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* pattern = arguments.empty() ? nullptr : arguments[0].As<std::string>();
  if (pattern == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "formats something that is no text");
  std::string out;
  size_t next = 1;
  for (size_t i = 0; i < pattern->size(); ++i) {
    if (pattern->compare(i, 2, "{}") == 0 && next < arguments.size()) {
      out += TextOf(evaluator, arguments[next++]);
      ++i;
    } else {
      out += (*pattern)[i];
    }
  }
  return Vals{std::move(out)};
}

// "cuda" of "cuda:1"
Result<Vals> DeviceType(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* device = arguments[0].As<DeviceVal>();
  if (device == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "asks for the type of something that is no device");
  return Vals{device->text.substr(0, device->text.find(':'))};
}

// 1 of "cuda:1"; None where no number is said.
Result<Vals> DeviceIndex(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* device = arguments[0].As<DeviceVal>();
  if (device == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "asks for the number of something that is no device");
  const size_t colon = device->text.find(':');
  int64_t number = 0;
  const char* end = device->text.data() + device->text.size();
  if (colon == device->text.npos || std::from_chars(device->text.data() + colon + 1, end, number).ptr != end) return Vals{Nothing{}};
  return Vals{number};
}

// See enum_members.cpp for members that only a run knows.
Result<Vals> EnumValue(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* value = arguments[0].As<EnumVal>();
  if (value == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "asks for the value of something that is no enum");
  return Vals{evaluator.Import(*value->constant->value, "")};
}
Result<Vals> EnumName(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* value = arguments[0].As<EnumVal>();
  if (value == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "asks for the name of something that is no enum");
  return Vals{value->constant->member};
}

// What torch.autocast computes in where nothing else is said.
Result<Vals> AutocastDtype(Evaluator&, const Node&, Arguments arguments) {
  const auto* device = arguments[0].As<std::string>();
  const DType dtype = device != nullptr && *device == "cuda" ? DType::kFloat16 : DType::kBfloat16;
  return Vals{int64_t{Info(dtype).torch_code}};
}

Result<Vals> PythonFunction(Evaluator& evaluator, const Node& node, Arguments) {
  const std::string* name = NameOf(node);
  return evaluator.sink().Error(DiagnosticKind::kUnsupportedOperator,
                                fmt::format("the Python function '{}' has no translation", name ? *name : "?"));
}

constexpr std::string_view kGradEnabled = "grad_enabled";

Result<Vals> IsGradEnabled(Evaluator& evaluator, const Node&, Arguments) {
  FLAMBEAU_TRY(Val enabled, evaluator.GetAttribute(evaluator.modes(), kGradEnabled));
  return Vals{std::move(enabled)};
}
Result<Vals> SetGradEnabled(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_CHECK_OK(evaluator.SetAttribute(evaluator.modes(), kGradEnabled, arguments[0]));
  return Vals{Nothing{}};
}
// torch.no_grad() keeps in itself what was there before.
Result<Vals> EnterOrExitNoGrad(Evaluator& evaluator, const Node& node, const Val& manager) {
  constexpr std::string_view kBefore = "prev";
  const auto* object = manager.As<ObjectVal>();
  if (object == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "enters something that is no object");
  const bool enters = node.kind == "prim::Enter";
  Val mode = false;
  if (enters) {
    FLAMBEAU_TRY(Val before, evaluator.GetAttribute(evaluator.modes(), kGradEnabled));
    FLAMBEAU_CHECK_OK(evaluator.SetAttribute(object->cell, kBefore, std::move(before)));
  } else {
    FLAMBEAU_TRY(mode, evaluator.GetAttribute(object->cell, kBefore));
  }
  FLAMBEAU_CHECK_OK(evaluator.SetAttribute(evaluator.modes(), kGradEnabled, std::move(mode)));
  return Vals{enters ? manager : Val(Nothing{})};
}

Result<Vals> True(Evaluator&, const Node&, Arguments) { return Vals{true}; }
Result<Vals> RequiresGrad(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* tensor = arguments[0].As<TensorVal>();
  return Vals{tensor != nullptr && evaluator.emit().IsParameter(tensor->id)};
}

// Of these context managers nothing is left in a model.
bool IsTransparent(std::string_view class_name) {
  constexpr std::string_view kNames[] = {"torch.autograd.profiler.record_function", "torch.classes.profiler."};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return class_name.find(name) != class_name.npos; });
}
constexpr std::string_view kAutocast = ".amp.autocast_mode.autocast";

// Nor of a torch.autocast that is off, or for another device than the CPU.
bool IsIdleAutocast(Evaluator& evaluator, std::string_view class_name, const Val& value) {
  const auto* object = value.As<ObjectVal>();
  if (object == nullptr || !class_name.ends_with(kAutocast)) return false;
  const auto enabled = evaluator.GetAttribute(object->cell, "_enabled"), device = evaluator.GetAttribute(object->cell, "device");
  if (!enabled || !device) return false;
  const auto* name = device->As<std::string>();
  return evaluator.KnownBool(*enabled) == false || (name != nullptr && *name != "cpu");
}
Result<Vals> EnterOrExit(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const torchscript::Type* type = node.inputs.empty() ? nullptr : node.inputs[0]->type.get();
  if (type != nullptr && type->name.ends_with(".grad_mode.no_grad")) return EnterOrExitNoGrad(evaluator, node, arguments[0]);
  if (type == nullptr || (!IsTransparent(type->name) && !IsIdleAutocast(evaluator, type->name, arguments[0])))
    return evaluator.Unsupported(fmt::format("enters or leaves a context of the class {}", type != nullptr ? type->name : "?"),
                                 type != nullptr && type->name.ends_with(kAutocast)
                                     ? "export the live script, of which a torch.autocast is taken, or cast in the model"
                                     : "call what it does around the block by functions of your own");
  return node.kind == "prim::Enter" ? Vals{arguments[0]} : Vals{Nothing{}};
}

constexpr BuiltinRow kRows[] = {
    {"aten::Bool", &Truth},
    {"aten::Float", &Convert<double>},
    {"aten::Int", &Convert<int64_t>},
    {"aten::Size", &First},
    {"aten::__is__", &Is},
    {"aten::__isnot__", &IsNot},
    {"aten::__not__", &Not},
    {"aten::_unwrap_optional", &Unwrap},
    {"aten::divmod", &DivMod},
    {"aten::eq", &Compare<true>},
    {"aten::format", &Format},
    {"aten::get_autocast_dtype", &AutocastDtype},
    {"aten::ne", &Compare<false>},
    {"aten::str", &Text},
    {"aten::warn", &Ignore},
    {"cuda::set_stream", &Ignore},
    {"prim::CreateObject", &CreateObject},
    {"aten::wait", &First},
    {"prim::Enter", &EnterOrExit},
    {"prim::Exit", &EnterOrExit},
    {"prim::EnumName", &EnumName},
    {"prim::EnumValue", &EnumValue},
    {"prim::GetAttr", &GetAttr},
    {"prim::Print", &Ignore},
    {"prim::PythonOp", &PythonFunction},
    {"prim::RaiseException", &Raise},
    {"prim::SetAttr", &SetAttr},
    {"prim::Uninitialized", &Unassigned},
    {"prim::hasattr", &HasAttr},
    {"prim::index", &DeviceIndex},
    {"profiler::_record_function_enter", &None},
    {"profiler::_record_function_enter_new", &None},
    {"profiler::_record_function_exit", &Ignore},
    {"prim::type", &DeviceType},
    {"prim::unchecked_cast", &Refine},
    {"prim::unchecked_unwrap_optional", &Unwrap},
    {"prim::grad", &None},
    {"prim::is_mkldnn", &False},
    {"prim::is_nested", &False},
    {"prim::is_quantized", &False},
    {"prim::requires_grad", &RequiresGrad},
    {"aten::_get_tracing_state", &False},
    {"aten::is_autocast_cpu_enabled", &False},
    {"aten::is_autocast_enabled", &False},
    {"aten::is_grad_enabled", &IsGradEnabled},
    {"aten::set_grad_enabled", &SetGradEnabled},
    {"aten::is_scripting", &True},
};

}  // namespace

std::span<const BuiltinRow> ValueBuiltins() { return kRows; }

}  // namespace flambeau::script
