#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "reader/torchscript/long_chains.h"
#include "script/specialize.h"

namespace flambeau {
namespace script {
namespace {

Result<TensorData> ImportTensor(TensorSource source, Sink& sink) {
  TensorData tensor;
  tensor.dtype = DTypeFromTorchCode(source.dtype).value_or(DType::kNone);
  tensor.sizes = std::move(source.sizes);
  tensor.strides = std::move(source.strides);
  tensor.offset = source.storage_offset;
  if (tensor.dtype == DType::kNone ||
      !FitsInSource(tensor.dtype, tensor.sizes, tensor.strides, source.storage_offset, source.storage_size))
    return sink.Error(DiagnosticKind::kBadTensor,
                      fmt::format("the sizes and strides of a tensor do not fit its storage of {} bytes", source.storage_size));
  if (source.fetch) {
    tensor.source = MakeCallbackSource(source.storage_size, std::move(source.fetch));
  } else {
    tensor.source = MakeMemorySource({static_cast<const std::byte*>(source.memory), source.storage_size}, std::move(source.owner));
  }
  return tensor;
}

Result<std::vector<torchscript::Constant>> ImportAll(ScriptConstant::List constants, Sink& sink) {
  std::vector<torchscript::Constant> imported;
  for (ScriptConstant& constant : constants) {
    FLAMBEAU_TRY(torchscript::Constant one, ImportConstant(std::move(constant), sink));
    imported.push_back(std::move(one));
  }
  return imported;
}

}  // namespace

// Live objects nest as the glue lets them.
Result<torchscript::Constant> ImportConstant(ScriptConstant constant, Sink& sink) {
  using torchscript::Constant;
  return std::visit(
      [&](auto& value) -> Result<Constant> {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, TensorSource>) {
          FLAMBEAU_TRY(TensorData tensor, ImportTensor(std::move(value), sink));
          return Constant{std::move(tensor)};
        } else if constexpr (std::is_same_v<T, ScriptConstant::Device>) {
          return Constant{torchscript::DeviceConstant{std::move(value.text)}};
        } else if constexpr (std::is_same_v<T, ScriptConstant::List>) {
          FLAMBEAU_TRY(auto elements, ImportAll(std::move(value), sink));
          return Constant{torchscript::ListConstant{std::move(elements)}};
        } else if constexpr (std::is_same_v<T, ScriptConstant::Tuple>) {
          FLAMBEAU_TRY(auto elements, ImportAll(std::move(value.elements), sink));
          return Constant{torchscript::TupleConstant{std::move(elements)}};
        } else if constexpr (std::is_same_v<T, ScriptConstant::Dict>) {
          torchscript::DictConstant dict;
          for (auto& [key, entry] : value.entries) {
            FLAMBEAU_TRY(Constant imported_key, ImportConstant(std::move(key), sink));
            FLAMBEAU_TRY(Constant imported, ImportConstant(std::move(entry), sink));
            dict.entries.push_back({std::move(imported_key), std::move(imported)});
          }
          return Constant{std::move(dict)};
        } else if constexpr (std::is_same_v<T, ScriptConstant::Enum>) {
          FLAMBEAU_TRY(Constant inner, ImportConstant(*value.value, sink));
          return Constant{torchscript::EnumConstant{std::move(value.class_name), std::move(value.member),
                                                    std::make_shared<const Constant>(std::move(inner))}};
        } else if constexpr (std::is_same_v<T, ScriptObject>) {
          return Constant{torchscript::ObjectId{value.index}};
        } else {
          return Constant{std::move(value)};
        }
      },
      constant.value);
}

}  // namespace script

struct ScriptBuilder::Impl {
  torchscript::Graph graph;
  Sink sink;
  std::vector<torchscript::Value*> values;  // by handle
  std::vector<torchscript::TypePtr> types;  // by handle
  std::vector<torchscript::Block*> open;    // innermost last
  std::unordered_map<std::string, torchscript::Source> sources;
  std::unordered_map<std::string, torchscript::Scopes> scopes;

