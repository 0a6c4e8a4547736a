#include "reader/torchscript/inline.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "container/quote.h"
#include "reader/torchscript/picked_modules.h"
#include "reader/torchscript/types.h"

namespace flambeau::torchscript {
namespace {

constexpr size_t kMaxCallDepth = 512;  // code that calls itself never ends

// "__torch__.torch.nn.modules.conv.___torch_mangle_3.Conv2d" -> "torch.nn.modules.conv.Conv2d"
std::string PythonName(std::string_view class_name) {
  std::string name;
  while (!class_name.empty()) {
    const size_t dot = class_name.find('.');
    const std::string_view part = class_name.substr(0, dot);
    class_name.remove_prefix(dot == class_name.npos ? class_name.size() : dot + 1);
    if (part == "__torch__" || part.starts_with("___torch_mangle_")) continue;
    if (!name.empty()) name += '.';
    name += part;
  }
  return name;
}

class Inliner {
 public:
  Inliner(FunctionTable& functions, std::vector<Object> objects) : functions_(functions) {
    graph_.objects = std::move(objects);
  }

  Result<Graph> Run(const FunctionInfo& entry, ObjectId self, std::span<const ObjectId> unrestored) {
    FLAMBEAU_TRY(const Graph* body, functions_.Find(entry));
    graph_.self = self;
    Block* main = graph_.AddBlock();
    for (const ObjectId object : unrestored) FLAMBEAU_CHECK_OK(Restore(object, main));
    FLAMBEAU_CHECK_OK(Enter(entry.name, nullptr, self));
    for (const Value* input : body->main->inputs) {
      Value* copy = graph_.AddInput(main, input->type, Unique(input->name));
      activations_.back()->values[input] = copy;
      if (copy == main->inputs[0] && self) known_[copy] = self;
    }
    open_.push_back({activations_.back().get(), body->main, 0, main, nullptr});
    while (!open_.empty()) FLAMBEAU_CHECK_OK(Step());
    DropUnusedPicks(graph_);
    return std::move(graph_);
  }

 private:
  // One call of one function.
  struct Activation {
    std::string function;
    std::unordered_map<const Value*, Value*> values;  // of the function -> of the result
    Scopes scopes;
    Source call;  // where it was called
    std::unordered_map<const std::string*, Source> sources;
  };
  struct Open {
    Activation* activation;
    const Block* from;
    size_t next;
    Block* to;
    const Node* call;  // that ends with this block; null for blocks of nodes
  };

  // object.__setstate__(state)
  Status Restore(ObjectId object, Block* main) {
    const std::string class_name = graph_[object].class_name;
    FLAMBEAU_TRY(const FunctionInfo* method, functions_.library().FindMethod(class_name, "__setstate__"));
    FLAMBEAU_TRY(const Graph* body, functions_.Find(*method));
    const ObjectAttribute* state = graph_[object].Find(kOpaqueState);
    const std::vector<Value*>& inputs = body->main->inputs;
    if (inputs.size() != 2 || state == nullptr)
      return functions_.library().sink().Error(DiagnosticKind::kBadProgram, fmt::format("{} has no state, or its __setstate__ takes none", class_name));
    FLAMBEAU_CHECK_OK(Enter(method->name, nullptr, object));
    auto& values = activations_.back()->values;
    values[inputs[0]] = graph_.AppendConstant(main, Constant{object}, inputs[0]->type, Unique("object"));
    values[inputs[1]] = graph_.AppendConstant(main, state->value, inputs[1]->type, graph_[object].path);
    known_[values[inputs[0]]] = object;
    open_.push_back({activations_.back().get(), body->main, 0, main, nullptr});
    while (!open_.empty()) FLAMBEAU_CHECK_OK(Step());
    activations_.pop_back();
    return {};
  }

  // Begins a call; its scope is the caller's and, of a method of a module, the module.
  Status Enter(const std::string& name, const Node* call, ObjectId self) {
    Activation* caller = activations_.empty() ? nullptr : activations_.back().get();
    for (const auto& each : activations_) {
      if (each->function == name && !self)
        return functions_.library().sink().Error(DiagnosticKind::kBadProgram, fmt::format("{} calls itself", name));
    }
    if (activations_.size() >= kMaxCallDepth)
      return functions_.library().sink().Error(DiagnosticKind::kLimitExceeded, fmt::format("calls are nested more than {} deep, at {}", kMaxCallDepth, name));
    auto activation = std::make_unique<Activation>();
    activation->function = name;
    if (caller != nullptr) {
      activation->scopes = caller->scopes;
      activation->call = SourceOf(*caller, call->source);
    }
    const bool module = self && (!graph_[self].path.empty() || self == graph_.self);
    const bool same = caller != nullptr && caller->scopes && !caller->scopes->empty() && module && caller->scopes->back().path == graph_[self].path;
    if (module && !same) {
      auto scopes = activation->scopes ? *activation->scopes : std::vector<Scope>();
      scopes.push_back({graph_[self].path, PythonName(graph_[self].class_name)});
      activation->scopes = std::make_shared<const std::vector<Scope>>(std::move(scopes));
    }
    activations_.push_back(std::move(activation));
    return {};
  }

