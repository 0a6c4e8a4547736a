#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "container/quote.h"
#include "reader/torchscript/emitter.h"
#include "reader/torchscript/types.h"

namespace flambeau::torchscript {

Result<std::unique_ptr<Graph>> EmitFunction(const FunctionInfo& function, Program& program) {
  auto graph = std::make_unique<Graph>();
  graph->name = function.name;
  const ContextScope scope(program.library.sink(), [&](Diagnostic& diagnostic) {
    diagnostic.notes.push_back(fmt::format("while reading {}", function.name));
  });
  FLAMBEAU_CHECK_OK(Emitter(function, program, *graph).Run());
  DropUnusedResults(*graph);
  return graph;
}

Status Emitter::Run() {
  FLAMBEAU_TRY(const Signature* signature, library_.SignatureOf(function_));
  Frame frame;
  frame_ = &frame;
  block_ = graph_.AddBlock();
  const Def& def = syntax_[function_.def];
  for (size_t i = 0; i < def.parameters.size(); ++i) {
    const std::string_view name = def.parameters[i].name;
    Bind(name, Sugared::Of(NewInput(block_, signature->arguments[i].type, name)));
  }
  Value* result = nullptr;
  FLAMBEAU_CHECK_OK(EmitBody(def.body, &result));
  at_ = def.begin;
  FLAMBEAU_TRY(result, ConvertTo(result, signature->results[0].type, "the result"));
  block_->outputs.push_back(result);
  return {};
}

// A function's statements; `*result` is what it returns.
Status Emitter::EmitBody(const std::vector<StmtId>& body, Value** result) {
  for (const StmtId id : body) {
    const Stmt& stmt = syntax_[id];
    if (stmt.kind != StmtKind::kReturn) {
      FLAMBEAU_CHECK_OK(EmitStatement(stmt));
      continue;
    }
    if (id != body.back()) return syntax_.source->Error(stmt.end, "statements follow a return", library_.sink());
    if (!stmt.value) break;
    FLAMBEAU_TRY(*result, EmitValue(stmt.value));
    return {};
  }
  *result = AppendConstant({}, NoneType());
  return {};
}

Status Emitter::EmitStatements(const std::vector<StmtId>& body) {
  for (const StmtId id : body) FLAMBEAU_CHECK_OK(EmitStatement(syntax_[id]));
  return {};
}

Status Emitter::EmitStatement(const Stmt& stmt) {
  at_ = stmt.begin;
  switch (stmt.kind) {
    case StmtKind::kPass:
    case StmtKind::kImport: return {};
    case StmtKind::kDeclare: return {};
    case StmtKind::kExpression: {
      if (!EmitSugared(stmt.value)) return kFailure;
      return {};
    }
    case StmtKind::kAssign: return EmitAssign(stmt);
    case StmtKind::kAugmented: return EmitAugmented(stmt);
    case StmtKind::kIf: return EmitIf(stmt);
    case StmtKind::kWhile:
    case StmtKind::kFor: return EmitLoop(stmt);
    case StmtKind::kWith: return EmitWith(stmt);
    case StmtKind::kAssert: return EmitAssert(stmt);
    case StmtKind::kDelete:
      for (const ExprId target : stmt.targets) {
        const Expr& expr = syntax_[target];
        if (expr.kind == ExprKind::kName) continue;
        if (expr.kind != ExprKind::kSubscript || expr.operands.size() != 2) return Error(expr, "this can't be deleted");
        FLAMBEAU_TRY(Value* container, EmitValue(expr.operands[0]));
        FLAMBEAU_TRY(Value* index, EmitValue(expr.operands[1]));
        Call call;
        call.positional = {OperandOf(container), OperandOf(index)};
        if (!Operator("aten::Delete", call)) return kFailure;
      }
      return {};
    case StmtKind::kDef:
      Bind(syntax_[stmt.def].name, {.kind = Sugared::Kind::kClosure, .def = stmt.def, .forks = forks_});
      return {};
    case StmtKind::kReturn:
    case StmtKind::kBreak:
    case StmtKind::kContinue:
    case StmtKind::kRaise:
    case StmtKind::kClass: break;
  }
  return syntax_.source->Error(DiagnosticKind::kUnknownFormat, stmt.begin,
                               "PyTorch's serializer writes no such statement here", library_.sink());
}

// --- assignments ---

Status Emitter::EmitAssign(const Stmt& stmt) {
  TypePtr type;
  if (stmt.annotation) {
    FLAMBEAU_TRY(type, library_.Resolve(syntax_, stmt.annotation));
  }
  FLAMBEAU_TRY(Sugared value, EmitSugared(stmt.value, type));
  if (type) {
    FLAMBEAU_TRY(Value* converted, ToValue(std::move(value), syntax_[stmt.value]));
    FLAMBEAU_TRY(converted, ConvertTo(converted, type, "the value"));
    value = Sugared::Of(converted);
    if (!IsKind(type, TypeKind::kInterface)) value.declared = type;  // an object is of its class
  }
  for (const ExprId target : stmt.targets) FLAMBEAU_CHECK_OK(Assign(target, value));
  return {};
}

Status Emitter::Assign(ExprId target, Sugared value) {
  const Expr& expr = syntax_[target];
  switch (expr.kind) {
    case ExprKind::kName: {
      if (value.kind == Sugared::Kind::kTuple || value.kind == Sugared::Kind::kNone) {
        FLAMBEAU_TRY(Value* made, ToValue(std::move(value), expr));
        value = Sugared::Of(made);
      }
      // A list that has a name is one list, of tensors, whatever it is given to.
      if (value.kind == Sugared::Kind::kValue) untyped_lists_.erase(value.value);
      if (value.kind == Sugared::Kind::kValue) Name(value.value, expr.text);
      Bind(expr.text, std::move(value));
      return {};
    }
    case ExprKind::kTuple:
    case ExprKind::kList: return AssignTuple(expr, value);
    case ExprKind::kAttribute: {
      FLAMBEAU_TRY(Value* stored, ToValue(std::move(value), expr));
      return SetAttribute(expr, stored);
    }
    case ExprKind::kSubscript: {
      if (expr.operands.size() != 2) break;
      FLAMBEAU_TRY(Value* stored, ToValue(std::move(value), expr));
      FLAMBEAU_TRY(Value* container, EmitValue(expr.operands[0]));
      FLAMBEAU_TRY(Value* index, EmitValue(expr.operands[1]));
      Call call;
      call.positional = {OperandOf(container), OperandOf(index), OperandOf(stored)};
      if (!Operator("aten::_set_item", call)) return kFailure;
      return {};
    }
    default: break;
  }
  return Error(expr, "this can't be assigned to");
}

Status Emitter::AssignTuple(const Expr& target, const Sugared& value) {
  std::vector<Value*> values = value.values;
  if (value.kind == Sugared::Kind::kValue) {
    const TypePtr& type = value.value->type;
    if (IsKind(type, TypeKind::kTuple)) {
      values = Unpack(value.value);
    } else if (IsKind(type, TypeKind::kList) && !type->elements.empty()) {
      Node* unpack = Append("prim::ListUnpack", "", {value.value});
      for (size_t i = 0; i < target.operands.size(); ++i) values.push_back(Output(unpack, type->elements[0]));
    } else {
      return Error(target, fmt::format("a value of type {} can't be unpacked", Text(*type)));
    }
  } else if (value.kind != Sugared::Kind::kTuple) {
    return Error(target, "this can't be unpacked");
  }
  if (values.size() != target.operands.size())
    return Error(target, fmt::format("{} values are assigned to {} names", values.size(), target.operands.size()));
  for (size_t i = 0; i < values.size(); ++i) FLAMBEAU_CHECK_OK(Assign(target.operands[i], Sugared::Of(values[i])));
  return {};
}

Status Emitter::SetAttribute(const Expr& target, Value* value) {
  FLAMBEAU_TRY(Value* object, EmitValue(target.operands[0]));
  if (IsKind(object->type, TypeKind::kClass)) {
    FLAMBEAU_TRY(const ClassInfo* info, library_.FindClass(object->type->name));
    const ClassField* field = info == nullptr ? nullptr : info->Find(target.text);
    if (field != nullptr && field->annotation) {
      FLAMBEAU_TRY(const TypePtr type, library_.Resolve(*info->syntax, field->annotation));
      FLAMBEAU_TRY(value, ConvertTo(value, type, "the attribute"));
    } else if (field != nullptr && !field->assigned) {
      field->assigned = value->type;
    }
  }
  Node* node = Append("prim::SetAttr", "", {object, value});
  node->attributes.push_back({"name", {std::string(target.text)}});
  return {};
}

Status Emitter::EmitAugmented(const Stmt& stmt) {
  static constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
      {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}, {"//", "floordiv"}, {"%", "remainder"}};
  const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators), [&](const auto& each) { return each.first == stmt.text; });
  const Expr& target = syntax_[stmt.targets[0]];
  if (found == std::end(kOperators) || target.kind != ExprKind::kName) return Error(target, "this can't be updated in place");
  FLAMBEAU_TRY(Value* left, EmitValue(stmt.targets[0]));
  FLAMBEAU_TRY(Value* right, EmitValue(stmt.value));
  // On a tensor it writes to it.
  const std::string name = fmt::format("aten::{}{}", found->second, IsKind(left->type, TypeKind::kTensor) ? "_" : "");
  FLAMBEAU_TRY(Value* result, Operator(name, std::vector<Value*>{left, right}));
  return Assign(stmt.targets[0], Sugared::Of(result));
}