  torchscript::TypePtr TypeOf(ScriptType type) {
    return type.index < types.size() ? types[type.index] : torchscript::Type::Of(torchscript::TypeKind::kAny);
  }
  ScriptValue Keep(torchscript::Value* value) {
    values.push_back(value);
    return {static_cast<uint32_t>(values.size() - 1)};
  }
  std::vector<torchscript::Value*> Find(std::span<const ScriptValue> handles) {
    std::vector<torchscript::Value*> found;
    for (const ScriptValue handle : handles) {
      if (handle.index < values.size()) {
        found.push_back(values[handle.index]);
      } else {
        sink.Error(DiagnosticKind::kBadProgram, "a node names a value that does not exist");
      }
    }
    return found;
  }
};

ScriptBuilder::ScriptBuilder() : impl_(std::make_unique<Impl>()) { impl_->open.push_back(impl_->graph.AddBlock()); }
ScriptBuilder::~ScriptBuilder() = default;
ScriptBuilder::ScriptBuilder(ScriptBuilder&&) noexcept = default;
ScriptBuilder& ScriptBuilder::operator=(ScriptBuilder&&) noexcept = default;

void ScriptBuilder::SetTorchVersion(std::string_view version) { impl_->graph.torch_version = version; }
void ScriptBuilder::SetDefaultDtype(ScalarTypeCode dtype) {
  impl_->graph.default_dtype = DTypeFromTorchCode(dtype).value_or(DType::kFloat32);
}

void ScriptBuilder::SetDevice(std::string_view device) { impl_->graph.device = device; }
ScriptType ScriptBuilder::AddType(std::string_view kind, std::span<const ScriptType> elements, std::string_view name) {
  using torchscript::TypeKind;
  static const std::unordered_map<std::string_view, TypeKind> kKinds = {
      {"Tensor", TypeKind::kTensor}, {"int", TypeKind::kInt},           {"float", TypeKind::kFloat},
      {"bool", TypeKind::kBool},     {"complex", TypeKind::kComplex},   {"number", TypeKind::kNumber},
      {"str", TypeKind::kString},    {"Device", TypeKind::kDevice},     {"None", TypeKind::kNone},
      {"Optional", TypeKind::kOptional}, {"List", TypeKind::kList},     {"Dict", TypeKind::kDict},
      {"Tuple", TypeKind::kTuple},   {"Union", TypeKind::kUnion},       {"Future", TypeKind::kFuture},
      {"Class", TypeKind::kClass},   {"Interface", TypeKind::kInterface}, {"Enum", TypeKind::kEnum},
      {"Generator", TypeKind::kGenerator}, {"Function", TypeKind::kFunction}};
  torchscript::Type type;
  const auto found = kKinds.find(kind);
  type.kind = found == kKinds.end() ? TypeKind::kAny : found->second;
  type.name = name;
  for (const ScriptType element : elements) type.elements.push_back(impl_->TypeOf(element));
  impl_->types.push_back(std::make_shared<const torchscript::Type>(std::move(type)));
  return {static_cast<uint32_t>(impl_->types.size() - 1)};
}

ScriptObject ScriptBuilder::AddObject(std::string_view class_name, std::string_view path) {
  impl_->graph.objects.push_back({std::string(class_name), std::string(path), {}});
  return {static_cast<uint32_t>(impl_->graph.objects.size() - 1)};
}

void ScriptBuilder::AddAttribute(ScriptObject object, std::string_view name, ScriptConstant value, InputKind role,
                                 bool persistent) {
  using torchscript::AttributeRole;
  auto constant = script::ImportConstant(std::move(value), impl_->sink);
  if (!constant || object.index >= impl_->graph.objects.size()) return;
  const AttributeRole as = role == InputKind::kParameter ? AttributeRole::kParameter
                           : role == InputKind::kBuffer  ? AttributeRole::kBuffer
                                                         : AttributeRole::kAttribute;
  impl_->graph.objects[object.index].attributes.Add({std::string(name), nullptr, *std::move(constant), as, persistent});
}

