#include "driver/metadata.h"

#include <fmt/format.h>

#include <unordered_map>

#include "driver/fx_text.h"
#include "driver/namespaces.h"

namespace flambeau {
namespace {

constexpr const char* kStackTrace = "pkg.torch.onnx.stack_trace";

std::string_view KindName(InputKind kind) {
  switch (kind) {
    case InputKind::kUser: return "USER_INPUT";
    case InputKind::kParameter: return "PARAMETER";
    case InputKind::kBuffer: return "BUFFER";
    case InputKind::kConstantTensor: return "CONSTANT_TENSOR";
    case InputKind::kConstant: return "USER_INPUT";
    case InputKind::kToken: return "TOKEN";
    case InputKind::kObject: return "CUSTOM_OBJ";
  }
  return "";
}

std::string_view KindName(OutputKind kind) {
  switch (kind) {
    case OutputKind::kUser: return "USER_OUTPUT";
    case OutputKind::kLoss: return "LOSS_OUTPUT";
    case OutputKind::kBufferMutation: return "BUFFER_MUTATION";
    case OutputKind::kParameterMutation: return "PARAMETER_MUTATION";
    case OutputKind::kUserInputMutation: return "USER_INPUT_MUTATION";
    case OutputKind::kGradient: return "GRADIENT_TO_PARAMETER";
    case OutputKind::kToken: return "TOKEN";
  }
  return "";
}

// What nodes with the sources of several say of each of them, one a line.
std::string Lines(const Context& context, const Origin& origin, auto&& text) {
  std::string lines = text(origin);
  for (const OriginId other : origin.merged) {
    const std::string line = text(context[other]);
    if (!line.empty()) lines += fmt::format("{}{}", lines.empty() ? "" : "\n", line);
  }
  return lines;
}

constexpr int kFirstOpsetWithMetadata = 18;  // the lowest for which torch.onnx writes it

}  // namespace

Metadata MetadataLevel(const Options& options) {
  return options.metadata.value_or(options.opset < kFirstOpsetWithMetadata ? Metadata::kRelease : Metadata::kDefault);
}

void AttachMetadata(const Program::Impl& program, std::shared_ptr<const Graph> captured, lower::Additions additions,
                    const Options& options, onnx::ModelData& model) {
  model.metadata = options.user_metadata;
  const Metadata level = MetadataLevel(options);
  const Context* context = program.context.get();
  const Graph* graph = &model.graph;
  if (level >= Metadata::kDefault) model.graph_metadata = program.metadata;
  if (level == Metadata::kRelease && additions.node_metadata.empty()) return;
  if (level <= Metadata::kNamespace) {
    auto brief = level == Metadata::kNamespace ? BriefNamespaces(*graph) : std::unordered_map<NodeId, std::string_view>();
    model.node_metadata = [given = std::move(additions.node_metadata), brief = std::move(brief)](NodeId id, onnx::Properties& properties) {
      if (const auto found = given.find(id); found != given.end()) properties = found->second;
      if (const auto found = brief.find(id); found != brief.end()) properties.emplace_back("namespace", found->second);
    };
    return;
  }
  const auto fx_text = captured ? std::make_shared<const FxText>(*captured, program) : nullptr;
  model.node_metadata = [=, given = std::move(additions.node_metadata)](NodeId id, onnx::Properties& properties) {
    if (const auto found = given.find(id); found != given.end()) properties = found->second;
    const OriginId origin_id = (*graph)[id].origin;
    if (!origin_id) return;
    const Origin& origin = (*context)[origin_id];
    Scopes scopes = ScopesOf(*context, origin);
    properties.emplace_back("namespace", std::move(scopes.name_space));
    properties.emplace_back("pkg.torch.onnx.class_hierarchy", std::move(scopes.classes));
    std::string fx_nodes = Lines(*context, origin, [&](const Origin& each) {
      return each.node && each.node.index < captured->node_capacity() ? (*fx_text)(each.node) : std::string();
    });
    if (!fx_nodes.empty()) properties.emplace_back("pkg.torch.onnx.fx_node", std::move(fx_nodes));
    properties.emplace_back("pkg.torch.onnx.name_scopes", std::move(scopes.names));
    if (!origin.merged.empty()) {
      std::string others;
      for (const OriginId other : origin.merged)
        others += fmt::format("{}'{}'", others.empty() ? "" : ", ", ScopesOf(*context, (*context)[other]).name_space);
      properties.emplace_back("pkg.flambeau.merged_namespaces", fmt::format("[{}]", others));
    }
    if (level < Metadata::kDebug) return;
    std::string traces =
        Lines(*context, origin, [&](const Origin& each) { return std::string(context->Text(each.stack_trace)); });
    if (!traces.empty()) properties.emplace_back(kStackTrace, std::move(traces));
  };
  if (program.metadata.empty()) {  // TorchScript has no signature
    if (level >= Metadata::kDebug) model.documentation = kStackTrace;  // where torch's exporter of TorchScript has it
    return;
  }
  auto kinds = std::make_shared<std::unordered_map<std::string, const InputSpec*>>();
  for (const InputSpec& input : program.inputs) {
    kinds->emplace(std::string(context->Text(input.name)), &input);
    if (!context->Text(input.target).empty()) kinds->emplace(std::string(context->Text(input.target)), &input);
  }
  // By value of the graph: the user's inputs in order, whatever they are called now, and the outputs.
  auto inputs = std::make_shared<std::unordered_map<ValueId, const InputSpec*>>();
  auto outputs = std::make_shared<std::unordered_map<ValueId, const OutputSpec*>>();
  const std::vector<ValueId>& graph_inputs = (*graph)[graph->main()].inputs;
  size_t next = 0;
  for (const InputSpec& input : program.inputs)
    if (input.kind == InputKind::kUser && next < graph_inputs.size()) inputs->emplace(graph_inputs[next++], &input);
  for (size_t i = 0; i < additions.outputs.size(); ++i)
    outputs->emplace(graph->output(graph->main(), static_cast<uint32_t>(i)), &program.outputs[additions.outputs[i]]);
  model.value_metadata = [=](ValueId id, onnx::Properties& properties) {
    const Value& value = (*graph)[id];
    std::string_view original;
    if (const auto output = outputs->find(id); output != outputs->end()) {
      properties.emplace_back("pkg.torch.export.graph_signature.OutputSpec.kind", KindName(output->second->kind));
      original = context->Text(output->second->name);
    }
    const InputSpec* input = nullptr;
    if (const auto known = inputs->find(id); known != inputs->end()) {
      input = known->second;
    } else if (value.kind != ValueKind::kResult) {
      const auto found = kinds->find(std::string(context->Text(value.name)));
      if (found != kinds->end()) input = found->second;
    }
    if (input != nullptr) {
      properties.emplace_back("pkg.torch.export.graph_signature.InputSpec.kind", KindName(input->kind));
      properties.emplace_back("pkg.torch.export.graph_signature.InputSpec.persistent",
                              input->kind == InputKind::kBuffer ? (input->persistent ? "True" : "False") : "None");
      original = context->Text(input->name);
    }
    if (!original.empty() && original != context->Text(value.name)) properties.emplace_back("pkg.torch.onnx.original_node_name", original);
  };
}

}  // namespace flambeau
