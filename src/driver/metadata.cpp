#include "driver/metadata.h"

#include <fmt/format.h>

#include <complex>
#include <unordered_map>

#include "aten/schema.h"

namespace flambeau {
namespace {

// Python's way of writing lists of strings: ['a', 'b'].
std::string PythonList(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += fmt::format("{}'{}'", text.size() > 1 ? ", " : "", item);
  return text + "]";
}

// A node of the captured graph as torch.fx prints it.
class FxText {
 public:
  FxText(const Graph& graph, const std::vector<InputSpec>& inputs) : graph_(graph), context_(graph.context()) {
    for (const InputSpec& input : inputs) placeholders_.emplace(input.value, input.name);
  }

  std::string operator()(NodeId id) const {
    const Node& node = graph_[id];
    const Origin& origin = context_[node.origin];
    const aten::Schema* schema = aten::FindSchema(graph_.op(id));
    std::vector<std::string> positional, named;
    size_t given = node.attributes.size();
    if (schema != nullptr)  // trailing defaults were not written
      while (given > 0 && schema->arguments[given - 1].has_default &&
             node.attributes[given - 1].value == schema->arguments[given - 1].default_value)
        --given;
    for (size_t i = 0; i < given; ++i) {
      const bool keyword = schema != nullptr && i < schema->arguments.size() && schema->arguments[i].keyword_only;
      const std::string text = ArgumentText(id, node.attributes[i].value);
      if (keyword) {
        named.push_back(fmt::format("{}: {}", context_.Text(node.attributes[i].name), text));
      } else {
        positional.push_back(text);
      }
    }
    size_t users = 0;
    for (uint32_t i = 0; i < node.result_count; ++i) graph_.ForEachUse(node.result(i), [&](Use) { ++users; });
    return fmt::format("%{} : [num_users={}] = call_function[target={}](args = ({}{}), kwargs = {{{}}})",
                       context_.Text(origin.node_name), users, TargetText(context_.Text(origin.target)), fmt::join(positional, ", "),
                       positional.size() == 1 ? "," : "", fmt::join(named, ", "));
  }

 private:
  static std::string TargetText(std::string_view target) {
    return target.starts_with("_operator") || target.starts_with("torch.") ? std::string(target) : fmt::format("torch.ops.{}", target);
  }
  std::string ValueText(ValueId value) const {
    if (!value) return "None";
    const auto placeholder = placeholders_.find(value);
    return fmt::format("%{}", context_.Text(placeholder == placeholders_.end() ? graph_[value].name : placeholder->second));
  }
  static std::string Number(double value) { return fmt::format("{}", value); }

  std::string ArgumentText(NodeId node, const Attribute& attribute) const {
    struct Visitor {
      const FxText& self;
      NodeId node;
      std::string operator()(None) const { return "None"; }
      std::string operator()(bool v) const { return v ? "True" : "False"; }
      std::string operator()(int64_t v) const { return fmt::format("{}", v); }
      std::string operator()(double v) const { return Number(v); }
      std::string operator()(std::complex<double> v) const { return fmt::format("({}+{}j)", v.real(), v.imag()); }
      std::string operator()(const std::string& v) const { return v; }
      std::string operator()(DType v) const { return fmt::format("torch.{}", Info(v).torch_name); }
      std::string operator()(Layout) const { return "torch.strided"; }
      std::string operator()(MemoryFormat v) const {
        static constexpr std::string_view kNames[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
        return fmt::format("torch.{}", kNames[static_cast<size_t>(v)]);
      }
      std::string operator()(const Device& v) const { return v.text; }
      std::string operator()(const Ints& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
      std::string operator()(const Floats& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
      std::string operator()(const Bools& v) const {
        std::string text;
        for (bool b : v) text += fmt::format("{}{}", text.empty() ? "" : ", ", b ? "True" : "False");
        return "[" + text + "]";
      }
      std::string operator()(const Strings& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
      std::string operator()(Operand v) const { return self.ValueText(self.graph_.operand(node, v.index)); }
      std::string operator()(const OperandList& list) const {
        std::string text;
        for (const ListElement& element : list) {
          if (!text.empty()) text += ", ";
          text += std::visit([&](const auto& e) { return (*this)(e); }, element);
        }
        return "[" + text + "]";
      }
      std::string operator()(BlockId v) const { return fmt::format("%body_{}", v.index); }
      std::string operator()(DataId) const { return "<tensor>"; }
    };
    return std::visit(Visitor{*this, node}, attribute);
  }

  const Graph& graph_;
  const Context& context_;
  std::unordered_map<ValueId, Symbol> placeholders_;  // weights have the state_dict's names in the graph
};

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

// The module hierarchy down to one node.
struct Scopes {
  std::vector<std::string> classes, names;
  std::string name_space;
};

Scopes ScopesOf(const Context& context, const Origin& origin) {
  Scopes scopes;
  std::string_view parent;
  for (const ModuleFrame& frame : origin.modules) {
    std::string_view path = context.Text(frame.path);
    const std::string_view class_name = context.Text(frame.class_name);
    std::string_view local = path;
    if (!parent.empty() && path.starts_with(parent) && path.size() > parent.size()) local.remove_prefix(parent.size() + 1);
    scopes.name_space += fmt::format("{}{}/", local.empty() ? "" : fmt::format("{}: ", local), class_name);
    scopes.classes.emplace_back(class_name);
    scopes.names.emplace_back(path);
    parent = path;
  }
  const std::string_view name = context.Text(origin.node_name), target = context.Text(origin.target);
  scopes.name_space += fmt::format("{}: {}", name, target);
  scopes.classes.emplace_back(target);
  scopes.names.emplace_back(name);
  return scopes;
}

}  // namespace

void AttachMetadata(const Program::Impl& program, std::shared_ptr<const Graph> captured, lower::Additions additions,
                    const Options& options, onnx::ModelData& model) {
  model.metadata = options.user_metadata;
  const Metadata level = options.metadata;
  const Context* context = program.context.get();
  const Graph* graph = &model.graph;
  if (level >= Metadata::kDefault) model.graph_metadata = program.metadata;
  if (level == Metadata::kRelease && additions.node_metadata.empty()) return;
  const auto fx_text = captured ? std::make_shared<const FxText>(*captured, program.inputs) : nullptr;
  model.node_metadata = [=, given = std::move(additions.node_metadata)](NodeId id, onnx::Properties& properties) {
    if (const auto found = given.find(id); found != given.end()) properties = found->second;
    const OriginId origin_id = (*graph)[id].origin;
    if (!origin_id || level == Metadata::kRelease) return;
    const Origin& origin = (*context)[origin_id];
    const Scopes scopes = ScopesOf(*context, origin);
    properties.emplace_back("namespace", scopes.name_space);
    if (level < Metadata::kDefault) return;
    properties.emplace_back("pkg.torch.onnx.class_hierarchy", PythonList(scopes.classes));
    if (origin.node && origin.node.index < captured->node_capacity())
      properties.emplace_back("pkg.torch.onnx.fx_node", (*fx_text)(origin.node));
    properties.emplace_back("pkg.torch.onnx.name_scopes", PythonList(scopes.names));
    if (level == Metadata::kDebug && !context->Text(origin.stack_trace).empty())
      properties.emplace_back("pkg.torch.onnx.stack_trace", context->Text(origin.stack_trace));
  };
  if (level < Metadata::kDefault) return;
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
    if (!original.empty()) properties.emplace_back("pkg.torch.onnx.original_node_name", original);
  };
}

}  // namespace flambeau
