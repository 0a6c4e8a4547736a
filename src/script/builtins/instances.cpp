// isinstance: which of the types that a variable may have its value is of.
#include <algorithm>

#include "reader/torchscript/types.h"
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
  for (const TypePtr& part : type->elements) {
    const std::vector<TypePtr> parts = Declared(part);
    if (parts.empty()) return {};
    for (const TypePtr& each : parts)
      if (std::ranges::none_of(all, [&](const TypePtr& known) { return Equal(*known, *each); })) all.push_back(each);
  }
  return all;
}

bool IsOpen(const TypePtr& type) {
  if (type->kind == Declares::kTuple) return std::ranges::any_of(type->elements, IsOpen);
  return type->kind == Declares::kAny || type->kind == Declares::kUnion || type->kind == Declares::kOptional;
}

constexpr int kMostSteps = 64;  // in all: paths may share what they give

// What the value was declared as where it was made: Any and unions tell less of it than the nodes on the way know.
TypePtr MadeAs(const torchscript::Value* value, int& steps_left) {
  const Node* node = value->node;
  if (node == nullptr || --steps_left < 0 || !IsOpen(value->type)) return value->type;
  std::vector<TypePtr> types;
  const auto add = [&](const torchscript::Value* from) { types.push_back(MadeAs(from, steps_left)); };
  if (node->kind == "prim::unchecked_cast") {
    add(node->inputs[0]);
    return IsSubtype(*types[0], *value->type) ? types[0] : value->type;
  }
  if (node->kind == "prim::TupleConstruct") {
    std::ranges::for_each(node->inputs, add);
    return torchscript::TupleOf(std::move(types));
  }
  if (node->kind != "prim::If") return value->type;
  const auto place = static_cast<size_t>(std::ranges::find(node->outputs, value) - node->outputs.begin());
  for (const torchscript::Block* path : node->blocks) add(path->outputs[place]);
  return Equal(*types[0], *types[1]) ? types[0] : torchscript::Type::Of(Declares::kUnion, std::move(types));
}

int64_t CountOf(const std::vector<TypePtr>& declared, Declares kind) {
  return std::ranges::count_if(declared, [&](const TypePtr& type) { return type->kind == kind; });
}

// The one of this kind, where it is declared as one.
const torchscript::Type* OnlyOf(const std::vector<TypePtr>& declared, Declares kind) {
  if (CountOf(declared, kind) != 1) return nullptr;
  return std::ranges::find(declared, kind, &torchscript::Type::kind)->get();
}

