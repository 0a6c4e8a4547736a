#include "onnx/serialize.h"

#include <fmt/format.h>

#include "onnx/location.h"
#include "onnx/protobuf.h"
#include "onnx/string_tensor.h"
#include "onnx/type_messages.h"

namespace flambeau::onnx {
namespace {

// Walks a model and says it to a Measurer or an Encoder. Recursive in nested
// graphs, whose depth CheckWritable bounds.
template <class Out>
class Walk {
 public:
  Walk(const ModelData& model, const Layout& layout, bool inner_metadata, Out& out)
      : model_(model),
        graph_(model.graph),
        context_(model.graph.context()),
        layout_(layout),
        inner_metadata_(inner_metadata),
        out_(out),
        types_(context_),
        is_output_(graph_.value_capacity()) {
    for (BlockId block : graph_.AllBlocks())
      for (ValueId output : graph_.outputs(block))
        if (output) is_output_[output.index] = true;
  }

  void Model() {
    out_.Varint(field::kModelIrVersion, static_cast<uint64_t>(model_.ir_version));
    out_.Bytes(field::kModelProducerName, model_.producer_name);
    out_.Bytes(field::kModelProducerVersion, model_.producer_version);
    out_.Message(field::kModelGraph, [&] { Block(graph_.main(), model_.graph_name); });
    for (const OpsetImport& import : model_.opset_imports) {
      out_.Message(field::kModelOpsetImport, [&] {
        out_.Bytes(field::kOpsetDomain, import.domain);
        out_.Varint(field::kOpsetVersion, static_cast<uint64_t>(import.version));
      });
    }
    Metadata(field::kModelMetadata, model_.metadata);
  }

 private:
  std::string_view Text(Symbol symbol) const { return context_.Text(symbol); }
  std::string_view Name(ValueId value) const { return value ? Text(graph_[value].name) : std::string_view(); }

  void Block(BlockId block, std::string_view name) {
    const bool is_main = block == graph_.main();
    graph_.ForEachNode(block, [&](NodeId node) { out_.Message(field::kGraphNode, [&] { Node(node); }); });
    out_.Bytes(field::kGraphName, name);
    if (is_main) {
      for (size_t i = 0; i < layout_.initializers.size(); ++i)
        out_.Message(field::kGraphInitializer, [&] { Initializer(layout_.initializers[i], layout_.placements[i]); });
    }
    for (ValueId input : graph_[block].inputs) Value(field::kGraphInput, input);
    if (is_main && model_.initializers_are_inputs) {
      for (ValueId initializer : layout_.initializers) Value(field::kGraphInput, initializer);
    }
    for (ValueId output : graph_.outputs(block)) Value(field::kGraphOutput, output);
    graph_.ForEachNode(block, [&](NodeId node) {
      for (uint32_t i = 0; i < graph_[node].result_count; ++i) {
        const ValueId result = graph_.result(node, i);
        if (!is_output_[result.index] && !Name(result).empty() && !types_[graph_[result].type].empty())
          Value(field::kGraphValueInfo, result);
      }
    });
    if (is_main && !model_.initializers_are_inputs) InitializerMetadata();
    if (is_main) Metadata(field::kGraphMetadata, model_.graph_metadata);
  }

  // What is known of initializers stands beside their types, as for other values.
  void InitializerMetadata() {
    if (!inner_metadata_ || !model_.value_metadata) return;
    for (ValueId initializer : layout_.initializers) {
      model_.value_metadata(initializer, properties_);
      const bool any = !properties_.empty();
      properties_.clear();
      if (any) Value(field::kGraphValueInfo, initializer);
    }
  }

  void Node(NodeId id) {
    const flambeau::Node& node = graph_[id];
    for (uint32_t i = 0; i < node.operand_count; ++i) out_.Bytes(field::kNodeInput, Name(graph_.operand(id, i)));
    for (uint32_t i = 0; i < node.result_count; ++i) out_.Bytes(field::kNodeOutput, Name(node.result(i)));
    if (node.name != Symbol{0}) out_.Bytes(field::kNodeName, Text(node.name));
    const auto [domain, op] = SplitOperator(Text(node.op));
    out_.Bytes(field::kNodeOpType, op);
    for (const NamedAttribute& attribute : node.attributes) {
      if (std::holds_alternative<None>(attribute.value)) continue;
      out_.Message(field::kNodeAttribute, [&] { Attribute(attribute); });
    }
    if (!domain.empty()) out_.Bytes(field::kNodeDomain, domain);
    if (inner_metadata_ && model_.node_metadata) {
      model_.node_metadata(id, properties_);
      for (const auto& [key, value] : properties_)
        if (key == model_.documentation) out_.Bytes(field::kNodeDocString, value);
      Metadata(field::kNodeMetadata, properties_);
      properties_.clear();
    }
  }

