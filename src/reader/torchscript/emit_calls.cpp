#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "container/quote.h"
#include "reader/torchscript/emitter.h"
#include "reader/torchscript/types.h"
#include "reader/torchscript/upgraders.h"

namespace flambeau::torchscript {
namespace {

// An old schema, parsed once.
const Signature& OldSignature(std::string_view schema) {
  static std::mutex mutex;
  static std::map<std::string_view, Signature> parsed;
  const std::lock_guard lock(mutex);
  auto found = parsed.find(schema);
  if (found == parsed.end()) found = parsed.emplace(schema, *ParseSignature(schema)).first;
  return found->second;
}

bool IsCustomClass(std::string_view name) { return name.starts_with("__torch__.torch.classes."); }

// The method `unpack` of packed weights is an operator too.
std::string_view UnpackOperator(std::string_view class_name) {
  static constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
      {"__torch__.torch.classes.quantized.Conv2dPackedParamsBase", "quantized::conv2d_unpack"},
      {"__torch__.torch.classes.quantized.Conv3dPackedParamsBase", "quantized::conv3d_unpack"},
      {"__torch__.torch.classes.quantized.EmbeddingPackedParamsBase", "quantized::embedding_bag_unpack"},
      {"__torch__.torch.classes.quantized.LinearPackedParamsBase", "quantized::linear_unpack"},
  };
  for (const auto& [known, op] : kOperators)
    if (known == class_name) return op;
  return {};
}

}  // namespace

// --- conversions ---

Operand Emitter::OperandOf(Value* value) const {
  Operand operand = Operand::Of(value);
  operand.empty_list = untyped_lists_.contains(value);
  return operand;
}

Result<Value*> Emitter::Materialize(const Operand& operand, const std::vector<Value*>* elements) {
  Value* base = operand.value;
  if (base == nullptr && elements != nullptr && operand.make == Operand::Make::kValue) base = (*elements)[operand.element];
  switch (operand.make) {
    case Operand::Make::kValue: return base;
    case Operand::Make::kConstant: return AppendConstant(operand.constant, TypeOf(operand.constant));
    case Operand::Make::kCall: {
      FLAMBEAU_TRY(Value* from, Materialize(operand.parts[0], elements));
      return Operator(operand.callee, std::vector<Value*>{from});
    }
    case Operand::Make::kList: {
      std::vector<Value*> values;
      for (const Operand& part : operand.parts) {
        FLAMBEAU_TRY(Value* value, Materialize(part, elements));
        values.push_back(value);
      }
      return AppendValue("prim::ListConstruct", std::move(values), operand.type);
    }
    case Operand::Make::kListOfTuple:
    case Operand::Make::kTupleOfTuple: {
      FLAMBEAU_TRY(Value* tuple, Materialize(operand.parts[0], elements));
      const std::vector<Value*> unpacked = Unpack(tuple);
      std::vector<Value*> values;
      for (size_t i = 1; i < operand.parts.size(); ++i) {
        FLAMBEAU_TRY(Value* value, Materialize(operand.parts[i], &unpacked));
        values.push_back(value);
      }
      const bool list = operand.make == Operand::Make::kListOfTuple;
      return AppendValue(list ? "prim::ListConstruct" : "prim::TupleConstruct", std::move(values), operand.type);
    }
  }
  return Error("an argument cannot be made");
}

Result<std::vector<Value*>> Emitter::Materialize(const Match& match) {
  std::vector<Value*> values;
  for (const Operand& argument : match.arguments) {
    FLAMBEAU_TRY(Value* value, Materialize(argument));
    values.push_back(value);
  }
  return values;
}

Result<Value*> Emitter::ConvertTo(Value* value, const TypePtr& type, std::string_view what) {
  if (IsSubtype(*value->type, *type) && !OperandOf(value).empty_list) return value;
  const Operand converted = Convert(OperandOf(value), type, true);
  if (!IsSubtype(*converted.type, *type))
    return Error(fmt::format("{} has the type {}, not {}", what, Text(*value->type), Text(*type)));
  return Materialize(converted);
}

// --- calls ---