// --- control flow ---

Status Emitter::EmitIf(const Stmt& stmt) {
  const Expr& expr = syntax_[stmt.value];
  // What isinstance knows is decided here: the other branch need not make sense. A variable of that name is another matter.
  const bool is_call = expr.kind == ExprKind::kApply && syntax_[expr.operands[0]].kind == ExprKind::kName;
  if (is_call && syntax_[expr.operands[0]].text == "isinstance" && Find("isinstance") == nullptr) {
    FLAMBEAU_TRY(const Sugared answer, EmitSugared(stmt.value));
    const Constant* known = answer.value->node == nullptr ? nullptr : answer.value->node->Find("value");
    if (known != nullptr) return EmitStatements(std::get<bool>(known->value) ? stmt.body : stmt.otherwise);
    return EmitBranches(
        answer.value, [&] { return EmitStatements(stmt.body); }, [&] { return EmitStatements(stmt.otherwise); });
  }
  FLAMBEAU_TRY(Value* condition, EmitCondition(stmt.value));
  return EmitBranches(
      condition, [&] { return EmitStatements(stmt.body); }, [&] { return EmitStatements(stmt.otherwise); });
}

Status Emitter::EmitBranches(Value* condition, const Body& yes, const Body& no) {
  Node* branch = Append("prim::If", "", {condition});
  Frame frames[2];
  const Body* bodies[2] = {&yes, &no};
  Block* outer = block_;
  Frame* scope = frame_;
  for (int i = 0; i < 2; ++i) {
    frames[i].parent = scope;
    block_ = graph_.AddBlock();
    branch->blocks.push_back(block_);
    frame_ = &frames[i];
    const Status emitted = (*bodies[i])();
    frame_ = scope;
    if (!emitted) return kFailure;
  }
  block_ = outer;
  JoinBranches(branch, frames);
  return {};
}