  void Attribute(const NamedAttribute& attribute) {
    out_.Bytes(field::kAttributeName, Text(attribute.name));
    AttributeCode code = AttributeCode::kGraph;
    if (const auto* body = std::get_if<BlockId>(&attribute.value)) {
      out_.Message(field::kAttributeGraph, [&] { Block(*body, Text(attribute.name)); });
    } else {
      code = std::visit([&](const auto& value) { return Contents(value); }, attribute.value);
    }
    out_.Varint(field::kAttributeType, static_cast<uint64_t>(code));
  }

  // --- one overload an attribute type ----------------------------------------
  AttributeCode Contents(int64_t value) {
    out_.Varint(field::kAttributeInt, static_cast<uint64_t>(value));
    return AttributeCode::kInt;
  }
  AttributeCode Contents(bool value) { return Contents(int64_t{value}); }
  AttributeCode Contents(DType value) { return Contents(int64_t{Info(value).onnx_code}); }
  AttributeCode Contents(double value) {
    out_.Float(field::kAttributeFloat, static_cast<float>(value));
    return AttributeCode::kFloat;
  }
  AttributeCode Contents(const std::string& value) {
    out_.Bytes(field::kAttributeString, value);
    return AttributeCode::kString;
  }
  AttributeCode Contents(const Ints& values) {
    for (int64_t value : values) out_.Varint(field::kAttributeInts, static_cast<uint64_t>(value));
    return AttributeCode::kInts;
  }
  AttributeCode Contents(const Bools& values) {
    for (bool value : values) out_.Varint(field::kAttributeInts, value ? 1 : 0);
    return AttributeCode::kInts;
  }
  AttributeCode Contents(const Floats& values) {
    for (double value : values) out_.Float(field::kAttributeFloats, static_cast<float>(value));
    return AttributeCode::kFloats;
  }
  AttributeCode Contents(const Strings& values) {
    for (const std::string& value : values) out_.Bytes(field::kAttributeStrings, value);
    return AttributeCode::kStrings;
  }
  AttributeCode Contents(DataId value) {
    out_.Message(field::kAttributeTensor, [&] { Tensor({}, context_[value], Placement{}); });
    return AttributeCode::kTensor;
  }
  AttributeCode Contents(TypeId value) {
    out_.Bytes(field::kAttributeTypeProto, types_[value]);
    return AttributeCode::kTypeProto;
  }
  template <class Other>
  AttributeCode Contents(const Other&) {
    return AttributeCode{};  // CheckWritable has refused it
  }

  void Initializer(ValueId id, const Placement& placement) { Tensor(Name(id), context_[graph_[id].data], placement); }

  void Tensor(std::string_view name, const TensorData& data, const Placement& placement) {
    for (int64_t size : data.sizes) out_.Varint(field::kTensorDims, static_cast<uint64_t>(size));
    out_.Varint(field::kTensorDataType, static_cast<uint64_t>(Info(data.dtype).onnx_code));
    if (data.dtype == DType::kString) {
      if (const auto strings = ReadStrings(data))
        for (const std::string& text : *strings) out_.Bytes(field::kTensorStringData, text);
    }
    if (!name.empty()) out_.Bytes(field::kTensorName, name);
    switch (placement.where) {
      case Placement::Where::kInline:
        if (data.dtype != DType::kString) out_.Payload(field::kTensorRawData, data, data.byte_size());
        break;
      case Placement::Where::kExternal:
        Entry(field::kTensorExternalData, "location", layout_.locations[placement.location]);
        Entry(field::kTensorExternalData, "offset", fmt::format_int(placement.offset).c_str());
        Entry(field::kTensorExternalData, "length", fmt::format_int(placement.length).c_str());
        out_.Varint(field::kTensorDataLocation, kExternalLocation);
        break;
      case Placement::Where::kOmitted: break;
    }
  }

  void Value(uint32_t field, ValueId id) {
    out_.Message(field, [&] {
      out_.Bytes(field::kValueName, Name(id));
      if (const auto type = types_[graph_[id].type]; !type.empty()) out_.Bytes(field::kValueType, type);
      if (inner_metadata_ && model_.value_metadata) {
        model_.value_metadata(id, properties_);
        Metadata(field::kValueMetadata, properties_);
        properties_.clear();
      }
    });
  }

  void Metadata(uint32_t field, const Properties& properties) {
    for (const auto& [key, value] : properties) Entry(field, key, value);
  }
  void Entry(uint32_t field, std::string_view key, std::string_view value) {
    out_.Message(field, [&] {
      out_.Bytes(field::kEntryKey, key);
      out_.Bytes(field::kEntryValue, value);
    });
  }

  const ModelData& model_;
  const Graph& graph_;
  const Context& context_;
  const Layout& layout_;
  bool inner_metadata_;
  Out& out_;
  TypeMessages types_;
  std::vector<bool> is_output_;
  Properties properties_;
};

bool HasWritableBytes(const TensorData& data) {
  if (data.dtype == DType::kString) return ReadStrings(data).has_value();
  return FitsInSource(data.dtype, data.sizes, data.strides, data.offset, data.source->size()) &&
         (data.contiguous() || ByteSize(data.dtype) > 0);
}

class WritableCheck {
 public:
  WritableCheck(const Graph& graph, Sink& sink) : graph_(graph), context_(graph.context()), sink_(sink) {}

