// isinstance: which of the types that a variable may have its value is of.
#include <algorithm>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;
using torchscript::TypePtr;
using Declares = torchscript::TypeKind;

namespace {

// Nothing where what is known of the value does not tell.
using Answer = std::optional<bool>;

// What a variable may be by its declaration: nothing where that is anything.
std::vector<TypePtr> Declared(const TypePtr& type) {
  if (type == nullptr || type->kind == Declares::kAny) return {};
  if (type->kind != Declares::kUnion && type->kind != Declares::kOptional) return {type};
  std::vector<TypePtr> all;
  for (const TypePtr& each : type->elements) std::ranges::copy(Declared(each), std::back_inserter(all));
  return all;
}

int64_t CountOf(const std::vector<TypePtr>& declared, Declares kind) {
  return std::ranges::count_if(declared, [&](const TypePtr& type) { return type->kind == kind; });
}

// Whether it is declared as this list or dict, and as no other one.
bool IsOnly(const std::vector<TypePtr>& declared, Declares kind, std::string_view type) {
  const auto found = std::ranges::find(declared, kind, &torchscript::Type::kind);
  return CountOf(declared, kind) == 1 && Text(**found) == type;
}

// The parts between the brackets of "Dict[str, List[int]]".
std::vector<std::string_view> PartsOf(std::string_view type) {
  const size_t open = type.find('[');
  if (open == std::string_view::npos) return {};
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = open + 1;
  for (size_t i = begin; i < type.size(); ++i) {
    depth += type[i] == '[' ? 1 : type[i] == ']' ? -1 : 0;
    if (depth >= 0 && (depth > 0 || type[i] != ',')) continue;
    parts.push_back(type.substr(begin, i - begin));
    begin = i + 1 < type.size() && type[i + 1] == ' ' ? i + 2 : i + 1;
    if (depth < 0) break;
  }
  return parts;
}

Answer AllOf(std::span<const Answer> answers) {
  bool known = true;
  for (const Answer& each : answers) {
    if (!each) known = false;
    else if (!*each) return false;
  }
  return known ? Answer(true) : Answer();
}

Answer IsInstance(Evaluator& evaluator, const Val& value, const std::vector<TypePtr>& declared, std::string_view type) {
  if (type.starts_with("Enum<")) type = type.substr(5, type.size() - 6);
  const std::vector<std::string_view> parts = PartsOf(type);
  const auto part = [&](size_t i) { return i < parts.size() ? parts[i] : std::string_view(); };
  const std::string_view head = type.substr(0, type.find('['));
  const auto each = [&](const Val& element, std::string_view wanted) { return IsInstance(evaluator, element, {}, wanted); };
  if (head == "Optional") return value.Is<Nothing>() ? true : IsInstance(evaluator, value, declared, part(0));
  if (head == "Any" || head == "t") return true;
  if (value.Is<TensorVal>() || value.Is<QuantizedVal>()) return head.starts_with("Tensor");
  if (value.Is<Nothing>()) return head == "NoneType" || head == "None";
  if (value.Is<bool>()) return head == "bool";
  if (value.Is<int64_t>()) return head == "int" || head == "number";
  if (value.Is<double>()) return head == "float" || head == "number";
  if (value.Is<std::string>()) return head == "str";
  if (value.Is<DeviceVal>()) return head == "Device" || head == "device";
  if (const auto* number = value.As<NumberVal>()) {
    const TypeKind kind = evaluator.emit().TypeOf(number->id).kind;
    // A member that only the run knows is a number, too.
    const bool member = kind == TypeKind::kInt && CountOf(declared, Declares::kEnum) > 0;
    if (member && (CountOf(declared, Declares::kEnum) > 1 || CountOf(declared, Declares::kInt) > 0)) return std::nullopt;
    if (member) return LastName(type) == LastName((*std::ranges::find(declared, Declares::kEnum, &torchscript::Type::kind))->name);
    return head == (kind == TypeKind::kBool ? "bool" : kind == TypeKind::kInt ? "int" : "float") || head == "number";
  }
  if (const auto* member = value.As<EnumVal>()) return LastName(type) == LastName(member->constant->class_name);
  if (const auto* object = value.As<ObjectVal>()) return evaluator.heap()[object->cell].class_name == type;
  if (const auto* list = value.As<ListVal>()) {
    if (head == "list" || head != "List") return head == "list";
    if (IsOnly(declared, Declares::kList, type)) return true;
    const Cell& cell = evaluator.heap()[list->cell];
    if (cell.sequence && !cell.of_numbers && part(0) == "Tensor") return true;
    if (cell.elements.empty()) return std::nullopt;
    std::vector<Answer> answers;
    for (const Val& element : cell.elements) answers.push_back(each(element, part(0)));
    return AllOf(answers);
  }
  if (const auto* dict = value.As<DictVal>()) {
    if (head == "dict" || head != "Dict") return head == "dict";
    if (IsOnly(declared, Declares::kDict, type)) return true;
    std::vector<Answer> answers;
    for (const auto& [key, entry] : evaluator.heap()[dict->cell].entries)
      answers.insert(answers.end(), {each(key, part(0)), each(entry, part(1))});
    return answers.empty() ? std::nullopt : AllOf(answers);
  }
  if (const auto* tuple = value.As<TupleVal>()) {
    // Its elements are what is kept of a named one.
    if (head.starts_with("__torch__")) return CountOf(declared, Declares::kTuple) == 1 ? Answer(true) : std::nullopt;
    if (parts.empty() || head != "Tuple") return head == "Tuple" || head == "tuple";
    if (IsOnly(declared, Declares::kTuple, type)) return true;
    if (parts.size() != tuple->elements->size()) return false;
    std::vector<Answer> answers;
    for (size_t i = 0; i < parts.size(); ++i) answers.push_back(each((*tuple->elements)[i], parts[i]));
    return AllOf(answers);
  }
  return std::nullopt;
}

Result<Vals> IsInstanceOf(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const torchscript::Constant* types = node.Find("types");
  const auto* list = types != nullptr ? std::get_if<torchscript::ListConstant>(&types->value) : nullptr;
  if (list == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "does not say which types it asks for");
  const std::vector<TypePtr> declared = Declared(node.inputs[0]->type);
  const auto is_one = [&](const Val& value) -> Answer {
    Answer any = false;
    for (const torchscript::Constant& type : list->elements) {
      const auto* text = std::get_if<std::string>(&type.value);
      const Answer answer = text != nullptr ? IsInstance(evaluator, value, declared, *text) : std::nullopt;
      if (answer == true) return true;
      if (!answer) any = std::nullopt;
    }
    return any;
  };
  const auto* optional = arguments[0].As<OptionalVal>();
  const Answer value = is_one(optional == nullptr ? arguments[0] : *optional->value);
  if (!value) return evaluator.Unsupported("asks which of several types a value has of which that is not known");
  if (optional == nullptr) return Vals{*value};
  const Answer none = is_one(Nothing{});
  if (none == value) return Vals{*value};
  const Val present = NumberVal{optional->present};
  if (*value) return Vals{present};
  FLAMBEAU_TRY(Val missing, evaluator.emit().Call1("_operator::not_", {present}));
  return Vals{std::move(missing)};
}

constexpr BuiltinRow kRows[] = {{"prim::isinstance", &IsInstanceOf}};

}  // namespace

std::span<const BuiltinRow> InstanceBuiltins() { return kRows; }

}  // namespace flambeau::script
