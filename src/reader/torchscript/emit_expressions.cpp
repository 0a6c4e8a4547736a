#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "container/quote.h"
#include "reader/torchscript/emitter.h"
#include "reader/torchscript/numbers.h"
#include "reader/torchscript/picked_modules.h"
#include "reader/torchscript/types.h"

namespace flambeau::torchscript {
namespace {

// Functions of Python's that are not operators by their own name.
constexpr std::string_view kSpecials[] = {"annotate", "unchecked_cast", "uninitialized", "isinstance", "getattr", "fork",
                                          "print",    "float",          "int",           "bool",       "complex", "str"};
constexpr std::pair<std::string_view, std::string_view> kBuiltins[] = {
    {"len", "aten::len"},       {"abs", "prim::abs"},       {"min", "prim::min"},     {"max", "prim::max"},
    {"round", "aten::round"},   {"ord", "aten::ord"},       {"chr", "aten::chr"},     {"hex", "aten::hex"},
    {"oct", "aten::oct"},       {"bin", "aten::bin"},       {"pow", "aten::pow"},     {"divmod", "aten::divmod"},
    {"sorted", "aten::sorted"}, {"hash", "aten::hash"},     {"any", "aten::any"},     {"all", "aten::all"},
    {"sum", "aten::sum"},       {"rangelist", "prim::rangelist"},
};
constexpr std::pair<std::string_view, std::string_view> kBinary[] = {
    {"+", "aten::add"},       {"-", "aten::sub"},        {"*", "aten::mul"},         {"/", "aten::div"},
    {"//", "aten::floordiv"}, {"%", "aten::remainder"},  {"**", "aten::pow"},        {"@", "aten::matmul"},
    {"&", "aten::__and__"},   {"|", "aten::__or__"},     {"^", "aten::__xor__"},     {"<<", "aten::__lshift__"},
    {">>", "aten::__rshift__"}, {"==", "aten::eq"},      {"!=", "aten::ne"},         {"<", "aten::lt"},
    {"<=", "aten::le"},       {">", "aten::gt"},         {">=", "aten::ge"},         {"is", "aten::__is__"},
    {"is not", "aten::__isnot__"},
};

template <class Table>
std::string_view Lookup(const Table& table, std::string_view key) {
  for (const auto& [name, value] : table)
    if (name == key) return value;
  return {};
}

}  // namespace

TypePtr TypeOf(const Constant& constant, std::span<const Object> objects) {
  struct Visitor {
    std::span<const Object> objects;
    TypePtr operator()(std::monostate) const { return NoneType(); }
    TypePtr operator()(bool) const { return BoolType(); }
    TypePtr operator()(int64_t) const { return IntType(); }
    TypePtr operator()(double) const { return FloatType(); }
    TypePtr operator()(const std::complex<double>&) const { return Type::Of(TypeKind::kComplex); }
    TypePtr operator()(const std::string&) const { return StringType(); }
    TypePtr operator()(const TensorData&) const { return TensorType(); }
    TypePtr operator()(const DeviceConstant&) const { return Type::Of(TypeKind::kDevice); }
    TypePtr operator()(const ListConstant& list) const {
      return ListOf(list.elements.empty() ? TensorType() : TypeOf(list.elements[0], objects));
    }
    TypePtr operator()(const TupleConstant& tuple) const {
      std::vector<TypePtr> elements;
      for (const Constant& each : tuple.elements) elements.push_back(TypeOf(each, objects));
      return TupleOf(std::move(elements));
    }
    TypePtr operator()(const DictConstant& dict) const {
      if (dict.entries.empty()) return Type::Of(TypeKind::kDict, {StringType(), TensorType()});
      return Type::Of(TypeKind::kDict, {TypeOf(dict.entries[0].key, objects), TypeOf(dict.entries[0].value, objects)});
    }
    TypePtr operator()(const EnumConstant& member) const {
      auto type = std::make_shared<Type>();
      type->kind = TypeKind::kEnum;
      type->name = member.class_name;
      type->elements = {member.value ? TypeOf(*member.value) : AnyType()};
      return type;
    }
    TypePtr operator()(ObjectId id) const {
      if (id.index >= objects.size()) return AnyType();
      const std::string& name = objects[id.index].class_name;
      return name == kQuantizedTensor ? TensorType() : NamedType(TypeKind::kClass, name);
    }
  };
  return std::visit(Visitor{objects}, constant.value);
}

// --- nodes and names ---

Node* Emitter::Append(std::string kind, std::string overload, std::vector<Value*> inputs) {
  Node* node = graph_.Append(block_, std::move(kind), std::move(overload), std::move(inputs));
  node->source = program_.ranges.Find(*syntax_.source, at_);
  ++program_.nodes;
  return node;
}
Value* Emitter::Output(Node* node, TypePtr type) {
  return graph_.AddOutput(node, std::move(type), std::to_string(next_name_++));
}
Value* Emitter::AppendValue(std::string kind, std::vector<Value*> inputs, TypePtr type) {
  return Output(Append(std::move(kind), "", std::move(inputs)), std::move(type));
}
Value* Emitter::AppendConstant(Constant constant, TypePtr type) {
  Node* node = Append("prim::Constant", "", {});
  node->attributes.push_back({"value", std::move(constant)});
  return Output(node, std::move(type));
}
Value* Emitter::Int(int64_t value) { return AppendConstant({value}, IntType()); }
Value* Emitter::NewInput(Block* block, TypePtr type, std::string_view name) {
  Value* value = graph_.AddInput(block, std::move(type), std::to_string(next_name_++));
  Name(value, name);
  return value;
}
// The first name of a value is its name.
void Emitter::Name(Value* value, std::string_view name) {
  if (name.empty() || value->name.empty() || value->name[0] < '0' || value->name[0] > '9') return;
  const uint32_t count = ++names_[std::string(name)];
  value->name = fmt::format("{}.{}", name, count);
}

Sugared* Emitter::Find(std::string_view name) {
  for (Frame* frame = frame_; frame != nullptr; frame = frame->parent)
    if (const auto found = frame->variables.find(name); found != frame->variables.end()) return &found->second;
  return nullptr;
}
void Emitter::Bind(std::string_view name, Sugared value) {
  const auto [place, is_new] = frame_->variables.insert_or_assign(name, std::move(value));
  (void)place;
  if (is_new) frame_->order.push_back(name);
}

std::string Emitter::Snippet(const Expr& expr) const {
  return Quote(std::string_view(syntax_.source->text).substr(expr.begin, expr.end - expr.begin));
}
Failure Emitter::Error(const Expr& expr, std::string message) {
  at_ = expr.begin;
  return Error(fmt::format("{}: {}", Snippet(expr), std::move(message)));
}
Failure Emitter::Error(std::string message) { return syntax_.source->Error(at_, std::move(message), library_.sink()); }

// --- values ---

Result<Value*> Emitter::EmitValue(ExprId expr, const TypePtr& hint) {
  FLAMBEAU_TRY(Sugared sugared, EmitSugared(expr, hint));
  return ToValue(std::move(sugared), syntax_[expr]);
}

Result<Value*> Emitter::ToValue(Sugared sugared, const Expr& expr) {
  switch (sugared.kind) {
    case Sugared::Kind::kValue: return sugared.value;
    case Sugared::Kind::kNone: return AppendConstant({}, NoneType());
    case Sugared::Kind::kTuple: return AppendValue("prim::TupleConstruct", sugared.values, sugared.type);
    case Sugared::Kind::kUndefined: return Error(expr, sugared.text);
    default: return Error(expr, "this is no value");
  }
}

Status Emitter::CheckBounded(const TypePtr& type, const Expr& expr) {
  if (IsBounded(*type)) return {};
  return syntax_.source->Error(DiagnosticKind::kLimitExceeded, expr.begin,
                               fmt::format("a type is nested more than {} deep, or has more than {} parts", kMaxTypeDepth, kMaxTypeParts), library_.sink());
}

std::vector<Value*> Emitter::Unpack(Value* tuple) {
  if (tuple->node != nullptr && tuple->node->kind == "prim::TupleConstruct") return tuple->node->inputs;
  Node* unpack = Append("prim::TupleUnpack", "", {tuple});
  std::vector<Value*> values;
  const TypePtr type = tuple->type;
  for (const TypePtr& element : type->elements) values.push_back(Output(unpack, element));
  return values;
}

Result<Sugared> Emitter::EmitSugared(ExprId id, const TypePtr& hint) {
  const Expr& expr = syntax_[id];
  const auto constant = [&](Constant value, TypePtr type) -> Result<Sugared> {
    return Sugared::Of(AppendConstant(std::move(value), std::move(type)));
  };
  const auto value = [](Result<Value*> made) -> Result<Sugared> {
    if (!made) return kFailure;
    return Sugared::Of(*made);
  };
  switch (expr.kind) {
    case ExprKind::kName: return EmitName(expr);
    case ExprKind::kNumber: {
      const std::optional<Constant> number = ParseNumber(expr.text, false);
      if (!number) return Error(expr, "the number is out of range");
      return constant(*number, TypeOf(*number));
    }
    case ExprKind::kString: return constant({std::string(expr.text)}, StringType());
    case ExprKind::kTrue: return constant({true}, BoolType());
    case ExprKind::kFalse: return constant({false}, BoolType());
    case ExprKind::kNone: return constant({}, NoneType());
    case ExprKind::kAttribute: return EmitAttribute(expr);
    case ExprKind::kApply: return EmitApply(expr, hint);
    case ExprKind::kSubscript: return EmitSubscript(expr, hint);
    case ExprKind::kList: return value(EmitList(expr, hint));
    case ExprKind::kDict: return value(EmitDict(expr, hint));
    case ExprKind::kTuple: return EmitTuple(expr, hint);
    case ExprKind::kUnary: return EmitUnary(expr);
    case ExprKind::kBinary: return EmitBinary(expr);
    case ExprKind::kConditional: {
      FLAMBEAU_TRY(Value* condition, EmitCondition(expr.operands[0]));
      return value(EmitChoice(
          condition, [&] { return EmitValue(expr.operands[1], hint); }, [&] { return EmitValue(expr.operands[2], hint); }));
    }
    case ExprKind::kEllipsis:
    case ExprKind::kSlice:
    case ExprKind::kStarred:
    case ExprKind::kListComprehension:
    case ExprKind::kDictComprehension: break;
  }
  return Error(expr, "PyTorch's serializer writes no such expression");
}

Result<Sugared> Emitter::EmitName(const Expr& expr) {
  if (const Sugared* variable = Find(expr.text)) {
    if (variable->kind == Sugared::Kind::kUndefined) return Error(expr, variable->text);
    return *variable;
  }
  if (expr.text == "torch") return Sugared::Named(Sugared::Kind::kNamespace, "aten");
  if (expr.text == "ops") return Sugared{.kind = Sugared::Kind::kOps};
  if (expr.text == "CONSTANTS") return Sugared{.kind = Sugared::Kind::kConstants};
  if (expr.text == "__torch__") return Sugared::Named(Sugared::Kind::kQualified, "__torch__");
  if (expr.text == "inf") return Sugared::Of(AppendConstant({HUGE_VAL}, FloatType()));
  if (expr.text == "nan") return Sugared::Of(AppendConstant({std::numeric_limits<double>::quiet_NaN()}, FloatType()));
  if (expr.text == "infj" || expr.text == "nanj") {
    const double imaginary = expr.text == "infj" ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
    return Sugared::Of(AppendConstant({std::complex<double>(0, imaginary)}, Type::Of(TypeKind::kComplex)));
  }
  if (std::find(std::begin(kSpecials), std::end(kSpecials), expr.text) != std::end(kSpecials))
    return Sugared::Named(Sugared::Kind::kSpecial, std::string(expr.text));
  if (const std::string_view name = Lookup(kBuiltins, expr.text); !name.empty())
    return Sugared::Named(Sugared::Kind::kOperator, std::string(name));
  // A function beside this one: how the code of the upgraders calls.
  const std::string_view module = std::string_view(function_.name).substr(0, function_.name.rfind('.'));
  FLAMBEAU_TRY(const FunctionInfo* function, library_.FindFunction(fmt::format("{}.{}", module, expr.text)));
  if (function != nullptr) return Sugared{.kind = Sugared::Kind::kFunction, .function = function};
  return Error(expr, "the name is not defined");
}

Result<Sugared> Emitter::EmitQualified(std::string name) {
  FLAMBEAU_TRY(const ClassInfo* info, library_.FindClass(name));
  if (info != nullptr) return Sugared{.kind = Sugared::Kind::kClass, .class_info = info};
  FLAMBEAU_TRY(const FunctionInfo* function, library_.FindFunction(name));
  if (function != nullptr) return Sugared{.kind = Sugared::Kind::kFunction, .function = function};
  return Sugared::Named(Sugared::Kind::kQualified, std::move(name));
}

Result<Sugared> Emitter::EmitAttribute(const Expr& expr) {
  FLAMBEAU_TRY(const Sugared object, EmitSugared(expr.operands[0]));
  switch (object.kind) {
    case Sugared::Kind::kNamespace:
      if (expr.text == "autograd") return object;
      return Sugared::Named(Sugared::Kind::kOperator, fmt::format("{}::{}", object.text, expr.text));
    case Sugared::Kind::kOps: return Sugared::Named(Sugared::Kind::kNamespace, std::string(expr.text));
    case Sugared::Kind::kConstants: {
      const TypedConstant* constant = library_.FindConstant(expr.text);
      if (constant == nullptr) return Error(expr, "the archive has no such constant");
      FLAMBEAU_CHECK_OK(library_.Charge(constant->value));
      return Sugared::Of(AppendConstant(constant->value, constant->type));
    }
    case Sugared::Kind::kQualified: return EmitQualified(fmt::format("{}.{}", object.text, expr.text));
    case Sugared::Kind::kClass: {
      const ClassInfo& info = *object.class_info;
      if (expr.text == "__new__") return Sugared{.kind = Sugared::Kind::kNew, .class_info = &info};
      // Hooks of a module are functions beside its class, for those that call it.
      FLAMBEAU_TRY(const FunctionInfo* function, library_.FindFunction(fmt::format("{}.{}", info.name, expr.text)));
      if (function != nullptr) return Sugared{.kind = Sugared::Kind::kFunction, .function = function};
      const ClassField* field = info.Find(expr.text);
      if (info.kind != ClassKind::kEnum || field == nullptr || !field->value) break;
      FLAMBEAU_TRY(Constant value, library_.Literal(*info.syntax, field->value));
      FLAMBEAU_TRY(TypePtr type, library_.TypeOf(info));
      return Sugared::Of(AppendConstant(
          {EnumConstant{info.name, field->name, std::make_shared<const Constant>(std::move(value))}}, std::move(type)));
    }
    default: {
      FLAMBEAU_TRY(Value* value, ToValue(object, expr));
      at_ = expr.begin;
      return AttributeOf(value, expr.text, expr);
    }
  }
  return Error(expr, "there is no such attribute");
}

Result<TypePtr> Emitter::TypeOfField(const ClassInfo& info, const ClassField& field) {
  if (field.annotation) return library_.Resolve(*info.syntax, field.annotation);
  constexpr int kMaxOpen = 16;
  if (info.kind == ClassKind::kClass && !info.constructor_read && program_.constructors_open < kMaxOpen) {
    info.constructor_read = true;
    FLAMBEAU_TRY(const FunctionInfo* constructor, library_.FindMethod(info.name, "__init__"));
    if (constructor == nullptr) return AnyType();
    ++program_.constructors_open;
    const auto read = EmitFunction(*constructor, program_);
    --program_.constructors_open;
    if (!read) return kFailure;
  }
  return field.assigned ? field.assigned : AnyType();
}

Result<Sugared> Emitter::AttributeOf(Value* object, std::string_view name, const Expr& expr) {
  const TypePtr type = object->type;
  if (IsKind(type, TypeKind::kTuple)) {
    const auto field = std::ranges::find(type->fields, name);
    if (field == type->fields.end()) return Error(expr, fmt::format("{} has no field {}", Text(*type), Quote(name)));
    return Sugared::Of(Unpack(object)[static_cast<size_t>(field - type->fields.begin())]);
  }
  if (IsKind(type, TypeKind::kEnum) && (name == "value" || name == "name")) {
    const TypePtr result = name == "name" ? StringType() : type->elements[0];
    return Sugared::Of(AppendValue(name == "name" ? "prim::EnumName" : "prim::EnumValue", {object}, result));
  }
  if (!IsKind(type, TypeKind::kClass) && !IsKind(type, TypeKind::kInterface)) {
    const std::string property = fmt::format("prim::{}", name);
    const std::vector<Signature>& properties = FindOverloads(property);
    if (IsKind(type, TypeKind::kTensor) && !properties.empty() && properties[0].arguments.size() == 1) {
      FLAMBEAU_TRY(Value* value, Operator(property, std::vector<Value*>{object}));
      return Sugared::Of(value);
    }
    return Sugared{.kind = Sugared::Kind::kMethod, .value = object, .text = std::string(name)};
  }
  FLAMBEAU_TRY(const ClassInfo* info, library_.FindClass(type->name));
  if (const ClassField* field = info == nullptr ? nullptr : info->Find(name)) {
    FLAMBEAU_TRY(TypePtr result, TypeOfField(*info, *field));
    if (field->value) {  // a constant of the class
      FLAMBEAU_TRY(Constant constant, library_.Literal(*info->syntax, field->value));
      return Sugared::Of(AppendConstant(std::move(constant), std::move(result)));
    }
    Node* get = Append("prim::GetAttr", "", {object});
    get->attributes.push_back({"name", {std::string(name)}});
    Value* value = Output(get, std::move(result));
    return Sugared::Of(value);
  }
  return Sugared{.kind = Sugared::Kind::kMethod, .value = object, .text = std::string(name)};
}

Result<Sugared> Emitter::EmitTupleSubscript(Value* tuple, ExprId index_id) {
  const Expr& index = syntax_[index_id];
  const auto number = [&](ExprId id, int64_t otherwise) -> std::optional<int64_t> {
    if (!id) return otherwise;
    const Expr* expr = &syntax_[id];
    if (expr->kind == ExprKind::kNone) return otherwise;
    const bool negative = expr->kind == ExprKind::kUnary && expr->text == "-";
    if (negative) expr = &syntax_[expr->operands[0]];
    if (expr->kind != ExprKind::kNumber) return std::nullopt;
    const auto constant = ParseNumber(expr->text, negative);
    if (!constant || !std::holds_alternative<int64_t>(constant->value)) return std::nullopt;
    return std::get<int64_t>(constant->value);
  };
  const TypePtr type = tuple->type;
  const auto size = static_cast<int64_t>(type->elements.size());
  if (index.kind != ExprKind::kSlice) {
    const std::optional<int64_t> position = number(index_id, 0);
    if (!position) {
      // As PyTorch has it: elements of one type may be taken at a place that is computed.
      const bool alike = size > 0 && std::ranges::all_of(type->elements, [&](const TypePtr& each) { return Equal(*each, *type->elements[0]); });
      if (!alike) return Error(index, "the index of a tuple whose elements have several types must be a number");
      FLAMBEAU_TRY(Value* place, EmitValue(index_id));
      if (!IsKind(place->type, TypeKind::kInt)) return Error(index, "the index of a tuple must be an integer");
      return Sugared::Of(AppendValue("prim::TupleIndex", {tuple, place}, type->elements[0]));
    }
    const int64_t at = *position < 0 ? *position + size : *position;
    if (at < 0 || at >= size) return Error(index, fmt::format("the tuple has {} elements", size));
    if (tuple->node != nullptr && tuple->node->kind == "prim::TupleConstruct")
      return Sugared::Of(tuple->node->inputs[static_cast<size_t>(at)]);
    Value* where = Int(at);
    return Sugared::Of(AppendValue("prim::TupleIndex", {tuple, where}, type->elements[static_cast<size_t>(at)]));
  }
  const auto begin = number(index.operands[0], 0), end = number(index.operands[1], size), step = number(index.operands[2], 1);
  if (!begin || !end || step != 1) return Error(index, "the bounds of a tuple's slice must be numbers");
  const auto clamp = [size](int64_t bound) { return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size); };
  const std::vector<Value*> all = Unpack(tuple);
  Sugared slice = {.kind = Sugared::Kind::kTuple};
  std::vector<TypePtr> types;
  for (int64_t i = clamp(*begin); i < clamp(*end); ++i) {
    slice.values.push_back(all[static_cast<size_t>(i)]);
    types.push_back(type->elements[static_cast<size_t>(i)]);
  }
  slice.type = TupleOf(std::move(types));
  return slice;
}

