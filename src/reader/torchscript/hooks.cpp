#include "reader/torchscript/hooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "container/quote.h"
#include "reader/torchscript/types.h"

namespace flambeau::torchscript {
namespace {

class HookedCall {
 public:
  HookedCall(const ClassInfo& info, Library& library) : info_(info), library_(library), graph_(std::make_unique<Graph>()) {}

  Result<std::unique_ptr<Graph>> Run() {
    block_ = graph_->main = graph_->AddBlock();
    FLAMBEAU_TRY(const FunctionInfo* forward, library_.FindMethod(info_.name, "forward"));
    FLAMBEAU_TRY(const Signature* signature, library_.SignatureOf(*forward));
    std::vector<Value*> arguments;
    for (const FormalArgument& formal : signature->arguments)
      arguments.push_back(graph_->AddInput(block_, formal.type, formal.name + ".1"));
    if (arguments.empty()) return Error("forward has no self");
    self_ = arguments[0];
    arguments.erase(arguments.begin());
    for (const std::string& hook : info_.forward_pre_hooks) {
      FLAMBEAU_TRY(Value* result, Call(hook, {Tuple(arguments)}));
      if (IsKind(result->type, TypeKind::kNone)) continue;  // the arguments stay
      if (IsKind(result->type, TypeKind::kTuple)) {
        Node* unpack = graph_->Append(block_, "prim::TupleUnpack", "", {result});
        arguments.clear();
        const TypePtr type = result->type;
        for (const TypePtr& element : type->elements) arguments.push_back(Output(unpack, element));
      } else {
        arguments = {result};
      }
    }
    FLAMBEAU_TRY(Value* output, Call("forward", arguments));
    for (const std::string& hook : info_.forward_hooks) {
      FLAMBEAU_TRY(Value* result, Call(hook, {Tuple(arguments), output}));
      output = Chosen(result, output);
    }
    block_->outputs = {output};
    return std::move(graph_);
  }

 private:
  Failure Error(std::string message) {
    return library_.sink().Error(DiagnosticKind::kBadProgram, fmt::format("a call of {}: {}", info_.name, std::move(message)));
  }
  Value* Output(Node* node, TypePtr type) { return graph_->AddOutput(node, std::move(type), std::to_string(next_name_++)); }

  Value* Tuple(const std::vector<Value*>& values) {
    std::vector<TypePtr> types;
    for (const Value* value : values) types.push_back(value->type);
    return Output(graph_->Append(block_, "prim::TupleConstruct", "", values), TupleOf(std::move(types)));
  }

  Result<Value*> Call(const std::string& name, std::vector<Value*> arguments) {
    FLAMBEAU_TRY(const FunctionInfo* method, library_.FindMethod(info_.name, name));
    if (method == nullptr) return Error(fmt::format("there is no hook {}", Quote(name)));
    FLAMBEAU_TRY(const Signature* signature, library_.SignatureOf(*method));
    arguments.insert(arguments.begin(), self_);
    const bool fit = std::ranges::equal(arguments, signature->arguments, [](const Value* value, const FormalArgument& formal) {
      return IsSubtype(*value->type, *formal.type);
    });
    if (!fit) return Error(fmt::format("{} does not take what it is given", Quote(name)));
    Node* call = graph_->Append(block_, "prim::CallMethod", "", std::move(arguments));
    call->attributes.push_back({"name", {name}});
    return Output(call, signature->results[0].type);
  }

  // What a hook gives, or the output as it was where that is None.
  Value* Chosen(Value* result, Value* output) {
    if (IsKind(result->type, TypeKind::kNone)) return output;
    if (!IsSubtype(*NoneType(), *result->type)) return result;
    Value* none = graph_->AppendConstant(block_, {}, NoneType(), std::to_string(next_name_++));
    Value* given = Output(graph_->Append(block_, "aten::__isnot__", "", {result, none}), BoolType());
    Node* branch = graph_->Append(block_, "prim::If", "", {given});
    for (int i = 0; i < 2; ++i) branch->blocks.push_back(graph_->AddBlock());
    Node* cast = graph_->Append(branch->blocks[0], "prim::unchecked_cast", "", {result});
    Value* present = Output(cast, Unwrap(result->type));
    branch->blocks[0]->outputs = {present};
    branch->blocks[1]->outputs = {output};
    const TypePtr both = Unify(present->type, output->type);
    return Output(branch, both ? both : AnyType());
  }

  const ClassInfo& info_;
  Library& library_;
  std::unique_ptr<Graph> graph_;
  Block* block_ = nullptr;
  Value* self_ = nullptr;
  uint32_t next_name_ = 0;
};

}  // namespace

Result<std::unique_ptr<Graph>> EmitHookedCall(const ClassInfo& info, Library& library) { return HookedCall(info, library).Run(); }

}  // namespace flambeau::torchscript
