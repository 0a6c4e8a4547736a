#include "driver/metadata.h"

#include <fmt/format.h>

#include <unordered_map>

#include "driver/fx_text.h"
#include "driver/namespaces.h"

namespace flambeau {
namespace {

using GivenMetadata = decltype(lower::Additions::node_metadata);

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

// Of a node of the model: what translators gave it, and its namespace if that is told.
class BriefNodeMetadata {
 public:
  BriefNodeMetadata(const Graph& graph, Metadata level, GivenMetadata given) : given_(std::move(given)) {
    if (level == Metadata::kNamespace) namespaces_ = BriefNamespaces(graph);
  }

  void operator()(NodeId id, onnx::Properties& properties) const {
    if (const auto found = given_.find(id); found != given_.end()) properties = found->second;
    if (const auto found = namespaces_.find(id); found != namespaces_.end()) properties.emplace_back("namespace", found->second);
  }

 private:
  GivenMetadata given_;
  std::unordered_map<NodeId, std::string_view> namespaces_;
};

// And where in the program it comes from: its modules, the captured nodes, the lines of the source.
class NodeMetadata {
 public:
  NodeMetadata(const Program::Impl& program, std::shared_ptr<const Graph> captured, const Graph& graph, Metadata level, GivenMetadata given)
      : context_(*program.context),
        graph_(graph),
        level_(level),
        captured_(std::move(captured)),
        fx_text_(captured_ ? std::make_shared<const FxText>(*captured_, program) : nullptr),
        given_(std::move(given)) {}

  void operator()(NodeId id, onnx::Properties& properties) const {
    if (const auto found = given_.find(id); found != given_.end()) properties = found->second;
    const OriginId origin_id = graph_[id].origin;
    if (!origin_id) return;
    const Origin& origin = context_[origin_id];
    Scopes scopes = ScopesOf(context_, origin);
    properties.emplace_back("namespace", std::move(scopes.name_space));
    properties.emplace_back("pkg.torch.onnx.class_hierarchy", std::move(scopes.classes));
    std::string fx_nodes = Lines(context_, origin, [&](const Origin& each) {
      return each.node && each.node.index < captured_->node_capacity() ? (*fx_text_)(each.node) : std::string();
    });
    if (!fx_nodes.empty()) properties.emplace_back("pkg.torch.onnx.fx_node", std::move(fx_nodes));
    properties.emplace_back("pkg.torch.onnx.name_scopes", std::move(scopes.names));
    if (!origin.merged.empty()) properties.emplace_back("pkg.flambeau.merged_namespaces", MergedNamespaces(origin));
    if (level_ < Metadata::kDebug) return;
    std::string traces = Lines(context_, origin, [&](const Origin& each) { return std::string(context_.Text(each.stack_trace)); });
    if (!traces.empty()) properties.emplace_back(kStackTrace, std::move(traces));
  }

 private:
  // "['layers.0', 'layers.1']"
  std::string MergedNamespaces(const Origin& origin) const {
    std::string others;
    for (const OriginId other : origin.merged)
      others += fmt::format("{}'{}'", others.empty() ? "" : ", ", ScopesOf(context_, context_[other]).name_space);
    return fmt::format("[{}]", others);
  }

  const Context& context_;
  const Graph& graph_;
  Metadata level_;
  std::shared_ptr<const Graph> captured_;
  std::shared_ptr<const FxText> fx_text_;
  GivenMetadata given_;
};

// Of an input, output or weight of the model: what it is in the signature of the captured program.
class ValueMetadata {
 public:
  // `outputs`: where each output of the graph is among those of the program.
  ValueMetadata(const Program::Impl& program, const Graph& graph, const std::vector<size_t>& outputs) : context_(*program.context), graph_(graph) {
    for (const InputSpec& input : program.inputs) {
      by_name_.emplace(context_.Text(input.name), &input);
      if (!context_.Text(input.target).empty()) by_name_.emplace(context_.Text(input.target), &input);
    }
    // The user's inputs in order, whatever they are called now.
    const std::vector<ValueId>& inputs = graph[graph.main()].inputs;
    size_t next = 0;
    for (const InputSpec& input : program.inputs)
      if (input.kind == InputKind::kUser && next < inputs.size()) inputs_.emplace(inputs[next++], &input);
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs_.emplace(graph.output(graph.main(), static_cast<uint32_t>(i)), &program.outputs[outputs[i]]);
  }

  void operator()(ValueId id, onnx::Properties& properties) const {
    const Value& value = graph_[id];
    std::string_view original;
    if (const auto output = outputs_.find(id); output != outputs_.end()) {
      properties.emplace_back("pkg.torch.export.graph_signature.OutputSpec.kind", KindName(output->second->kind));
      original = context_.Text(output->second->name);
    }
    if (const InputSpec* input = InputOf(id)) {
      properties.emplace_back("pkg.torch.export.graph_signature.InputSpec.kind", KindName(input->kind));
      properties.emplace_back("pkg.torch.export.graph_signature.InputSpec.persistent",
                              input->kind == InputKind::kBuffer ? (input->persistent ? "True" : "False") : "None");
      original = context_.Text(input->name);
    }
    if (!original.empty() && original != context_.Text(value.name)) properties.emplace_back("pkg.torch.onnx.original_node_name", original);
  }

 private:
  const InputSpec* InputOf(ValueId id) const {
    if (const auto known = inputs_.find(id); known != inputs_.end()) return known->second;
    if (graph_[id].kind == ValueKind::kResult) return nullptr;
    const auto found = by_name_.find(context_.Text(graph_[id].name));
    return found == by_name_.end() ? nullptr : found->second;
  }

  const Context& context_;
  const Graph& graph_;
  std::unordered_map<std::string_view, const InputSpec*> by_name_;
  std::unordered_map<ValueId, const InputSpec*> inputs_;
  std::unordered_map<ValueId, const OutputSpec*> outputs_;
};

constexpr int kFirstOpsetWithMetadata = 18;  // the lowest for which torch.onnx writes it

}  // namespace

Metadata MetadataLevel(const Options& options) {
  return options.metadata.value_or(options.opset < kFirstOpsetWithMetadata ? Metadata::kRelease : Metadata::kDefault);
}

void AttachMetadata(const Program::Impl& program, std::shared_ptr<const Graph> captured, lower::Additions additions,
                    const Options& options, onnx::ModelData& model) {
  model.metadata = options.user_metadata;
  const Metadata level = MetadataLevel(options);
  if (level >= Metadata::kDefault) model.graph_metadata = program.metadata;
  if (level == Metadata::kRelease && additions.node_metadata.empty()) return;
  if (level <= Metadata::kNamespace) {
    model.node_metadata = BriefNodeMetadata(model.graph, level, std::move(additions.node_metadata));
    return;
  }
  model.node_metadata = NodeMetadata(program, std::move(captured), model.graph, level, std::move(additions.node_metadata));
  if (!program.metadata.empty()) {
    model.value_metadata = ValueMetadata(program, model.graph, additions.outputs);
  } else if (level >= Metadata::kDebug) {
    model.documentation = kStackTrace;  // TorchScript has no signature; torch's exporter of it has the trace here
  }
}

}  // namespace flambeau