Result<Emitter::Call> Emitter::EmitArguments(const Expr& expr) {
  Call call;
  const size_t first_named = expr.operands.size() - expr.keywords.size();
  for (size_t i = 1; i < expr.operands.size(); ++i) {
    const Expr& argument = syntax_[expr.operands[i]];
    if (argument.kind == ExprKind::kStarred) {
      FLAMBEAU_TRY(Value* tuple, EmitValue(argument.operands[0]));
      if (!IsKind(tuple->type, TypeKind::kTuple)) return Error(argument, "only a tuple can be spread over arguments");
      for (Value* element : Unpack(tuple)) call.positional.push_back(OperandOf(element));
      continue;
    }
    FLAMBEAU_TRY(Value* value, EmitValue(expr.operands[i]));
    if (i >= first_named) {
      call.named.push_back({expr.keywords[i - first_named], OperandOf(value)});
    } else {
      call.positional.push_back(OperandOf(value));
    }
  }
  at_ = expr.begin;
  return call;
}

Result<Sugared> Emitter::EmitApply(const Expr& expr, const TypePtr& hint) {
  at_ = expr.begin;
  FLAMBEAU_TRY(const Sugared callee, EmitSugared(expr.operands[0]));
  switch (callee.kind) {
    case Sugared::Kind::kSpecial: return EmitSpecial(callee.text, expr);
    case Sugared::Kind::kOperator: {
      FLAMBEAU_TRY(const Call call, EmitArguments(expr));
      return Operator(callee.text, call);
    }
    case Sugared::Kind::kFunction: {
      FLAMBEAU_TRY(Call call, EmitArguments(expr));
      return CallFunction(*callee.function, expr, std::move(call));
    }
    case Sugared::Kind::kMethod:
      if (callee.text == "tolist" && IsKind(callee.value->type, TypeKind::kTensor) && hint) {
        // What it is annotated as decides its depth and its elements.
        return Sugared::Of(AppendValue("prim::tolist", {callee.value}, hint));
      }
      return CallMethod(callee.value, callee.text, expr);
    case Sugared::Kind::kClass: return Construct(*callee.class_info, expr);
    case Sugared::Kind::kNew: {
      FLAMBEAU_TRY(const TypePtr type, library_.TypeOf(*callee.class_info));
      return Sugared::Of(AppendValue("prim::CreateObject", {}, type));
    }
    case Sugared::Kind::kQualified:
      return Error(expr, fmt::format("the archive has no function or class {}", Quote(callee.text)));
    case Sugared::Kind::kUndefined: return Error(expr, callee.text);
    default: return Error(expr, "this can't be called");
  }
}

Result<Sugared> Emitter::CallFunction(const FunctionInfo& function, const Expr& expr, Call call) {
  FLAMBEAU_TRY(const Signature* signature, library_.SignatureOf(function));
  const Signature* overloads[] = {signature};
  std::string why;
  const std::optional<Match> match = MatchOverloads(overloads, call.positional, call.named, &why);
  if (!match) return Error(expr, why);
  FLAMBEAU_TRY(std::vector<Value*> inputs, Materialize(*match));
  Node* node = Append("prim::CallFunction", "", std::move(inputs));
  node->attributes.push_back({"name", {function.name}});
  return Sugared::Of(Output(node, match->results[0]));
}

Result<Sugared> Emitter::CallMethod(Value* object, std::string_view name, const Expr& expr) {
  FLAMBEAU_TRY(Call call, EmitArguments(expr));
  call.positional.insert(call.positional.begin(), OperandOf(object));
  const TypePtr type = object->type;
  if (!IsKind(type, TypeKind::kClass) && !IsKind(type, TypeKind::kInterface))
    return Operator(fmt::format("aten::{}", name), call);
  FLAMBEAU_TRY(const FunctionInfo* method, library_.FindMethod(type->name, name));
  if (method == nullptr && name == "unpack") {
    const std::string_view op = UnpackOperator(type->name);
    if (!op.empty()) return Operator(op, call);
  }
  if (method == nullptr)
    return Error(expr, IsCustomClass(type->name)
                           ? fmt::format("methods of {} are written in C++, and not known here", type->name)
                           : fmt::format("{} has no method {}", Text(*type), Quote(name)));
  FLAMBEAU_TRY(const Signature* signature, library_.SignatureOf(*method));
  const Signature* overloads[] = {signature};
  std::string why;
  const std::optional<Match> match = MatchOverloads(overloads, call.positional, call.named, &why);
  if (!match) return Error(expr, why);
  FLAMBEAU_TRY(std::vector<Value*> inputs, Materialize(*match));
  Node* node = Append("prim::CallMethod", "", std::move(inputs));
  node->attributes.push_back({"name", {std::string(name)}});
  return Sugared::Of(Output(node, match->results[0]));
}