Result<bool> Emitter::IsModule(const Type& type) {
  if (type.kind != TypeKind::kClass) return false;
  FLAMBEAU_TRY(const ClassInfo* info, library_.FindClass(type.name));
  return info != nullptr && info->kind == ClassKind::kModule;
}

Result<Sugared> Emitter::EmitSubscript(const Expr& expr, const TypePtr& hint) {
  FLAMBEAU_TRY(Sugared object, EmitSugared(expr.operands[0]));
  if (expr.operands.size() != 2) return Error(expr, "PyTorch's serializer writes one index alone");
  FLAMBEAU_TRY(Value* value, ToValue(std::move(object), expr));
  const Expr& index = syntax_[expr.operands[1]];
  if (IsKind(value->type, TypeKind::kTuple)) return EmitTupleSubscript(value, expr.operands[1]);
  if (index.kind == ExprKind::kSlice) {
    Call call;
    call.positional = {OperandOf(value)};
    if (IsKind(value->type, TypeKind::kTensor)) call.positional.push_back(OperandOf(Int(0)));
    for (const ExprId bound : index.operands) {
      Value* limit = nullptr;
      if (bound) {
        FLAMBEAU_TRY(limit, EmitValue(bound));
      } else {
        limit = &bound == &index.operands[2] ? Int(1) : AppendConstant({}, NoneType());
      }
      call.positional.push_back(OperandOf(limit));
    }
    at_ = expr.begin;
    return Operator("aten::slice", call);
  }
  FLAMBEAU_TRY(Value* position, EmitValue(expr.operands[1]));
  at_ = expr.begin;
  const bool picks = (IsKind(position->type, TypeKind::kInt) || IsKind(position->type, TypeKind::kString)) && hint && IsKind(hint, TypeKind::kInterface);
  FLAMBEAU_TRY(const bool module, IsModule(*value->type));
  if (picks && module) return Sugared::Of(AppendValue(std::string(kPick), {value, position}, hint));
  Call call;
  call.positional = {OperandOf(value)};
  if (IsKind(value->type, TypeKind::kTensor)) {
    call.positional.insert(call.positional.end(), {OperandOf(Int(0)), OperandOf(position)});
    return Operator("aten::select", call);
  }
  call.positional.push_back(OperandOf(position));
  return Operator("aten::__getitem__", call);
}

