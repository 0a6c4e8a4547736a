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
    torchscript::Type made = *value->type;
    made.elements = std::move(types);
    return std::make_shared<const torchscript::Type>(std::move(made));
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

bool HoldsUnion(const torchscript::Type& type) {
  return type.kind == Declares::kUnion || std::ranges::any_of(type.elements, [](const TypePtr& each) { return HoldsUnion(*each); });
}

// Whether a list or dict of one type is one of the other: not where they only hold the same. Unions are spelt in more ways
// than one.
Answer IsSame(const torchscript::Type& type, const torchscript::Type& asked) {
  if (type.elements.empty()) return std::nullopt;  // any of the kind
  if (Equal(type, asked)) return true;
  return HoldsUnion(type) || HoldsUnion(asked) ? Answer() : false;
}

Answer AllOf(std::span<const Answer> answers) {
  bool known = true;
  for (const Answer& each : answers) {
    if (!each) known = false;
    else if (!*each) return false;
  }
  return known ? Answer(true) : Answer();
}

// Whether one of several is so.
Answer AnyOf(std::span<const TypePtr> types, const auto& is) {
  Answer any = false;
  for (const TypePtr& type : types) {
    const Answer answer = is(type);
    if (answer == true) return true;
    if (!answer) any = std::nullopt;
  }
  return any;
}

bool IsSameEnum(const torchscript::Type& a, const torchscript::Type& b) { return a.kind == Declares::kEnum && b.kind == Declares::kEnum && a.name == b.name; }

// A number that only a run knows: a member of an enum is one, too.
Answer IsNumber(Evaluator& evaluator, NumberVal number, const std::vector<TypePtr>& declared, const torchscript::Type& asked) {
  const TypeKind kind = evaluator.emit().TypeOf(number.id).kind;
  if (kind == TypeKind::kBool) return asked.kind == Declares::kBool;
  const bool is_named = asked.kind == Declares::kNumber || asked.kind == (kind == TypeKind::kInt ? Declares::kInt : Declares::kFloat);
  if (kind != TypeKind::kInt) return is_named;
  const bool maybe_int = declared.empty() || CountOf(declared, Declares::kInt) + CountOf(declared, Declares::kNumber) > 0;
  const bool maybe_member = declared.empty() ? evaluator.HasEnums() : CountOf(declared, Declares::kEnum) > 0;
  if (!maybe_member) return is_named;
  if (!is_named && asked.kind != Declares::kEnum) return false;
  if (maybe_int) return std::nullopt;
  if (is_named || std::ranges::none_of(declared, [&](const TypePtr& each) { return IsSameEnum(*each, asked); })) return false;
  return CountOf(declared, Declares::kEnum) == 1 ? Answer(true) : std::nullopt;
}

Answer IsInstance(Evaluator& evaluator, const Val& value, const std::vector<TypePtr>& declared, const torchscript::Type& asked);

// What a value holds can only say that it is no such list or dict: one of optionals need not hold None.
Answer HoldsSuch(std::span<const Answer> answers) { return AllOf(answers) == false ? Answer(false) : std::nullopt; }

// Whether a tuple, perhaps of this type, has the fields that are asked for, if any are: one named tuple is another one of the
// same fields. A live graph tells their names only.
Answer HasFields(const torchscript::Type* type, const torchscript::Type& asked) {
  if (asked.name.empty()) return true;
  if (type == nullptr) return std::nullopt;
  if (type->name.empty() || type->name == asked.name) return !type->name.empty();
  return type->fields.empty() || asked.fields.empty() ? Answer() : type->fields == asked.fields;
}