Result<Sugared> Emitter::Construct(const ClassInfo& info, const Expr& expr) {
  FLAMBEAU_TRY(const TypePtr type, library_.TypeOf(info));
  if (info.kind == ClassKind::kNamedTuple) {
    FLAMBEAU_TRY(const Call call, EmitArguments(expr));
    Signature constructor = {.name = info.name};
    for (size_t i = 0; i < info.fields.size(); ++i) {
      FormalArgument formal = {.name = info.fields[i].name, .type = type->elements[i]};
      if (info.fields[i].value) {
        FLAMBEAU_TRY(formal.default_value, library_.Literal(*info.syntax, info.fields[i].value));
      }
      constructor.arguments.push_back(std::move(formal));
    }
    const Signature* overloads[] = {&constructor};
    std::string why;
    const std::optional<Match> match = MatchOverloads(overloads, call.positional, call.named, &why);
    if (!match) return Error(expr, why);
    FLAMBEAU_TRY(std::vector<Value*> values, Materialize(*match));
    return Sugared::Of(AppendValue("prim::TupleConstruct", std::move(values), type));
  }
  if (info.kind != ClassKind::kClass) return Error(expr, "this class can't be constructed");
  Value* object = AppendValue("prim::CreateObject", {}, type);
  if (!CallMethod(object, "__init__", expr)) return kFailure;
  return Sugared::Of(object);
}

// --- operators ---

// The upgraders themselves say what they mean in today's operators.
int64_t Emitter::OperatorVersion() const {
  return std::string_view(function_.name).starts_with(kUpgraderModule) ? INT64_MAX : program_.operator_version;
}

Result<Sugared> Emitter::Operator(std::string_view name, const Call& call) {
  if (name == "prim::ConstantMKLDNNTensor")
    return Error("the module was saved after torch.jit.optimize_for_inference, which lays weights out for oneDNN, and torch.jit.save "
                 "leaves such weights out; save it before, or after torch.jit.freeze alone");
  std::vector<const Signature*> current, old;
  std::vector<std::pair<const Signature*, std::string_view>> functions;  // of old overloads
  for (const Retired* retired : FindRetired(name, OperatorVersion())) {
    current.push_back(&OldSignature(retired->schema));
    if (!retired->function.empty()) functions.emplace_back(current.back(), retired->function);
  }
  for (const Signature& overload : FindOverloads(name)) {
    const Upgrader* upgrader = FindUpgrader(name, overload.overload, OperatorVersion());
    if (upgrader == nullptr) {
      current.push_back(&overload);
      continue;
    }
    old.push_back(&OldSignature(upgrader->old_schema));
    functions.emplace_back(old.back(), upgrader->function);
  }
  current.insert(current.end(), old.begin(), old.end());
  if (current.empty()) return Error(fmt::format("the operator {} is not known", name));
  std::string why;
  const std::optional<Match> match = MatchOverloads(current, call.positional, call.named, &why);
  if (!match) return Error(fmt::format("no overload of {} takes these arguments: {}", name, why));
  FLAMBEAU_TRY(std::vector<Value*> inputs, Materialize(*match));
  const auto function = std::ranges::find(functions, match->signature, &std::pair<const Signature*, std::string_view>::first);
  Node* node = nullptr;
  if (function != functions.end()) {
    node = Append("prim::CallFunction", "", std::move(inputs));
    node->attributes.push_back({"name", {fmt::format("{}.{}", kUpgraderModule, function->second)}});
    if (match->results.size() > 1) return Sugared::Of(Output(node, TupleOf(match->results)));
  } else {
    node = Append(std::string(name), match->signature->overload, std::move(inputs));
  }
  if (match->results.empty()) return Sugared{.kind = Sugared::Kind::kNone};
  if (match->results.size() == 1) return Sugared::Of(Output(node, match->results[0]));
  Sugared tuple = {.kind = Sugared::Kind::kTuple};
  for (const TypePtr& type : match->results) tuple.values.push_back(Output(node, type));
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::kTuple;
  type->elements = match->results;
  if (std::ranges::none_of(match->signature->results, [](const FormalResult& result) { return result.name.empty(); }))
    for (const FormalResult& result : match->signature->results) type->fields.push_back(result.name);
  tuple.type = std::move(type);
  return tuple;
}

