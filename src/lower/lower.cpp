#include "lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "lower/custom.h"
#include "lower/lowering.h"
#include "onnx/operator_table.h"

namespace flambeau::lower {
namespace {

// A model without its weights lacks what a state_dict brings; constants, and buffers that are not persistent, stay, as
// torch.onnx has them.
bool IsInStateDict(const InputSpec& input) {
  return input.kind == InputKind::kParameter || (input.kind == InputKind::kBuffer && input.persistent);
}

// The program's inputs as inputs of the ONNX graph; returns those.
std::vector<ValueId> AddInputs(const Program::Impl& program, const LowerOptions& options, Lowering& to) {
  std::vector<ValueId> added;
  auto add = [&](const InputSpec& input, Symbol name) {
    to.SetValue(input.value, to.AddBlockInput(to.OnnxType(program.graph.type(input.value)), name));
    added.push_back(input.value);
  };
  for (const InputSpec& input : program.inputs) {
    using enum TypeKind;
    const TypeKind kind = program.graph.type(input.value).kind;
    if (input.kind == InputKind::kUser && (kind == kTensor || kind == kInt || kind == kFloat || kind == kBool)) add(input, input.name);
  }
  for (const InputSpec& input : program.inputs) {
    switch (input.kind) {
      case InputKind::kUser: break;
      case InputKind::kParameter:
      case InputKind::kBuffer:
      case InputKind::kConstantTensor:
        // Without their bytes they come in from outside, under their own names.
        if ((!options.export_params && IsInStateDict(input)) || program.graph[input.value].kind == ValueKind::kInput) {
          add(input, input.target);
        } else if (program.graph.HasUses(input.value)) {
          (void)to.ValueOf(input.value);  // initializers are in the order of the state_dict, not of their uses
        }
        break;
      case InputKind::kConstant:  // baked into the graph by the capture
      case InputKind::kToken:
      case InputKind::kObject: break;
    }
  }
  return added;
}

// The tensor of which the value is the number; invalid where it is computed otherwise.
ValueId ItemOf(const Graph& aten, ValueId value) {
  static constexpr std::string_view kItems[] = {"aten::item", "aten::_local_scalar_dense", "aten::Float.Tensor", "aten::FloatImplicit"};
  if (aten[value].kind != ValueKind::kResult) return {};
  const NodeId node = aten[value].node;
  return std::ranges::find(kItems, aten.op(node)) == std::end(kItems) ? ValueId{} : aten.operand(node, 0);
}

bool IsNumber(TypeKind kind) { return kind == TypeKind::kInt || kind == TypeKind::kFloat; }

// The dtype of a float that the program returns: float64, as Python's are; where it comes from tensors of fewer digits,
// theirs, as torch.onnx has it.
DType DtypeOfFloat(const Graph& aten, ValueId value, DType least) {
  if (const ValueId tensor = ItemOf(aten, value); tensor && IsFloating(aten.type(tensor).dtype)) return aten.type(tensor).dtype;
  bool of_tensors = false;
  std::vector<ValueId> open{value};
  std::set<ValueId> seen{value};
  while (!open.empty()) {
    const ValueId each = open.back();
    open.pop_back();
    if (aten[each].kind != ValueKind::kResult) continue;
    if (const ValueId tensor = ItemOf(aten, each)) {
      if (aten.type(tensor).dtype == DType::kFloat64) return DType::kFloat64;
      of_tensors |= IsFloating(aten.type(tensor).dtype);
      continue;
    }
    const auto follow = [&](ValueId from) {
      if (from && IsNumber(aten.type(from).kind) && seen.insert(from).second) open.push_back(from);
    };
    const Node& node = aten[aten[each].node];
    for (const ValueId operand : aten.operands(aten[each].node)) follow(operand);
    // Bodies of loops give their condition before what becomes results.
    aten.ForEachBody(aten[each].node, [&](BlockId body) {
      const uint32_t outputs = aten.output_count(body), index = aten[each].index + outputs - node.result_count;
      if (outputs >= node.result_count) follow(aten.output(body, index));
    });
  }
  return of_tensors ? least : DType::kFloat64;
}

// A number that the program returns, as the 0-d tensor that it becomes.
Tensor OutputValue(Lowering& to, const Tensor& tensor, ValueId value) {
  const Type& recorded = to.aten().type(value);
  if (!tensor.is_number() && recorded.kind == TypeKind::kFloat) return to.CastTo(tensor, DtypeOfFloat(to.aten(), value, to.default_dtype()));
  if (!tensor.is_number()) return tensor;
  switch (recorded.kind) {
    case TypeKind::kBool: return to.ConstantOf(tensor.number(), DType::kBool);
    case TypeKind::kInt: return to.ConstantOf(tensor.number(), DType::kInt64);
    case TypeKind::kFloat: return to.ConstantOf(tensor.number(), DtypeOfFloat(to.aten(), value, to.default_dtype()));
    default: return to.Value(tensor, recorded.is_tensor() ? std::optional(recorded.dtype) : std::nullopt);
  }
}

// What is no result of a node becomes an output by an Identity.
void RequireIdentity(Lowering& to, const Tensor& tensor) {
  const auto& types = onnx::FindOperator("Identity", to.opset())->types();
  if (to.graph()[tensor.id()].kind == ValueKind::kResult || types[0].tensors.contains(tensor.dtype())) return;
  to.Report(DiagnosticKind::kUnsupportedOpset,
            fmt::format("ONNX's Identity does not take {} at opset {}", Info(tensor.dtype()).torch_name, to.opset()));
}

}  // namespace

Result<LoweredProgram> LowerProgram(const Program::Impl& program, const LowerOptions& options, Sink& sink) {
  const Graph& aten = program.graph;
  Graph graph(program.context.get());
  Lowering to(aten, &graph, options.opset, &sink, options.custom);
  to.set_widens_for_runtime(options.widens_for_runtime);
  to.set_narrows_weights(options.narrows_weights);
  to.set_default_dtype(program.default_dtype);
  to.set_torch_version(program.torch_version);
  std::vector<ValueId> inputs = AddInputs(program, options, to);
  const std::vector<Tensor> outputs = to.LowerBlock(aten.main(), {});

  std::vector<ValueId> user, states;
  std::vector<size_t> user_indices, state_indices;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec& spec = program.outputs[i];
    if (!outputs[i] || spec.kind == OutputKind::kToken || spec.kind == OutputKind::kGradient) continue;
    if (spec.IsState() && !options.state_outputs) continue;
    const ValueId aten_value = aten.output(aten.main(), static_cast<uint32_t>(i));
    const Tensor tensor = OutputValue(to, outputs[i], aten_value);
    if (tensor.type().is_tensor()) RequireIdentity(to, tensor);
    if (spec.name && !program.context->Text(spec.name).empty() && graph[tensor.id()].kind == ValueKind::kResult)
      graph.SetName(tensor.id(), spec.name);
    (spec.IsState() ? states : user).push_back(tensor.id());
    (spec.IsState() ? state_indices : user_indices).push_back(i);
  }
  user.insert(user.end(), states.begin(), states.end());
  user_indices.insert(user_indices.end(), state_indices.begin(), state_indices.end());
  to.additions().outputs = std::move(user_indices);
  graph.SetOutputs(graph.main(), user);
  if (sink.HasErrors()) return kFailure;
  // Users' translations write version 1 of a domain unless they know better.
  if (options.custom != nullptr)
    for (auto& [domain, version] : to.additions().domains) version = options.custom->FindDomain(domain).value_or(version);
  return LoweredProgram{std::move(graph), std::move(to.additions()), std::move(inputs)};
}

}  // namespace flambeau::lower