void Emitter::JoinBranches(Node* branch, Frame (&frames)[2]) {
  std::vector<std::string_view> names = frames[0].order;
  for (const std::string_view name : frames[1].order)
    if (!frames[0].variables.contains(name)) names.push_back(name);
  for (const std::string_view name : names) {
    const Sugared* sides[2] = {};
    for (int i = 0; i < 2; ++i) {
      const auto local = frames[i].variables.find(name);
      sides[i] = local != frames[i].variables.end() ? &local->second : Find(name);
    }
    if (sides[0] == nullptr || sides[1] == nullptr) continue;  // known on one side only
    if (sides[0]->kind != Sugared::Kind::kValue || sides[1]->kind != Sugared::Kind::kValue) {
      if (sides[0]->kind == sides[1]->kind && sides[0]->text == sides[1]->text && sides[0]->function == sides[1]->function)
        Bind(name, *sides[0]);
      continue;
    }
    TypePtr type = Unify(sides[0]->VariableType(), sides[1]->VariableType());
    if (!type) {
      Bind(name, Sugared::Named(Sugared::Kind::kUndefined,
                                fmt::format("its type is {} or {}, as a condition decides", Text(*sides[0]->VariableType()),
                                            Text(*sides[1]->VariableType()))));
      continue;
    }
    for (int i = 0; i < 2; ++i) branch->blocks[static_cast<size_t>(i)]->outputs.push_back(sides[i]->value);
    Value* joined = Output(branch, std::move(type));
    Name(joined, name);
    Bind(name, Sugared::Of(joined));
  }
}