  Status Step() {
    Open& open = open_.back();
    if (open.next == open.from->nodes.size()) return Finish();
    const Node& node = *open.from->nodes[open.next++];
    if (++nodes_ > kMaxNodes)
      return functions_.library().sink().Error(DiagnosticKind::kLimitExceeded, fmt::format("the program has more than {} nodes", kMaxNodes));
    if (node.kind == "prim::CallFunction" || node.kind == "prim::CallMethod" || IsOnUsersManager(node)) return BeginCall(node);
    for (const Attribute& attribute : node.attributes) FLAMBEAU_CHECK_OK(functions_.library().Charge(attribute.value));
    Copy(node);
    return {};
  }

  Status Finish() {
    const Open done = open_.back();
    open_.pop_back();
    std::vector<Value*> outputs;
    for (const Value* output : done.from->outputs) outputs.push_back(done.activation->values.at(output));
    if (done.call != nullptr) {
      activations_.pop_back();
      Activation& caller = *activations_.back();
      for (size_t i = 0; i < outputs.size(); ++i) caller.values[done.call->outputs[i]] = outputs[i];
    } else {
      done.to->outputs = std::move(outputs);
    }
    return {};
  }

  // Whether a context manager of the user's own is entered or left. What torch's own do is known to who evaluates the graph.
  static bool IsOnUsersManager(const Node& node) {
    const bool enters_or_leaves = node.kind == "prim::Enter" || node.kind == "prim::Exit";
    return enters_or_leaves && IsKind(node.inputs[0]->type, TypeKind::kClass) && !node.inputs[0]->type->name.starts_with("__torch__.torch.");
  }

  static std::string CalleeOf(const Node& node) {
    if (node.kind == "prim::Enter") return "__enter__";
    return node.kind == "prim::Exit" ? "__exit__" : std::get<std::string>(node.Find("name")->value);
  }

  Status BeginCall(const Node& node) {
    const Open& open = open_.back();
    Activation& caller = *open.activation;
    Block* to = open.to;
    std::vector<Value*> arguments;
    for (const Value* input : node.inputs) arguments.push_back(caller.values.at(input));
    const std::string name = CalleeOf(node);
    constexpr int kOfException = 3;  // of a block that ends well there is none
    for (int i = 0; i < kOfException && node.kind == "prim::Exit"; ++i)
      arguments.push_back(graph_.AppendConstant(to, {std::monostate()}, NoneType(), Unique("0")));
    if (node.kind == "prim::CallMethod" && arguments[0]->node != nullptr && arguments[0]->node->kind == kPick)
      return BeginPickedCall(node, std::move(arguments));
    Library& library = functions_.library();
    const FunctionInfo* function = nullptr;
    ObjectId self;
    if (node.kind != "prim::CallFunction") {
      // Of an interface, what the object really is.
      if (const auto known = known_.find(arguments[0]); known != known_.end()) self = known->second;
      const std::string& class_name = self ? graph_[self].class_name : arguments[0]->type->name;
      FLAMBEAU_TRY(function, library.FindMethod(class_name, name));
      if (function == nullptr)
        return library.sink().Error(DiagnosticKind::kBadProgram, fmt::format("{} has no method {}", class_name, Quote(name)));
    } else {
      FLAMBEAU_TRY(function, library.FindFunction(name));
      if (function == nullptr)
        return library.sink().Error(DiagnosticKind::kBadProgram, fmt::format("there is no function {}", Quote(name)));
    }
    FLAMBEAU_TRY(const Graph* body, functions_.Find(*function));
    if (body->main->inputs.size() != arguments.size())
      return library.sink().Error(DiagnosticKind::kBadProgram,
                                  fmt::format("{} takes {} arguments, not {}", function->name, body->main->inputs.size(), arguments.size()));
    return Begin(function->name, *body, node, self, arguments, to);
  }