// Whether a list or dict of one type is one of the other: not where they only hold the same. Unions are spelt in more ways
// than one.
Answer IsSame(const torchscript::Type& type, std::string_view asked) {
  const std::string text = Text(type);
  if (text == asked) return true;
  const auto unsure = [](std::string_view spelt) { return spelt.find("Union[") != spelt.npos; };
  return unsure(text) || unsure(asked) ? Answer() : false;
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

// A number that only a run knows: a member of an enum is one, too.
Answer IsNumber(Evaluator& evaluator, NumberVal number, const std::vector<TypePtr>& declared, std::string_view type) {
  const std::string_view head = type.substr(0, type.find('['));
  const TypeKind kind = evaluator.emit().TypeOf(number.id).kind;
  const bool is_named = head == (kind == TypeKind::kBool ? "bool" : kind == TypeKind::kInt ? "int" : "float") || head == "number";
  if (kind != TypeKind::kInt) return is_named;
  const bool maybe_int = declared.empty() || CountOf(declared, Declares::kInt) + CountOf(declared, Declares::kNumber) > 0;
  const bool maybe_member = declared.empty() ? evaluator.HasEnums() : CountOf(declared, Declares::kEnum) > 0;
  if (!maybe_member) return is_named;
  const bool is_class = head.starts_with("__torch__");
  if (!is_named && !is_class) return false;
  if (maybe_int) return std::nullopt;
  const auto is_asked = [&](const TypePtr& each) { return each->kind == Declares::kEnum && each->name == type; };
  if (is_named || std::ranges::none_of(declared, is_asked)) return false;
  return CountOf(declared, Declares::kEnum) == 1 ? Answer(true) : std::nullopt;
}

Answer IsInstance(Evaluator& evaluator, const Val& value, const std::vector<TypePtr>& declared, std::string_view type) {
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
  if (const auto* number = value.As<NumberVal>()) return IsNumber(evaluator, *number, declared, type);
  if (const auto* member = value.As<EnumVal>()) return type == member->constant->class_name;
  if (const auto* object = value.As<ObjectVal>()) return evaluator.heap()[object->cell].class_name == type;
  // What it holds can only say that it is no such list: one of optionals need not hold None.
  const auto of_parts = [](std::span<const Answer> answers) { return AllOf(answers) == false ? Answer(false) : std::nullopt; };
  if (const auto* list = value.As<ListVal>()) {
    if (head == "list" || head != "List") return head == "list";
    if (const auto* only = OnlyOf(declared, Declares::kList)) return IsSame(*only, type);
    const Cell& cell = evaluator.heap()[list->cell];
    std::vector<Answer> answers;
    for (const Val& element : cell.elements) answers.push_back(each(element, part(0)));
    return of_parts(answers);
  }
  if (const auto* dict = value.As<DictVal>()) {
    if (head == "dict" || head != "Dict") return head == "dict";
    if (const auto* only = OnlyOf(declared, Declares::kDict)) return IsSame(*only, type);
    std::vector<Answer> answers;
    for (const auto& [key, entry] : evaluator.heap()[dict->cell].entries)
      answers.insert(answers.end(), {each(key, part(0)), each(entry, part(1))});
    return of_parts(answers);
  }
  if (const auto* tuple = value.As<TupleVal>()) {
    const auto* only = OnlyOf(declared, Declares::kTuple);
    // Its elements are what is kept of a named one.
    if (head.starts_with("__torch__")) return only != nullptr ? Answer(true) : std::nullopt;
    if (parts.empty() || head != "Tuple") return head == "Tuple" || head == "tuple";
    if (only != nullptr && Text(*only) == type) return true;
    if (parts.size() != tuple->elements->size()) return false;
    std::vector<Answer> answers;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool told = only != nullptr && only->elements.size() == parts.size();
      answers.push_back(IsInstance(evaluator, (*tuple->elements)[i], told ? Declared(only->elements[i]) : std::vector<TypePtr>(), parts[i]));
    }
    return AllOf(answers);
  }
  return std::nullopt;
}

// Of a member that only a run knows, of one of several enums: whether it is a member of one that is asked for.
Result<Val> IsOneOfMembers(Evaluator& evaluator, NumberVal number, const std::vector<TypePtr>& declared, const torchscript::ListConstant& types) {
  Val any = false;
  for (const TypePtr& each : declared) {
    const auto is_asked = [&](const torchscript::Constant& type) {
      const auto* text = std::get_if<std::string>(&type.value);
      return text != nullptr && *text == each->name;
    };
    if (std::ranges::none_of(types.elements, is_asked)) continue;
    for (const Val& member : evaluator.enum_members().ThatMayBe(each.get(), number)) {
      FLAMBEAU_TRY(const Val is, evaluator.emit().Call1("_operator::eq", {number, evaluator.emit().NumberOf(*member.As<EnumVal>())}));
      FLAMBEAU_TRY(any, evaluator.emit().Call1("_operator::or_", {any, is}));
    }
  }
  return any;
}

Result<Vals> IsInstanceOf(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const torchscript::Constant* types = node.Find("types");
  const auto* list = types != nullptr ? std::get_if<torchscript::ListConstant>(&types->value) : nullptr;
  if (list == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "does not say which types it asks for");
  int steps_left = kMostSteps;
  const std::vector<TypePtr> declared = Declared(MadeAs(node.inputs[0], steps_left));
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
  const auto* number = arguments[0].As<NumberVal>();
  const auto is_enum = [](const TypePtr& type) { return type->kind == Declares::kEnum; };
  if (number != nullptr && declared.size() > 1 && std::ranges::all_of(declared, is_enum)) {
    FLAMBEAU_TRY(Val is, IsOneOfMembers(evaluator, *number, declared, *list));
    return Vals{std::move(is)};
  }
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