// The names that statements assign to, nested ones too.
std::vector<std::string_view> Emitter::AssignedIn(const std::vector<StmtId>& body) const {
  std::vector<std::string_view> names;
  std::vector<StmtId> open(body.rbegin(), body.rend());
  std::vector<ExprId> targets;
  while (!open.empty()) {
    const Stmt& stmt = syntax_[open.back()];
    open.pop_back();
    if (stmt.kind == StmtKind::kDelete || stmt.kind == StmtKind::kDeclare || stmt.kind == StmtKind::kDef) continue;
    targets.assign(stmt.targets.rbegin(), stmt.targets.rend());
    while (!targets.empty()) {
      const Expr& target = syntax_[targets.back()];
      targets.pop_back();
      if (target.kind == ExprKind::kName) names.push_back(target.text);
      if (target.kind == ExprKind::kTuple || target.kind == ExprKind::kList)
        targets.insert(targets.end(), target.operands.rbegin(), target.operands.rend());
    }
    open.insert(open.end(), stmt.otherwise.rbegin(), stmt.otherwise.rend());
    open.insert(open.end(), stmt.body.rbegin(), stmt.body.rend());
  }
  std::vector<std::string_view> unique;
  for (std::map<std::string_view, bool> seen; const std::string_view name : names)
    if (!std::exchange(seen[name], true)) unique.push_back(name);
  return unique;
}

// range(stop), range(start, stop), range(start, stop, step): `*start` and
// `*step` stay null where they are 0 and 1.
Status Emitter::EmitRange(const Expr& iterable, Value** trip_count, Value** start, Value** step) {
  const bool is_range = iterable.kind == ExprKind::kApply && syntax_[iterable.operands[0]].kind == ExprKind::kName &&
                        syntax_[iterable.operands[0]].text == "range" && iterable.keywords.empty();
  const size_t count = iterable.operands.size() - 1;
  if (!is_range || count < 1 || count > 3)
    return Error(iterable, "PyTorch's serializer writes loops over range() alone");
  std::vector<Value*> bounds;
  for (size_t i = 1; i <= count; ++i) {
    FLAMBEAU_TRY(Value* bound, EmitValue(iterable.operands[i]));
    FLAMBEAU_TRY(bound, ConvertTo(bound, IntType(), "the bound"));
    bounds.push_back(bound);
  }
  if (count == 1) {
    *trip_count = bounds[0];
    return {};
  }
  *start = bounds[0];
  *step = count == 3 ? bounds[2] : Int(1);
  FLAMBEAU_TRY(*trip_count, Operator("aten::__range_length", std::vector<Value*>{*start, bounds[1], *step}));
  return {};
}

Result<Emitter::LoopHead> Emitter::EmitLoopHead(const Stmt& stmt) {
  LoopHead head;
  if (stmt.kind == StmtKind::kFor) {
    FLAMBEAU_CHECK_OK(EmitRange(syntax_[stmt.value], &head.trip_count, &head.start, &head.step));
    head.condition = AppendConstant({true}, BoolType());
  } else {
    head.trip_count = Int(INT64_MAX);
    FLAMBEAU_TRY(head.condition, EmitCondition(stmt.value));
  }
  return head;
}

