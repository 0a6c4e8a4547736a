// From the syntax of one function to its graph, in single static assignment.
//
// Calls of other functions of the archive stay calls (prim::CallMethod,
// prim::CallFunction); inline.h puts the callees in their place.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reader/torchscript/library.h"
#include "reader/torchscript/matching.h"
#include "reader/torchscript/source_ranges.h"

namespace flambeau::torchscript {

// What all functions of an archive share.
struct Program {
  Library& library;
  SourceRanges& ranges;
  int64_t operator_version = 0;     // decides which operators are upgraded
  int constructors_open = 0;        // read for the types of fields, one within another
  size_t nodes = 0;                 // of all graphs that were emitted
};

// A few functions that call each other twice, or are forked twice, make any number of nodes.
inline constexpr size_t kMaxNodes = 1'000'000;

Result<std::unique_ptr<Graph>> EmitFunction(const FunctionInfo& function, Program& program);

// What an expression can be before it is a value.
struct Sugared {
  enum class Kind : uint8_t {
    kValue,
    kTuple,      // values that were not put into a tuple yet
    kNone,       // the result of an operator without results
    kNamespace,  // text: "aten", "prim"
    kOps,
    kOperator,   // text: "aten::add"
    kQualified,  // text: "__torch__.torch"
    kFunction,
    kClass,
    kNew,        // Class.__new__
    kMethod,     // text, of value
    kSpecial,    // text: "annotate"
    kConstants,
    kClosure,    // def
    kUndefined,  // text says why
  };
  Kind kind = Kind::kValue;
  Value* value = nullptr;
  std::vector<Value*> values;
  TypePtr type;      // of kTuple
  TypePtr declared;  // of a variable's kValue: what it may become on other paths; null: what it is
  std::string text;
  const FunctionInfo* function = nullptr;
  const ClassInfo* class_info = nullptr;
  DefId def;
  int forks = 0;  // of kClosure: how many forks it is defined in

  // Of kValue: the type of a variable that holds it.
  const TypePtr& VariableType() const { return declared ? declared : value->type; }

  static Sugared Of(Value* value) { return {.kind = Kind::kValue, .value = value}; }
  static Sugared Named(Kind kind, std::string text) { return {.kind = kind, .text = std::move(text)}; }
};

class Emitter {
 public:
  Emitter(const FunctionInfo& function, Program& program, Graph& graph)
      : function_(function), syntax_(*function.syntax), program_(program), library_(program.library), graph_(graph) {}

  Status Run();

 private:
  using Body = std::function<Status()>;
  // Variables of one block, in the order of their first assignment.
  struct Frame {
    Frame* parent = nullptr;
    std::vector<std::string_view> order;
    std::map<std::string_view, Sugared> variables;
  };
  struct Call {
    std::vector<Operand> positional;
    std::vector<NamedOperand> named;
  };

  // emit_statements.cpp
  Status EmitBody(const std::vector<StmtId>& body, Value** result);
  Status EmitStatements(const std::vector<StmtId>& body);
  Status EmitStatement(const Stmt& stmt);
  Status EmitAssign(const Stmt& stmt);
  Status EmitAugmented(const Stmt& stmt);
  Status Assign(ExprId target, Sugared value);
  Status AssignTuple(const Expr& target, const Sugared& value);
  Status SetAttribute(const Expr& target, Value* value);
  Status EmitIf(const Stmt& stmt);
  Status EmitBranches(Value* condition, const Body& yes, const Body& no);
  void JoinBranches(Node* branch, Frame (&frames)[2]);
  Status EmitLoop(const Stmt& stmt);
  // Of a loop: how often it runs, what its index starts with and grows by (null: it is the round's number), and whether it runs at all.
  struct LoopHead {
    Value* trip_count = nullptr;
    Value* start = nullptr;
    Value* step = nullptr;
    Value* condition = nullptr;
  };
  Result<LoopHead> EmitLoopHead(const Stmt& stmt);
  // A variable that the body assigns, and what each round begins with.
  struct Carried {
    std::string_view name;
    Value* input;
  };
  // The body, as the block at hand.
  Status EmitRound(const Stmt& stmt, const LoopHead& head, Value* round, std::span<const Carried> carried);
  Status EmitWith(const Stmt& stmt);
  Status EmitAssert(const Stmt& stmt);
  Status EmitRange(const Expr& iterable, Value** trip_count, Value** start, Value** step);
  std::vector<std::string_view> AssignedIn(const std::vector<StmtId>& body) const;