Result<Value*> Emitter::EmitList(const Expr& expr, const TypePtr& hint) {
  TypePtr element;
  if (hint && IsKind(Unwrap(hint), TypeKind::kList) && !Unwrap(hint)->elements.empty()) element = Unwrap(hint)->elements[0];
  std::vector<Value*> values;
  for (const ExprId operand : expr.operands) {
    FLAMBEAU_TRY(Value* value, EmitValue(operand, element));
    values.push_back(value);
  }
  if (!element) {
    element = values.empty() ? TensorType() : values[0]->type;
    for (const Value* value : values) {
      element = Unify(element, value->type);
      if (!element) return Error(expr, "the elements have types that do not agree");
    }
  }
  for (Value*& value : values) {
    FLAMBEAU_TRY(value, ConvertTo(value, element, "an element"));
  }
  at_ = expr.begin;
  const bool untyped = values.empty() && !hint;
  TypePtr type = ListOf(element);
  FLAMBEAU_CHECK_OK(CheckBounded(type, expr));
  Value* list = AppendValue("prim::ListConstruct", std::move(values), std::move(type));
  if (untyped) untyped_lists_.insert(list);
  return list;
}

Result<Value*> Emitter::EmitDict(const Expr& expr, const TypePtr& hint) {
  TypePtr key, element;
  if (hint && IsKind(Unwrap(hint), TypeKind::kDict)) {
    key = Unwrap(hint)->elements[0];
    element = Unwrap(hint)->elements[1];
  }
  std::vector<Value*> values;
  for (size_t i = 0; i < expr.operands.size(); ++i) {
    FLAMBEAU_TRY(Value* value, EmitValue(expr.operands[i], i % 2 == 0 ? key : element));
    values.push_back(value);
  }
  if (!key) {
    key = values.empty() ? StringType() : values[0]->type;
    element = values.empty() ? TensorType() : values[1]->type;
    for (size_t i = 1; i < values.size(); i += 2) {
      element = Unify(element, values[i]->type);
      if (!element) return Error(expr, "the values have types that do not agree");
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    FLAMBEAU_TRY(values[i], ConvertTo(values[i], i % 2 == 0 ? key : element, i % 2 == 0 ? "a key" : "a value"));
  }
  at_ = expr.begin;
  TypePtr type = Type::Of(TypeKind::kDict, {key, element});
  FLAMBEAU_CHECK_OK(CheckBounded(type, expr));
  return AppendValue("prim::DictConstruct", std::move(values), std::move(type));
}

Result<Sugared> Emitter::EmitTuple(const Expr& expr, const TypePtr& hint) {
  Sugared tuple = {.kind = Sugared::Kind::kTuple};
  const bool fits = hint && IsKind(hint, TypeKind::kTuple) && hint->elements.size() == expr.operands.size();
  std::vector<TypePtr> types;
  for (size_t i = 0; i < expr.operands.size(); ++i) {
    FLAMBEAU_TRY(Value* value, EmitValue(expr.operands[i], fits ? hint->elements[i] : nullptr));
    tuple.values.push_back(value);
    types.push_back(value->type);
  }
  tuple.type = TupleOf(std::move(types));
  FLAMBEAU_CHECK_OK(CheckBounded(tuple.type, expr));
  return tuple;
}

// --- operators ---

Result<Sugared> Emitter::EmitUnary(const Expr& expr) {
  const Expr& operand = syntax_[expr.operands[0]];
  if (expr.text == "-" && operand.kind == ExprKind::kNumber) {
    const std::optional<Constant> number = ParseNumber(operand.text, true);
    if (!number) return Error(expr, "the number is out of range");
    return Sugared::Of(AppendConstant(*number, TypeOf(*number)));
  }
  FLAMBEAU_TRY(Value* value, EmitValue(expr.operands[0]));
  at_ = expr.begin;
  if (expr.text == "-" && operand.kind == ExprKind::kName && operand.text == "inf" && Find("inf") == nullptr)
    return Sugared::Of(AppendConstant({-HUGE_VAL}, FloatType()));
  if (expr.text == "not") {
    FLAMBEAU_TRY(value, ToBool(value));
  }
  const std::string_view name = expr.text == "-" ? "aten::neg" : expr.text == "~" ? "aten::bitwise_not" : "aten::__not__";
  FLAMBEAU_TRY(Value* result, Operator(name, std::vector<Value*>{value}));
  return Sugared::Of(result);
}

Result<Sugared> Emitter::EmitBinary(const Expr& expr) {
  const bool is_and = expr.text == "and";
  if (is_and || expr.text == "or") {
    FLAMBEAU_TRY(Value* left, EmitCondition(expr.operands[0]));
    const auto known = [&]() -> Result<Value*> { return AppendConstant({!is_and}, BoolType()); };
    const auto right = [&] { return EmitCondition(expr.operands[1]); };
    const Result<Value*> result = is_and ? EmitChoice(left, right, known) : EmitChoice(left, known, right);
    if (!result) return kFailure;
    return Sugared::Of(*result);
  }
  FLAMBEAU_TRY(Value* left, EmitValue(expr.operands[0]));
  FLAMBEAU_TRY(Value* right, EmitValue(expr.operands[1]));
  at_ = expr.begin;
  if (expr.text == "in" || expr.text == "not in") {
    FLAMBEAU_TRY(Value* contains, Operator("aten::__contains__", std::vector<Value*>{right, left}));
    if (expr.text == "in") return Sugared::Of(contains);
    FLAMBEAU_TRY(Value* negated, Operator("aten::__not__", std::vector<Value*>{contains}));
    return Sugared::Of(negated);
  }
  FLAMBEAU_TRY(Value* result, Operator(Lookup(kBinary, expr.text), std::vector<Value*>{left, right}));
  return Sugared::Of(result);
}

Result<Value*> Emitter::EmitChoice(Value* condition, const std::function<Result<Value*>()>& yes,
                                   const std::function<Result<Value*>()>& no) {
  // Joined as any variable is; no code can have its name.
  constexpr std::string_view kChosen = "?";
  const auto bind = [&](const std::function<Result<Value*>()>& emit) -> Status {
    FLAMBEAU_TRY(Value* value, emit());
    Bind(kChosen, Sugared::Of(value));
    return {};
  };
  FLAMBEAU_CHECK_OK(EmitBranches(
      condition, [&] { return bind(yes); }, [&] { return bind(no); }));
  const Sugared* chosen = Find(kChosen);
  if (chosen->kind == Sugared::Kind::kUndefined) return Error(chosen->text);
  Value* value = chosen->value;
  frame_->variables.erase(kChosen);
  std::erase(frame_->order, kChosen);
  return value;
}

Result<Value*> Emitter::ToBool(Value* value) {
  if (IsKind(value->type, TypeKind::kBool)) return value;
  return Operator("aten::Bool", std::vector<Value*>{value});
}

Result<Value*> Emitter::EmitCondition(ExprId expr) {
  FLAMBEAU_TRY(Value* value, EmitValue(expr));
  at_ = syntax_[expr].begin;
  return ToBool(value);
}

}  // namespace flambeau::torchscript