  Status Begin(const std::string& function, const Graph& body, const Node& call, ObjectId self, const std::vector<Value*>& arguments, Block* to) {
    FLAMBEAU_CHECK_OK(Enter(function, &call, self));
    for (size_t i = 0; i < arguments.size(); ++i) activations_.back()->values[body.main->inputs[i]] = arguments[i];
    open_.push_back({activations_.back().get(), body.main, 0, to, &call});
    return {};
  }

  // Of a method of a module that a run picks.
  Status BeginPickedCall(const Node& call, std::vector<Value*> arguments) {
    Library& library = functions_.library();
    const Node& pick = *arguments[0]->node;
    FLAMBEAU_TRY(const ClassInfo* container, library.FindClass(pick.inputs[0]->type->name));
    if (container == nullptr) return library.sink().Error(DiagnosticKind::kBadProgram, "a module is picked of what is none");
    std::unique_ptr<Graph>& body = picked_[{&call, container}];
    if (!body) {
      FLAMBEAU_TRY(body, EmitPickedCall(*container, call, pick.inputs[1]->type, library));
    }
    arguments[0] = pick.inputs[0];
    arguments.insert(arguments.begin() + 1, pick.inputs[1]);
    const std::string name = fmt::format("{}[].{}", container->name, std::get<std::string>(call.Find("name")->value));
    return Begin(name, *body, call, {}, arguments, open_.back().to);
  }

  void Copy(const Node& node) {
    Activation& activation = *open_.back().activation;
    std::vector<Value*> inputs;
    for (const Value* input : node.inputs) inputs.push_back(activation.values.at(input));
    Node* copy = graph_.Append(open_.back().to, node.kind, node.overload, std::move(inputs));
    copy->attributes = node.attributes;
    copy->types = node.types;
    copy->scopes = activation.scopes;
    copy->source = SourceOf(activation, node.source);
    for (const Value* output : node.outputs)
      activation.values[output] = graph_.AddOutput(copy, output->type, Unique(output->name));
    if (node.kind == "prim::GetAttr") Follow(*copy);
    for (const Block* block : node.blocks) {
      Block* body = graph_.AddBlock();
      copy->blocks.push_back(body);
      for (const Value* input : block->inputs)
        activation.values[input] = graph_.AddInput(body, input->type, Unique(input->name));
    }
    // Last first, so that the first is copied first.
    Activation* running = &activation;
    for (size_t i = node.blocks.size(); i-- > 0;) open_.push_back({running, node.blocks[i], 0, copy->blocks[i], nullptr});
  }

  // What is known of a module that is read from a module.
  void Follow(const Node& get) {
    const auto owner = known_.find(get.inputs[0]);
    if (owner == known_.end()) return;
    const ObjectAttribute* attribute = graph_[owner->second].Find(std::get<std::string>(get.Find("name")->value));
    if (attribute == nullptr) return;
    if (const auto* object = std::get_if<ObjectId>(&attribute->value.value)) known_[get.outputs[0]] = *object;
  }

  // The callers' lines, then the node's own.
  Source SourceOf(Activation& activation, const Source& source) {
    if (!activation.call || !source) return source ? source : activation.call;
    Source& both = activation.sources[source.get()];
    if (!both) both = std::make_shared<const std::string>(*activation.call + *source);
    return both;
  }

  std::string Unique(const std::string& name) {
    const size_t dot = name.rfind('.');
    std::string stem = dot == name.npos || dot == 0 ? std::string() : name.substr(0, dot);
    if (stem.empty()) return std::to_string(next_++);
    const uint32_t count = ++names_[stem];
    return fmt::format("{}.{}", stem, count);
  }

  FunctionTable& functions_;
  Graph graph_;
  std::vector<std::unique_ptr<Activation>> activations_;
  std::vector<Open> open_;
  std::unordered_map<const Value*, ObjectId> known_;
  std::map<std::pair<const Node*, const ClassInfo*>, std::unique_ptr<Graph>> picked_;  // what calls of modules that a run picks become
  std::unordered_map<std::string, uint32_t> names_;
  uint32_t next_ = 0;
  size_t nodes_ = 0;
};

}  // namespace

Result<const Graph*> FunctionTable::Find(const FunctionInfo& function) {
  if (const auto found = graphs_.find(function.name); found != graphs_.end()) return found->second.get();
  FLAMBEAU_TRY(std::unique_ptr<Graph> graph, EmitFunction(function, program_));
  return graphs_.emplace(function.name, std::move(graph)).first->second.get();
}

Result<Graph> Inline(const FunctionInfo& entry, ObjectId self, std::vector<Object> objects,
                     std::span<const ObjectId> unrestored, FunctionTable& functions) {
  return Inliner(functions, std::move(objects)).Run(entry, self, unrestored);
}

}  // namespace flambeau::torchscript