// Of a list, dict or tuple.
Answer IsContainer(Evaluator& evaluator, const Val& value, const std::vector<TypePtr>& declared, const torchscript::Type& asked) {
  const auto each = [&](const Val& element, size_t part) { return IsInstance(evaluator, element, {}, *asked.elements[part]); };
  std::vector<Answer> answers;
  if (const auto* list = value.As<ListVal>()) {
    if (asked.kind != Declares::kList || asked.elements.empty()) return asked.kind == Declares::kList;
    if (const auto* only = OnlyOf(declared, Declares::kList)) return IsSame(*only, asked);
    for (const Val& element : evaluator.heap()[list->cell].elements) answers.push_back(each(element, 0));
    return HoldsSuch(answers);
  }
  if (const auto* dict = value.As<DictVal>()) {
    if (asked.kind != Declares::kDict || asked.elements.empty()) return asked.kind == Declares::kDict;
    if (const auto* only = OnlyOf(declared, Declares::kDict)) return IsSame(*only, asked);
    for (const auto& [key, entry] : evaluator.heap()[dict->cell].entries) answers.insert(answers.end(), {each(key, 0), each(entry, 1)});
    return HoldsSuch(answers);
  }
  const auto* tuple = value.As<TupleVal>();
  if (tuple == nullptr) return std::nullopt;
  const auto* only = OnlyOf(declared, Declares::kTuple);
  if (asked.kind != Declares::kTuple) return false;
  const bool is_any = asked.name.empty() && asked.elements.empty();
  if (is_any || (only != nullptr && Equal(*only, asked))) return true;
  if (asked.elements.size() != tuple->elements->size()) return false;
  const bool told = only != nullptr && only->elements.size() == asked.elements.size();
  for (size_t i = 0; i < asked.elements.size(); ++i) {
    const std::vector<TypePtr> as = told ? Declared(only->elements[i]) : std::vector<TypePtr>();
    answers.push_back(IsInstance(evaluator, (*tuple->elements)[i], as, *asked.elements[i]));
  }
  answers.push_back(HasFields(only, asked));
  return AllOf(answers);
}

Answer IsInstance(Evaluator& evaluator, const Val& value, const std::vector<TypePtr>& declared, const torchscript::Type& asked) {
  switch (asked.kind) {
    case Declares::kAny:
    case Declares::kVariable: return true;
    case Declares::kOptional: return value.Is<Nothing>() ? true : IsInstance(evaluator, value, declared, *asked.elements[0]);
    case Declares::kUnion: return AnyOf(asked.elements, [&](const TypePtr& each) { return IsInstance(evaluator, value, declared, *each); });
    default: break;
  }
  if (value.Is<TensorVal>() || value.Is<QuantizedVal>()) return asked.kind == Declares::kTensor;
  if (value.Is<Nothing>()) return asked.kind == Declares::kNone;
  if (value.Is<bool>()) return asked.kind == Declares::kBool;
  if (value.Is<int64_t>()) return asked.kind == Declares::kInt || asked.kind == Declares::kNumber;
  if (value.Is<double>()) return asked.kind == Declares::kFloat || asked.kind == Declares::kNumber;
  if (value.Is<std::string>()) return asked.kind == Declares::kString;
  if (value.Is<DeviceVal>()) return asked.kind == Declares::kDevice;
  if (const auto* number = value.As<NumberVal>()) return IsNumber(evaluator, *number, declared, asked);
  if (const auto* member = value.As<EnumVal>()) return asked.kind == Declares::kEnum && asked.name == member->constant->class_name;
  if (const auto* object = value.As<ObjectVal>()) {
    const std::string& name = evaluator.heap()[object->cell].class_name;
    return name == kGeneratorClass ? asked.kind == Declares::kGenerator : asked.kind == Declares::kClass && asked.name == name;
  }
  return IsContainer(evaluator, value, declared, asked);
}

// Of a member that only a run knows, of one of several enums: whether it is a member of one that is asked for.
Result<Val> IsOneOfMembers(Evaluator& evaluator, NumberVal number, const std::vector<TypePtr>& declared, const std::vector<TypePtr>& types) {
  Val any = false;
  for (const TypePtr& each : declared) {
    if (std::ranges::none_of(types, [&](const TypePtr& type) { return IsSameEnum(*type, *each); })) continue;
    for (const Val& member : evaluator.enum_members().ThatMayBe(each.get(), number)) {
      FLAMBEAU_TRY(const Val is, evaluator.emit().Call1("_operator::eq", {number, evaluator.emit().NumberOf(*member.As<EnumVal>())}));
      FLAMBEAU_TRY(any, evaluator.emit().Call1("_operator::or_", {any, is}));
    }
  }
  return any;
}

Result<Vals> IsInstanceOf(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (node.types.empty()) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "does not say which types it asks for");
  int steps_left = kMostSteps;
  const std::vector<TypePtr> declared = Declared(MadeAs(node.inputs[0], steps_left));
  const auto is_one = [&](const Val& value) {
    return AnyOf(node.types, [&](const TypePtr& type) { return IsInstance(evaluator, value, declared, *type); });
  };
  const auto* optional = arguments[0].As<OptionalVal>();
  const auto* number = arguments[0].As<NumberVal>();
  const auto is_enum = [](const TypePtr& type) { return type->kind == Declares::kEnum; };
  if (number != nullptr && declared.size() > 1 && std::ranges::all_of(declared, is_enum)) {
    FLAMBEAU_TRY(Val is, IsOneOfMembers(evaluator, *number, declared, node.types));
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
