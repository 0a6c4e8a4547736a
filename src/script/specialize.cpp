#include "script/specialize.h"

#include <fmt/format.h>

#include <algorithm>

#include "script/evaluator.h"

namespace flambeau::script {
namespace {

// Values of the user's inputs.
class Inputs {
 public:
  Inputs(Evaluator& evaluator, Program::Impl& program, Sink& sink)
      : evaluator_(evaluator), program_(program), sink_(sink) {}

  Result<Val> Make(const ScriptInput& input, const std::string& name) {
    const std::string own = input.name.empty() ? name : input.name;
    switch (input.kind) {
      case ScriptInput::Kind::kConstant: {
        FLAMBEAU_TRY(const torchscript::Constant constant, ImportConstant(input.constant, sink_));
        return evaluator_.Import(constant, own);
      }
      case ScriptInput::Kind::kTensor: return MakeTensor(input, own);
      default: break;
    }
    Vals elements;
    for (size_t i = 0; i < input.elements.size(); ++i) {
      FLAMBEAU_TRY(Val element, Make(input.elements[i], fmt::format("{}.{}", own, i)));
      elements.push_back(std::move(element));
    }
    if (input.kind == ScriptInput::Kind::kTuple) return Evaluator::Tuple(std::move(elements));
    if (input.kind == ScriptInput::Kind::kList) return evaluator_.List(std::move(elements));
    Cell cell;
    for (size_t i = 0; i < elements.size() && i < input.keys.size(); ++i) {
      FLAMBEAU_TRY(const torchscript::Constant key, ImportConstant(input.keys[i], sink_));
      cell.entries.emplace_back(evaluator_.Import(key, own), std::move(elements[i]));
    }
    return Val(DictVal{evaluator_.heap().Add(std::move(cell))});
  }

 private:
  Result<Val> MakeTensor(const ScriptInput& input, const std::string& name) {
    const auto dtype = DTypeFromTorchCode(input.dtype);
    if (!dtype) return sink_.Error(DiagnosticKind::kBadOption, fmt::format("input '{}' has an unknown dtype", name));
    ExprPool& exprs = evaluator_.context().exprs();
    Type type = Type::OfTensor(*dtype, {});
    for (const auto& size : input.sizes) {
      if (const auto* constant = std::get_if<int64_t>(&size)) {
        if (*constant < 0) return sink_.Error(DiagnosticKind::kBadOption, fmt::format("input '{}' has the size {}", name, *constant));
        type.sizes.push_back(exprs.Constant(*constant));
      } else {
        const Expr symbol = exprs.Symbolic(std::get<std::string>(size));
        exprs.SetRange(symbol, {0, INT64_MAX});
        program_.dimension_names.push_back({tensors_, type.sizes.size(), std::get<std::string>(size), {}});
        type.sizes.push_back(symbol);
      }
    }
    ++tensors_;
    return Val(TensorVal{evaluator_.emit().AddInput(InputKind::kUser, name, std::move(type))});
  }

  Evaluator& evaluator_;
  Program::Impl& program_;
  Sink& sink_;
  size_t tensors_ = 0;
};

// The values of the program's outputs, in PyTorch's order: None is none.
class Outputs {
 public:
  Outputs(Evaluator& evaluator, Program::Impl& program) : evaluator_(evaluator), program_(program) {}