void ScriptBuilder::SetSelf(ScriptObject object) { impl_->graph.self = torchscript::ObjectId{object.index}; }

ScriptValue ScriptBuilder::AddInput(std::string_view name, ScriptType type) {
  return impl_->Keep(impl_->graph.AddInput(impl_->open.back(), impl_->TypeOf(type), std::string(name)));
}

std::vector<ScriptValue> ScriptBuilder::AddNode(NodeInfo info) {
  torchscript::Node* node = impl_->graph.Append(impl_->open.back(), std::string(info.kind), std::string(info.overload),
                                                impl_->Find(info.inputs));
  for (auto& [name, value] : info.attributes)
    if (auto constant = script::ImportConstant(std::move(value), impl_->sink))
      node->attributes.push_back({std::string(name), *std::move(constant)});
  for (const ScriptType type : info.types) node->types.push_back(impl_->TypeOf(type));
  if (!info.modules.empty()) {
    torchscript::Scopes& scopes = impl_->scopes[std::string(info.modules.back().path) + "|" + std::string(info.modules.back().class_name)];
    if (!scopes) {
      std::vector<torchscript::Scope> list;
      for (const NodeSource::Module& module : info.modules) list.push_back({std::string(module.path), std::string(module.class_name)});
      scopes = std::make_shared<const std::vector<torchscript::Scope>>(std::move(list));
    }
    node->scopes = scopes;
  }
  if (!info.stack_trace.empty()) {
    torchscript::Source& source = impl_->sources[std::string(info.stack_trace)];
    if (!source) source = std::make_shared<const std::string>(info.stack_trace);
    node->source = source;
  }
  std::vector<ScriptValue> outputs;
  for (const auto& [name, type] : info.outputs)
    outputs.push_back(impl_->Keep(impl_->graph.AddOutput(node, impl_->TypeOf(type), std::string(name))));
  return outputs;
}

void ScriptBuilder::BeginBlock() {
  torchscript::Block* block = impl_->graph.AddBlock();
  if (impl_->open.back()->nodes.empty()) {
    impl_->sink.Error(DiagnosticKind::kBadProgram, "a block begins that belongs to no node");
  } else {
    impl_->open.back()->nodes.back()->blocks.push_back(block);
  }
  impl_->open.push_back(block);
}

void ScriptBuilder::EndBlock(std::span<const ScriptValue> outputs) {
  if (impl_->open.size() < 2) {
    impl_->sink.Error(DiagnosticKind::kBadProgram, "a block ends that did not begin");
    return;
  }
  impl_->open.back()->outputs = impl_->Find(outputs);
  impl_->open.pop_back();
}

void ScriptBuilder::SetOutputs(std::span<const ScriptValue> outputs) { impl_->graph.main->outputs = impl_->Find(outputs); }

void ScriptBuilder::DeclareOperator(std::string_view schema) { impl_->graph.operator_schemas.emplace_back(schema); }

std::optional<Program> ScriptBuilder::Finish(std::span<const ScriptInput> inputs, std::vector<Diagnostic>& diagnostics,
                                             const Options& options) {
  std::optional<Program> program;
  if (impl_->open.size() != 1) impl_->sink.Error(DiagnosticKind::kBadProgram, "a block does not end");
  if (!impl_->sink.HasErrors()) torchscript::CutLongChains(impl_->graph);
  if (!impl_->sink.HasErrors())
    if (auto made = script::Specialize(impl_->graph, inputs, options, impl_->sink)) program.emplace(*std::move(made));
  for (Diagnostic& diagnostic : impl_->sink.Take()) diagnostics.push_back(std::move(diagnostic));
  return program;
}

std::string ScriptBuilder::Text() const { return torchscript::Print(impl_->graph); }

}  // namespace flambeau