Status Emitter::EmitLoop(const Stmt& stmt) {
  FLAMBEAU_TRY(const LoopHead head, EmitLoopHead(stmt));
  Node* loop = Append("prim::Loop", "", {head.trip_count, head.condition});
  Block* outer = block_;
  Frame* scope = frame_;
  Frame frame = {.parent = scope};
  block_ = graph_.AddBlock();
  frame_ = &frame;
  loop->blocks.push_back(block_);
  Value* round = NewInput(block_, IntType(), "");
  std::vector<Carried> carried;
  for (const std::string_view name : AssignedIn(stmt.body)) {
    const Sugared* before = Find(name);
    if (before == nullptr || before->kind != Sugared::Kind::kValue) continue;
    loop->inputs.push_back(before->value);
    carried.push_back({name, NewInput(block_, before->VariableType(), name)});
    Bind(name, Sugared::Of(carried.back().input));
  }
  const Status emitted = EmitRound(stmt, head, round, carried);
  block_ = outer;
  frame_ = scope;
  if (!emitted) return kFailure;
  for (const auto& [name, input] : carried) {
    Value* result = Output(loop, input->type);
    Name(result, name);
    Bind(name, Sugared::Of(result));
  }
  return {};
}

Status Emitter::EmitRound(const Stmt& stmt, const LoopHead& head, Value* round, std::span<const Carried> carried) {
  if (stmt.kind == StmtKind::kFor) {
    Value* index = round;
    if (head.start != nullptr) {
      FLAMBEAU_TRY(index, Operator("aten::__derive_index", std::vector<Value*>{round, head.start, head.step}));
    }
    FLAMBEAU_CHECK_OK(Assign(stmt.targets[0], Sugared::Of(index)));
  }
  FLAMBEAU_CHECK_OK(EmitStatements(stmt.body));
  at_ = stmt.begin;
  Value* next = nullptr;
  if (stmt.kind == StmtKind::kFor) {
    next = AppendConstant({true}, BoolType());
  } else {
    FLAMBEAU_TRY(next, EmitCondition(stmt.value));
  }
  block_->outputs.push_back(next);
  for (const auto& [name, input] : carried) {
    FLAMBEAU_TRY(Value* after, ToValue(*Find(name), syntax_[stmt.value]));
    const TypePtr type = Unify(input->type, after->type);
    if (!type)
      return syntax_.source->Error(
          stmt.begin, fmt::format("{} has the type {} before the loop and {} after its body", Quote(name), Text(*input->type), Text(*after->type)),
          library_.sink());
    input->type = type;
    block_->outputs.push_back(after);
  }
  return {};
}

Status Emitter::EmitWith(const Stmt& stmt) {
  FLAMBEAU_TRY(Value* manager, EmitValue(stmt.value));
  TypePtr entered = NoneType();
  FLAMBEAU_TRY(const FunctionInfo* enter, library_.FindMethod(manager->type->name, "__enter__"));
  if (enter != nullptr) {
    FLAMBEAU_TRY(const Signature* signature, library_.SignatureOf(*enter));
    entered = signature->results[0].type;
  }
  Value* target = AppendValue("prim::Enter", {manager}, entered);
  if (!stmt.targets.empty()) FLAMBEAU_CHECK_OK(Assign(stmt.targets[0], Sugared::Of(target)));
  FLAMBEAU_CHECK_OK(EmitStatements(stmt.body));
  AppendValue("prim::Exit", {manager}, NoneType());
  return {};
}

Status Emitter::EmitAssert(const Stmt& stmt) {
  FLAMBEAU_TRY(Value* condition, EmitCondition(stmt.value));
  const auto raise = [&]() -> Status {
    Value* message = nullptr;
    if (stmt.annotation) {
      FLAMBEAU_TRY(message, EmitValue(stmt.annotation));
    } else {
      message = AppendConstant({std::string("AssertionError: ")}, StringType());
    }
    Call call;
    call.positional = {OperandOf(message)};
    if (!Operator("prim::RaiseException", call)) return kFailure;
    return {};
  };
  return EmitBranches(condition, []() -> Status { return {}; }, raise);
}

}  // namespace flambeau::torchscript