  Status Add(const Val& value, std::string_view name) {
    Emitter& emit = evaluator_.emit();
    const Vals* elements = nullptr;
    Vals entries;
    if (const auto* tensor = value.As<TensorVal>()) {
      return AddLeaf(emit.Read(tensor->id), name);
    } else if (const auto* number = value.As<NumberVal>()) {
      return AddLeaf(number->id, name);
    } else if (value.IsConstantNumber()) {
      return AddLeaf(emit.Materialise(value), name);
    } else if (const auto* tuple = value.As<TupleVal>()) {
      elements = tuple->elements.get();
    } else if (const auto* list = value.As<ListVal>()) {
      const Cell& cell = evaluator_.heap()[list->cell];
      if (cell.sequence) return AddLeaf(emit.Read(*cell.sequence), name);
      elements = &cell.elements;
    } else if (const auto* dict = value.As<DictVal>()) {
      for (const auto& [key, entry] : evaluator_.heap()[dict->cell].entries) entries.push_back(entry);
      elements = &entries;
    } else if (value.Is<Undefined>()) {
      return evaluator_.Unsupported("an output of the program differs in kind between the paths through it");
    }
    if (elements == nullptr) return {};
    const Vals copy = *elements;
    for (const Val& element : copy) FLAMBEAU_CHECK_OK(Add(element, {}));
    return {};
  }

  // What the program leaves in the attributes of its modules.
  Status AddAttributes(const torchscript::Graph& graph) {
    for (uint32_t i = 0; i < graph.objects.size(); ++i) {
      const auto attributes = evaluator_.heap()[i].attributes;
      for (const auto& [name, value] : attributes) {
        const torchscript::ObjectAttribute* before = graph.objects[i].Find(name);
        const auto* tensor = value.As<TensorVal>();
        if (before == nullptr || tensor == nullptr || !std::holds_alternative<TensorData>(before->value.value)) continue;
        const std::string& owner = graph.objects[i].path;
        const Symbol target = evaluator_.context().Intern(owner.empty() ? name : owner + "." + name);
        values_.push_back(evaluator_.emit().Read(tensor->id));
        program_.outputs.push_back({OutputKind::kBufferMutation, target, target});
      }
    }
    return {};
  }

  const std::vector<ValueId>& values() const { return values_; }

 private:
  Status AddLeaf(ValueId value, std::string_view name) {
    values_.push_back(value);
    program_.outputs.push_back({OutputKind::kUser, evaluator_.context().Intern(name), {}});
    return {};
  }

  Evaluator& evaluator_;
  Program::Impl& program_;
  std::vector<ValueId> values_;
};

}  // namespace

Result<Program> Specialize(const torchscript::Graph& graph, std::span<const ScriptInput> inputs, Sink& sink) {
  auto program = std::make_unique<Program::Impl>();
  program->name = graph.name;
  program->torch_version = graph.torch_version;
  Evaluator evaluator(graph, *program, sink);
  const bool method = static_cast<bool>(graph.self);
  const std::vector<torchscript::Value*>& formal = graph.main->inputs;
  if (inputs.size() + method != formal.size())
    return sink.Error(DiagnosticKind::kMissingInformation,
                      fmt::format("the program has {} inputs; {} are described", formal.size() - method, inputs.size()));
  Vals values;
  if (method) values.push_back(evaluator.Self());
  Inputs make(evaluator, *program, sink);
  for (size_t i = 0; i < inputs.size(); ++i) {
    FLAMBEAU_TRY(Val value, make.Make(inputs[i], formal[i + method]->name));
    values.push_back(std::move(value));
  }
  auto results = evaluator.Run(values);
  if (!results || sink.HasErrors()) return kFailure;

  Outputs outputs(evaluator, *program);
  for (size_t i = 0; i < results->size(); ++i)
    FLAMBEAU_CHECK_OK(outputs.Add((*results)[i], graph.main->outputs[i]->name));
  FLAMBEAU_CHECK_OK(outputs.AddAttributes(graph));
  program->graph.SetOutputs(program->graph.main(), outputs.values());
  AddStateOutputs(*program, evaluator.emit().storages(), sink);
  evaluator.emit().Finish();
  const Graph& finished = program->graph;
  std::erase_if(program->inputs, [&](const InputSpec& input) {
    return finished[input.value].kind == ValueKind::kConstant && !finished.HasUses(input.value);
  });
  if (sink.HasErrors()) return kFailure;
  return Program(std::move(program));
}

}  // namespace flambeau::script