Result<Value*> Emitter::Operator(std::string_view name, std::span<Value* const> arguments) {
  Call call;
  for (Value* argument : arguments) call.positional.push_back(OperandOf(argument));
  FLAMBEAU_TRY(const Sugared result, Operator(name, call));
  if (result.kind != Sugared::Kind::kValue) return Error(fmt::format("{} has no single result", name));
  return result.value;
}

Result<Value*> Emitter::Cast(std::string_view word, Value* value) {
  static constexpr struct {
    std::string_view word, callee;
    TypeKind kind;
  } kCasts[] = {
      {"float", "aten::Float", TypeKind::kFloat},  {"int", "aten::Int", TypeKind::kInt},
      {"bool", "aten::Bool", TypeKind::kBool},     {"complex", "aten::Complex", TypeKind::kComplex},
      {"str", "aten::str", TypeKind::kString},
  };
  const auto* cast = std::ranges::find(kCasts, word, &std::remove_reference_t<decltype(kCasts[0])>::word);
  if (IsKind(value->type, cast->kind)) return value;
  return Operator(cast->callee, std::vector<Value*>{value});
}

Result<Sugared> Emitter::EmitSpecial(const std::string& name, const Expr& expr) {
  const size_t count = expr.operands.size() - 1;
  const auto takes = [&](size_t wanted) -> Status {
    if (count == wanted && expr.keywords.empty()) return {};
    return Error(expr, fmt::format("{} takes {} arguments, not {}", name, wanted, count));
  };
  if (name == "print") {
    FLAMBEAU_TRY(const Call call, EmitArguments(expr));
    return Operator("prim::Print", call);
  }
  if (name == "isinstance") return EmitIsInstance(expr);
  if (name == "fork") return EmitFork(expr);
  if (name == "uninitialized") {
    FLAMBEAU_CHECK_OK(takes(1));
    FLAMBEAU_TRY(TypePtr type, library_.Resolve(syntax_, expr.operands[1]));
    return Sugared::Of(AppendValue("prim::Uninitialized", {}, std::move(type)));
  }
  if (name == "annotate" || name == "unchecked_cast") {
    FLAMBEAU_CHECK_OK(takes(2));
    FLAMBEAU_TRY(TypePtr type, library_.Resolve(syntax_, expr.operands[1]));
    FLAMBEAU_TRY(Value* value, EmitValue(expr.operands[2], type));
    at_ = expr.begin;
    if (name == "unchecked_cast") return Sugared::Of(AppendValue("prim::unchecked_cast", {value}, std::move(type)));
    // None, annotated as an Optional, stays None with a wider type.
    if (value->node != nullptr && value->node->kind == "prim::Constant" && IsKind(value->type, TypeKind::kNone) &&
        IsSubtype(*value->type, *type))
      return Sugared::Of(AppendConstant({}, std::move(type)));
    FLAMBEAU_TRY(value, ConvertTo(value, type, "what is annotated"));
    return Sugared::Of(value);
  }
  if (name == "getattr") {
    FLAMBEAU_CHECK_OK(takes(2));
    const Expr& attribute = syntax_[expr.operands[2]];
    if (attribute.kind != ExprKind::kString) return Error(expr, "the name of the attribute must be a literal");
    FLAMBEAU_TRY(Value* object, EmitValue(expr.operands[1]));
    at_ = expr.begin;
    return AttributeOf(object, attribute.text, expr);
  }
  FLAMBEAU_CHECK_OK(takes(1));
  FLAMBEAU_TRY(Value* value, EmitValue(expr.operands[1]));
  at_ = expr.begin;
  FLAMBEAU_TRY(Value* converted, Cast(name, value));
  return Sugared::Of(converted);
}