  // emit_expressions.cpp
  Result<Sugared> EmitSugared(ExprId expr, const TypePtr& hint = nullptr);
  Result<Value*> EmitValue(ExprId expr, const TypePtr& hint = nullptr);
  Result<Sugared> EmitName(const Expr& expr);
  Result<Sugared> EmitAttribute(const Expr& expr);
  Result<Sugared> AttributeOf(Value* object, std::string_view name, const Expr& expr);
  Result<TypePtr> TypeOfField(const ClassInfo& info, const ClassField& field);
  Result<Sugared> EmitQualified(std::string name);
  Result<Sugared> EmitSubscript(const Expr& expr, const TypePtr& hint);
  Result<bool> IsModule(const Type& type);
  Result<Sugared> EmitTupleSubscript(Value* tuple, ExprId index);
  Result<Value*> EmitList(const Expr& expr, const TypePtr& hint);
  Result<Value*> EmitDict(const Expr& expr, const TypePtr& hint);
  Result<Sugared> EmitTuple(const Expr& expr, const TypePtr& hint);
  Result<Sugared> EmitUnary(const Expr& expr);
  Result<Sugared> EmitBinary(const Expr& expr);
  Result<Value*> EmitChoice(Value* condition, const std::function<Result<Value*>()>& yes,
                            const std::function<Result<Value*>()>& no);
  Result<Value*> EmitCondition(ExprId expr);
  Result<Value*> ToBool(Value* value);
  // The elements of a tuple value; what it was made of, if that is known.
  std::vector<Value*> Unpack(Value* tuple);
  Result<Value*> ToValue(Sugared sugared, const Expr& expr);

  // emit_calls.cpp
  Result<Sugared> EmitApply(const Expr& expr, const TypePtr& hint);
  Result<Sugared> EmitSpecial(const std::string& name, const Expr& expr);
  Result<Sugared> EmitIsInstance(const Expr& expr);
  Result<Sugared> EmitFork(const Expr& expr);
  Result<Sugared> Construct(const ClassInfo& info, const Expr& expr);
  Result<Sugared> CallMethod(Value* object, std::string_view name, const Expr& expr);
  Result<Sugared> CallFunction(const FunctionInfo& function, const Expr& expr, Call call);
  Result<Call> EmitArguments(const Expr& expr);
  int64_t OperatorVersion() const;
  Result<Sugared> Operator(std::string_view name, const Call& call);
  // An operator with one result.
  Result<Value*> Operator(std::string_view name, std::span<Value* const> arguments);
  Result<Value*> Cast(std::string_view word, Value* value);
  Result<std::vector<Value*>> Materialize(const Match& match);
  Result<Value*> Materialize(const Operand& operand, const std::vector<Value*>* elements = nullptr);
  // `value` as a `type`; reports if it can't be one.
  Result<Value*> ConvertTo(Value* value, const TypePtr& type, std::string_view what);
  Operand OperandOf(Value* value) const;
  // Of what an expression makes of other types.
  Status CheckBounded(const TypePtr& type, const Expr& expr);

  // Nodes.
  Node* Append(std::string kind, std::string overload, std::vector<Value*> inputs);
  Value* Output(Node* node, TypePtr type);
  Value* AppendValue(std::string kind, std::vector<Value*> inputs, TypePtr type);
  Value* AppendConstant(Constant constant, TypePtr type);
  Value* Int(int64_t value);
  Value* NewInput(Block* block, TypePtr type, std::string_view name);
  void Name(Value* value, std::string_view name);
  Sugared* Find(std::string_view name);
  void Bind(std::string_view name, Sugared value);
  Failure Error(const Expr& expr, std::string message);
  Failure Error(std::string message);  // about what is being emitted
  std::string Snippet(const Expr& expr) const;

  const FunctionInfo& function_;
  const Syntax& syntax_;
  Program& program_;
  Library& library_;
  Graph& graph_;
  Block* block_ = nullptr;
  Frame* frame_ = nullptr;
  uint32_t at_ = 0;  // in the source: what is being emitted
  int forks_ = 0;     // that are being emitted, one within another
  std::set<const Value*> untyped_lists_;  // `[]` of which nothing says what it is a list of
  std::map<std::string, uint32_t, std::less<>> names_;
  uint32_t next_name_ = 0;
};

// The type of a constant that stands by itself; `objects` is the table that it may name some of.
TypePtr TypeOf(const Constant& constant, std::span<const Object> objects = {});
// Drops what branches and loops hand on and nobody uses.
void DropUnusedResults(Graph& graph);

}  // namespace flambeau::torchscript
