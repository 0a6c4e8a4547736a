// Constants, numbers and objects.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

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

Result<Vals> PythonFunction(Evaluator& evaluator, const Node& node, Arguments) {
  const std::string* name = NameOf(node);
  return evaluator.sink().Error(DiagnosticKind::kUnsupportedOperator,
                                fmt::format("the Python function '{}' has no translation", name ? *name : "?"));
}

Result<Vals> True(Evaluator&, const Node&, Arguments) { return Vals{true}; }
Result<Vals> RequiresGrad(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* tensor = arguments[0].As<TensorVal>();
  return Vals{tensor != nullptr && evaluator.emit().IsParameter(tensor->id)};
}

constexpr BuiltinRow kRows[] = {
    {"aten::Bool", &Truth},
    {"aten::Float", &Convert<double>, kReadsText},
    {"aten::Int", &Convert<int64_t>, kReadsText},
    {"aten::Size", &First},
    {"aten::_unwrap_optional", &Unwrap},
    {"aten::divmod", &DivMod},
    {"aten::warn", &Ignore},
    {"prim::CreateObject", &CreateObject},
    {"aten::wait", &First},
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
    {"prim::type", &DeviceType},
    {"prim::unchecked_cast", &Refine, kTakesUndefined},
    {"prim::unchecked_unwrap_optional", &Unwrap},
    {"prim::grad", &None},
    {"aten::is_autocast_cpu_enabled", &False},
    {"aten::is_autocast_enabled", &False},
    {"cuda::set_stream", &Ignore},
    {"profiler::_record_function_enter", &None},
    {"profiler::_record_function_enter_new", &None},
    {"profiler::_record_function_exit", &Ignore},
    {"prim::is_mkldnn", &False},
    {"prim::is_nested", &False},
    {"prim::is_quantized", &False},
    {"prim::requires_grad", &RequiresGrad},
    {"aten::_get_tracing_state", &False},
    {"aten::is_scripting", &True},
};

}  // namespace

std::span<const BuiltinRow> ValueBuiltins() { return kRows; }

}  // namespace flambeau::script