  Status Run() {
    for (ValueId id : Initializers(graph_)) {
      const Value& value = graph_[id];
      FLAMBEAU_CHECK_OK(Tensor(context_[value.data], {.operation = std::string(context_.Text(value.name))}));
    }
    std::vector<int> depth(graph_.block_capacity());
    for (BlockId block : graph_.AllBlocks()) {
      const NodeId owner = graph_[block].owner;
      if (owner) depth[block.index] = depth[graph_[owner].block.index] + 1;
      if (depth[block.index] > kMaxGraphDepth) {
        return sink_.Error(
            DiagnosticKind::kLimitExceeded,
            fmt::format("control flow is nested more than {} deep; protobuf readers refuse that", kMaxGraphDepth),
            LocationOf(graph_, owner));
      }
      for (ValueId output : graph_.outputs(block)) {
        if (!output)
          return sink_.Error(DiagnosticKind::kInvalidModel, "a graph has an absent output", BodyLocation(owner));
      }
      for (NodeId node = graph_[block].first; node; node = graph_[node].next) FLAMBEAU_CHECK_OK(Attributes(node));
    }
    return {};
  }

 private:
  Location BodyLocation(NodeId owner) const { return owner ? LocationOf(graph_, owner) : Location{}; }

  Status Attributes(NodeId node) {
    for (const NamedAttribute& attribute : graph_[node].attributes) {
      if (const auto* data = std::get_if<DataId>(&attribute.value)) {
        FLAMBEAU_CHECK_OK(Tensor(context_[*data], LocationOf(graph_, node)));
      } else if (!IsOnnxAttribute(attribute.value)) {
        return sink_.Error(DiagnosticKind::kInvalidModel,
                           fmt::format("attribute '{}' has a kind that ONNX has not", context_.Text(attribute.name)),
                           LocationOf(graph_, node));
      }
    }
    return {};
  }

  Status Tensor(const TensorData& data, Location location) {
    if (Info(data.dtype).onnx_code == 0) {
      return sink_.Error(DiagnosticKind::kUnsupportedDtype,
                         fmt::format("a tensor has dtype {}, which ONNX has not", Info(data.dtype).text), location);
    }
    if (HasWritableBytes(data)) return {};
    return sink_.Error(DiagnosticKind::kBadTensor, "the tensor's sizes and strides reach beyond its bytes", location);
  }

  static bool IsOnnxAttribute(const Attribute& attribute) {
    return std::visit(
        []<class T>(const T&) {
          return std::is_same_v<T, None> || std::is_same_v<T, bool> || std::is_same_v<T, int64_t> ||
                 std::is_same_v<T, double> || std::is_same_v<T, std::string> || std::is_same_v<T, DType> ||
                 std::is_same_v<T, Ints> || std::is_same_v<T, Bools> || std::is_same_v<T, Floats> ||
                 std::is_same_v<T, Strings> || std::is_same_v<T, BlockId> || std::is_same_v<T, DataId> ||
                 std::is_same_v<T, TypeId>;
        },
        attribute);
  }

  const Graph& graph_;
  const Context& context_;
  Sink& sink_;
};

}  // namespace

Status CheckWritable(const Graph& graph, Sink& sink) { return WritableCheck(graph, sink).Run(); }

Serializer::Serializer(const ModelData& model, const Layout& layout, bool inner_metadata)
    : model_(model), layout_(layout), inner_metadata_(inner_metadata) {
  Measurer measurer(&lengths_);
  Walk(model_, layout_, inner_metadata_, measurer).Model();
  size_ = measurer.size();
}

void Serializer::Write(ByteSink& sink) const {
  Encoder encoder(&sink, lengths_);
  Walk(model_, layout_, inner_metadata_, encoder).Model();
  encoder.Flush();
}

Result<std::string> SerializeModel(const ModelData& model, bool weights, Sink& sink) {
  FLAMBEAU_CHECK_OK(CheckWritable(model.graph, sink));
  const Layout layout = weights ? LayOutInline(model.graph) : LayOutWithoutWeights(model.graph);
  const Serializer serializer(model, layout, true);
  if (serializer.size() > kMessageLimit) {
    return sink.Error(DiagnosticKind::kGraphTooLarge,
                      fmt::format("the model takes {} bytes; protobuf allows {}", serializer.size(), kMessageLimit), {},
                      weights ? "save it with external data, or serialize it without weights" : "");
  }
  StringSink bytes(serializer.size());
  serializer.Write(bytes);
  if (!bytes.ok()) return sink.Error(DiagnosticKind::kCannotOpen, "the bytes of a weight cannot be read");
  return bytes.Take();
}

}  // namespace flambeau::onnx