Result<Sugared> Emitter::EmitIsInstance(const Expr& expr) {
  if (expr.operands.size() != 3) return Error(expr, "isinstance takes 2 arguments");
  FLAMBEAU_TRY(Value* value, EmitValue(expr.operands[1]));
  const Expr& wanted = syntax_[expr.operands[2]];
  std::vector<ExprId> ids = {expr.operands[2]};
  if (wanted.kind == ExprKind::kTuple || wanted.kind == ExprKind::kList) ids = wanted.operands;
  std::vector<TypePtr> types;
  std::vector<TypeKind> kinds;  // of which it may be any: as a type, `tuple` is the empty one
  for (const ExprId id : ids) {
    const Expr& type_expr = syntax_[id];
    const bool bare = type_expr.kind == ExprKind::kName;
    if (bare && (type_expr.text == "tuple" || type_expr.text == "list" || type_expr.text == "List" || type_expr.text == "Tuple")) {
      const TypeKind kind = type_expr.text == "tuple" || type_expr.text == "Tuple" ? TypeKind::kTuple : TypeKind::kList;
      kinds.push_back(kind);
      types.push_back(IsKind(value->type, kind) ? value->type : Type::Of(kind));
    } else {
      FLAMBEAU_TRY(TypePtr type, library_.Resolve(syntax_, id));
      types.push_back(std::move(type));
    }
  }
  at_ = expr.begin;
  // Known where all, or none, of what the value may be are among the types.
  std::vector<TypePtr> possible = {value->type};
  if (IsKind(value->type, TypeKind::kUnion)) possible = value->type->elements;
  if (IsKind(value->type, TypeKind::kOptional)) possible = {value->type->elements[0], NoneType()};
  size_t inside = 0;
  for (const TypePtr& each : possible)
    inside += std::ranges::find(kinds, each->kind) != kinds.end() || std::ranges::any_of(types, [&](const TypePtr& type) { return IsSubtype(*each, *type); });
  const bool open = std::ranges::any_of(possible, [](const TypePtr& each) {
    return IsKind(each, TypeKind::kAny) || IsKind(each, TypeKind::kNumber) || IsKind(each, TypeKind::kInterface);
  });
  if (inside == possible.size()) return Sugared::Of(AppendConstant({true}, BoolType()));
  if (inside == 0 && !open) return Sugared::Of(AppendConstant({false}, BoolType()));
  Node* node = Append("prim::isinstance", "", {value});
  node->types = std::move(types);
  return Sugared::Of(Output(node, BoolType()));
}

// A forked function runs where it is forked: its block gives what is waited for.
Result<Sugared> Emitter::EmitFork(const Expr& expr) {
  if (expr.operands.size() != 2) return Error(expr, "fork takes a function of no arguments");
  FLAMBEAU_TRY(const Sugared closure, EmitSugared(expr.operands[1]));
  if (closure.kind != Sugared::Kind::kClosure) return Error(expr, "fork takes a function that is defined before it");
  // As PyTorch's serializer has it: so code nests no deeper than its syntax, and no function forks itself.
  if (closure.forks != forks_) return Error(expr, "fork takes a function that is defined beside it");
  at_ = expr.begin;
  if (program_.nodes > kMaxNodes)
    return syntax_.source->Error(DiagnosticKind::kLimitExceeded, at_, fmt::format("the program has more than {} nodes", kMaxNodes), library_.sink());
  Node* fork = Append("prim::fork", "", {});
  Block* outer = block_;
  Frame* scope = frame_;
  Frame frame = {.parent = scope};
  block_ = graph_.AddBlock();
  fork->blocks.push_back(block_);
  frame_ = &frame;
  Value* result = nullptr;
  ++forks_;
  const Status emitted = EmitBody(syntax_[closure.def].body, &result);
  --forks_;
  frame_ = scope;
  if (!emitted) return kFailure;
  block_->outputs.push_back(result);
  block_ = outer;
  TypePtr type = Type::Of(TypeKind::kFuture, {result->type});
  FLAMBEAU_CHECK_OK(CheckBounded(type, expr));
  return Sugared::Of(Output(fork, std::move(type)));
}

}  // namespace flambeau::torchscript
