#include "onnx/reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/sympy.h"
#include "onnx/protobuf.h"
#include "onnx/protozero.h"
#include "onnx/serialize.h"
#include "onnx/tensor_reader.h"

namespace flambeau::onnx {
namespace {

using Message = protozero::pbf_reader;
using MetadataOfNodes = std::unordered_map<uint32_t, Properties>;

std::string_view View(protozero::data_view view) { return {view.data(), view.size()}; }
Message Reader(std::string_view bytes) { return Message(bytes.data(), bytes.size()); }

std::pair<std::string, std::string> ReadEntry(Message entry) {
  std::pair<std::string, std::string> pair;
  while (entry.next()) {
    switch (entry.tag()) {
      case field::kEntryKey: pair.first = entry.get_string(); break;
      case field::kEntryValue: pair.second = entry.get_string(); break;
      default: entry.skip();
    }
  }
  return pair;
}

class GraphReader {
 public:
  GraphReader(TensorReader* tensors, Context* context, Sink* sink)
      : graph_(context), context_(*context), tensors_(*tensors), sink_(*sink) {}

  // Messages may throw protozero::exception.
  Status Main(std::string_view bytes) { return Block(bytes, graph_.main(), 0); }
  Graph Take() { return std::move(graph_); }
  MetadataOfNodes TakeMetadata() { return std::move(metadata_); }
  bool initializers_are_inputs() const { return initializers_are_inputs_; }
  std::string TakeName() { return std::move(name_); }

 private:
  struct Scope {
    std::unordered_map<std::string_view, ValueId> values;
    std::unordered_map<std::string_view, TypeId> types;  // value_info, outputs
  };
  struct Info {
    std::string_view name;
    TypeId type;
  };

  Status Bad(std::string message, std::string_view where = {}) {
    return sink_.Error(DiagnosticKind::kBadProgram, std::move(message), {.entry = std::string(where)});
  }

  // --- types --------------------------------------------------------------------
  Info ReadInfo(Message message) {
    Info info{{}, unknown_};
    while (message.next()) {
      switch (message.tag()) {
        case field::kValueName: info.name = View(message.get_view()); break;
        case field::kValueType: info.type = context_.Intern(ReadType(message.get_message())); break;
        default: message.skip();
      }
    }
    return info;
  }
  // A tensor, a list of tensors, or what may be none of them; of others, the IR knows nothing.
  Type ReadType(Message message) {
    Type type;
    while (message.next()) {
      if (message.tag() == field::kTypeOptional) {
        type = ReadElement(message.get_message(), [&](Message element) { return ReadListOrTensor(element); });
        type.kind = type.is_tensor()                     ? TypeKind::kOptional
                    : type.kind == TypeKind::kSequence ? TypeKind::kOptionalSequence
                                                         : TypeKind::kUnknown;
      } else {
        ReadListOrTensor(message, &type);
      }
    }
    return type;
  }
  Type ReadListOrTensor(Message message) {
    Type type;
    while (message.next()) ReadListOrTensor(message, &type);
    return type;
  }
  // The field at hand of a TypeProto.
  void ReadListOrTensor(Message& message, Type* type) {
    if (message.tag() == field::kTypeTensor) {
      *type = ReadTensorType(message.get_message());
    } else if (message.tag() == field::kTypeSequence) {
      *type = ReadElement(message.get_message(), [&](Message element) {
        Type tensor;
        while (element.next()) {
          if (element.tag() == field::kTypeTensor) {
            tensor = ReadTensorType(element.get_message());
          } else {
            element.skip();
          }
        }
        return tensor;
      });
      if (type->is_tensor()) type->kind = TypeKind::kSequence;
    } else {
      message.skip();
    }
  }
  // What a TypeProto.Sequence or TypeProto.Optional holds.
  template <class Read>
  static Type ReadElement(Message holder, Read&& read) {
    Type type;
    while (holder.next()) {
      if (holder.tag() == field::kElementType) {
        type = read(holder.get_message());
      } else {
        holder.skip();
      }
    }
    return type;
  }
  Type ReadTensorType(Message message) {
    Type type;
    while (message.next()) {
      if (message.tag() == field::kTensorTypeElement) {
        const auto dtype = DTypeFromOnnxCode(message.get_int32());
        if (dtype && *dtype != DType::kNone) {
          type.kind = TypeKind::kTensor;
          type.dtype = *dtype;
        }
      } else if (message.tag() == field::kTensorTypeShape) {
        type.ranked = true;
        for (Message shape = message.get_message(); shape.next();) {
          if (shape.tag() == field::kShapeDim) {
            type.sizes.push_back(ReadSize(shape.get_message()));
          } else {
            shape.skip();
          }
        }
      } else {
        message.skip();
      }
    }
    return type;
  }
  Expr ReadSize(Message dim) {
    Expr size;
    while (dim.next()) {
      switch (dim.tag()) {
        case field::kDimValue:
          if (const int64_t value = dim.get_int64(); value >= 0) size = context_.exprs().Constant(value);
          break;
        case field::kDimParam: size = ReadSymbol(View(dim.get_view())); break;
        default: dim.skip();
      }
    }
    return size ? size : context_.exprs().Anonymous();
  }
  // An expression as we write it, or any name.
  Expr ReadSymbol(std::string_view text) {
    if (text.empty()) return {};
    Sink unheard;
    const auto parsed = ParseSympy(text, context_.exprs(), unheard);
    return parsed && parsed->expr && !parsed->is_float ? parsed->expr : context_.exprs().Symbolic(text);
  }

  // --- graphs -------------------------------------------------------------------
  Status Block(std::string_view bytes, BlockId block, int depth) {
    if (depth > kMaxGraphDepth) {
      return sink_.Error(DiagnosticKind::kLimitExceeded,
                         fmt::format("graphs are nested more than {} deep", kMaxGraphDepth));
    }
    scopes_.emplace_back();
    std::vector<std::string_view> nodes, outputs;
    std::vector<Info> inputs;
    size_t initializers = 0;
    for (Message message = Reader(bytes); message.next();) {
      switch (message.tag()) {
        case field::kGraphNode: nodes.push_back(View(message.get_view())); break;
        case field::kGraphName:
          if (depth == 0)
            name_ = message.get_string();
          else
            message.skip();
          break;
        case field::kGraphInitializer: {
          FLAMBEAU_TRY(auto tensor, tensors_.Read(View(message.get_view())));
          FLAMBEAU_CHECK_OK(Initializer(std::move(tensor)));
          ++initializers;
          break;
        }
        case field::kGraphSparseInitializer: return Bad("sparse initializers can't be read");
        case field::kGraphInput: inputs.push_back(ReadInfo(message.get_message())); break;
        case field::kGraphOutput: {
          const Info info = ReadInfo(message.get_message());
          outputs.push_back(info.name);
          scopes_.back().types[info.name] = info.type;
          break;
        }
        case field::kGraphValueInfo: {
          const Info info = ReadInfo(message.get_message());
          scopes_.back().types[info.name] = info.type;
          break;
        }
        default: message.skip();
      }
    }
    for (const Info& input : inputs) {
      if (scopes_.back().values.contains(input.name)) {
        // An input with a default; the main graph's initializers all are, or none.
        initializers_are_inputs_ |= depth == 0;
        continue;
      }
      FLAMBEAU_CHECK_OK(Define(input.name, graph_.AddInput(block, input.type, context_.Intern(input.name))));
    }
    for (std::string_view node : nodes) FLAMBEAU_CHECK_OK(Node(node, block, depth));
    std::vector<ValueId> values;
    for (std::string_view output : outputs) {
      FLAMBEAU_TRY(const ValueId value, Find(output));
      values.push_back(value);
    }
    graph_.SetOutputs(block, values);
    scopes_.pop_back();
    return {};
  }

  Status Initializer(TensorReader::Named tensor) {
    std::vector<Expr> sizes;
    for (int64_t size : tensor.data.sizes) sizes.push_back(context_.exprs().Constant(size));
    const TypeId type = context_.Intern(Type::OfTensor(tensor.data.dtype, std::move(sizes)));
    return Define(tensor.name,
                  graph_.AddConstant(context_.Add(std::move(tensor.data)), type, context_.Intern(tensor.name)));
  }

  Status Define(std::string_view name, ValueId value) {
    if (name.empty()) return Bad("a value has no name");
    if (!scopes_.back().values.emplace(name, value).second) return Bad("a value is defined twice", name);
    return {};
  }
  Result<ValueId> Find(std::string_view name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->values.find(name); found != scope->values.end()) return found->second;
    (void)Bad("a value is used that is not defined before", name);
    return kFailure;
  }

  // --- nodes --------------------------------------------------------------------
  Status Node(std::string_view bytes, BlockId block, int depth) {
    std::vector<ValueId> operands;
    std::vector<std::string_view> results;
    std::string_view name, op, domain;
    std::vector<NamedAttribute> attributes;
    Properties properties;
    for (Message message = Reader(bytes); message.next();) {
      switch (message.tag()) {
        case field::kNodeInput: {
          const std::string_view operand = View(message.get_view());
          if (operand.empty()) {
            operands.push_back({});
            break;
          }
          FLAMBEAU_TRY(const ValueId value, Find(operand));
          operands.push_back(value);
          break;
        }
        case field::kNodeOutput: results.push_back(View(message.get_view())); break;
        case field::kNodeName: name = View(message.get_view()); break;
        case field::kNodeOpType: op = View(message.get_view()); break;
        case field::kNodeDomain: domain = View(message.get_view()); break;
        case field::kNodeAttribute: {
          FLAMBEAU_TRY(NamedAttribute attribute, Attribute(View(message.get_view()), depth));
          attributes.push_back(std::move(attribute));
          break;
        }
        case field::kNodeMetadata: properties.push_back(ReadEntry(message.get_message())); break;
        default: message.skip();
      }
    }
    if (op.empty()) return Bad("a node has no operator", name);
    std::vector<TypeId> types;
    for (std::string_view result : results) types.push_back(TypeOf(result));
    const Symbol symbol =
        context_.Intern(domain.empty() || domain == "ai.onnx" ? std::string(op) : fmt::format("{}::{}", domain, op));
    const NodeId node = graph_.Append(block, symbol, operands, std::move(attributes), types);
    graph_.SetName(node, context_.Intern(name));
    if (!properties.empty()) metadata_.emplace(node.index, std::move(properties));
    for (uint32_t i = 0; i < results.size(); ++i) {
      if (results[i].empty()) continue;
      graph_.SetName(graph_.result(node, i), context_.Intern(results[i]));
      FLAMBEAU_CHECK_OK(Define(results[i], graph_.result(node, i)));
    }
    return {};
  }

  TypeId TypeOf(std::string_view result) {
    if (result.empty()) return context_.Intern(Type::OfNone());
    const auto found = scopes_.back().types.find(result);
    return found == scopes_.back().types.end() ? unknown_ : found->second;
  }

  Result<NamedAttribute> Attribute(std::string_view bytes, int depth) {
    std::string_view name;
    std::optional<uint32_t> type;
    double number = 0;
    int64_t integer = 0;
    std::string text;
    std::string_view tensor, body;
    Type described;
    Floats floats;
    Ints ints;
    Strings strings;
    for (Message message = Reader(bytes); message.next();) {
      switch (message.tag()) {
        case field::kAttributeName: name = View(message.get_view()); break;
        case field::kAttributeType: type = message.get_uint32(); break;
        case field::kAttributeFloat: number = message.get_float(); break;
        case field::kAttributeInt: integer = message.get_int64(); break;
        case field::kAttributeString: text = message.get_string(); break;
        case field::kAttributeTensor: tensor = View(message.get_view()); break;
        case field::kAttributeGraph: body = View(message.get_view()); break;
        case field::kAttributeTypeProto: described = ReadType(message.get_message()); break;
        case field::kAttributeFloats: ReadFloats(message, &floats); break;
        case field::kAttributeInts: ReadInts(message, &ints); break;
        case field::kAttributeStrings: strings.push_back(message.get_string()); break;
        default: message.skip();
      }
    }
    const Symbol symbol = context_.Intern(name);
    switch (static_cast<AttributeCode>(type.value_or(0))) {
      case AttributeCode::kFloat: return NamedAttribute{symbol, number};
      case AttributeCode::kInt: return NamedAttribute{symbol, integer};
      case AttributeCode::kString: return NamedAttribute{symbol, std::move(text)};
      case AttributeCode::kFloats: return NamedAttribute{symbol, std::move(floats)};
      case AttributeCode::kInts: return NamedAttribute{symbol, std::move(ints)};
      case AttributeCode::kStrings: return NamedAttribute{symbol, std::move(strings)};
      case AttributeCode::kTypeProto: return NamedAttribute{symbol, context_.Intern(std::move(described))};
      case AttributeCode::kTensor: {
        FLAMBEAU_TRY(auto read, tensors_.Read(tensor));
        return NamedAttribute{symbol, context_.Add(std::move(read.data))};
      }
      case AttributeCode::kGraph: {
        const BlockId block = graph_.AddBlock();
        FLAMBEAU_CHECK_OK(Block(body, block, depth + 1));
        return NamedAttribute{symbol, block};
      }
    }
    (void)Bad(fmt::format("an attribute has type {}, which can't be read", type.value_or(0)), name);
    return kFailure;
  }
  static void ReadFloats(Message& message, Floats* values) {
    if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
      values->push_back(message.get_float());
    } else {
      for (float value : message.get_packed_float()) values->push_back(value);
    }
  }
  static void ReadInts(Message& message, Ints* values) {
    if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
      values->push_back(message.get_int64());
    } else {
      for (int64_t value : message.get_packed_int64()) values->push_back(value);
    }
  }

  Graph graph_;
  Context& context_;
  TensorReader& tensors_;
  Sink& sink_;
  TypeId unknown_ = context_.Intern(Type());
  std::vector<Scope> scopes_;
  MetadataOfNodes metadata_;
  std::string name_;
  bool initializers_are_inputs_ = false;
};

OpsetImport ReadImport(Message message) {
  OpsetImport import;
  while (message.next()) {
    switch (message.tag()) {
      case field::kOpsetDomain: import.domain = message.get_string(); break;
      case field::kOpsetVersion: import.version = static_cast<int>(message.get_int64()); break;
      default: message.skip();
    }
  }
  if (import.domain == "ai.onnx") import.domain.clear();
  return import;
}

Result<ModelData> ReadMessage(std::string_view bytes, TensorReader* tensors, Context* context, Sink& sink) {
  GraphReader reader(tensors, context, &sink);
  std::vector<OpsetImport> imports;
  Properties metadata;
  int ir_version = 0;
  std::string producer_name, producer_version;
  std::optional<std::string_view> graph;
  for (Message message = Reader(bytes); message.next();) {
    switch (message.tag()) {
      case field::kModelIrVersion: ir_version = static_cast<int>(message.get_int64()); break;
      case field::kModelProducerName: producer_name = message.get_string(); break;
      case field::kModelProducerVersion: producer_version = message.get_string(); break;
      case field::kModelGraph: graph = View(message.get_view()); break;
      case field::kModelOpsetImport: imports.push_back(ReadImport(message.get_message())); break;
      case field::kModelMetadata: metadata.push_back(ReadEntry(message.get_message())); break;
      case field::kModelFunctions: return sink.Error(DiagnosticKind::kBadProgram, "local functions can't be read");
      default: message.skip();
    }
  }
  if (!graph || ir_version <= 0) return sink.Error(DiagnosticKind::kUnknownFormat, "this is no ONNX model");
  FLAMBEAU_CHECK_OK(reader.Main(*graph));
  ModelData model(reader.Take());
  model.opset_imports = std::move(imports);
  model.ir_version = ir_version;
  model.producer_name = std::move(producer_name);
  model.producer_version = std::move(producer_version);
  model.graph_name = reader.TakeName();
  model.metadata = std::move(metadata);
  model.initializers_are_inputs = reader.initializers_are_inputs();
  if (MetadataOfNodes of_nodes = reader.TakeMetadata(); !of_nodes.empty()) {
    model.node_metadata = [kept = std::move(of_nodes)](NodeId node, Properties& properties) {
      if (const auto found = kept.find(node.index); found != kept.end()) properties = found->second;
    };
  }
  return model;
}

}  // namespace

Result<ModelData> ReadModel(std::string_view bytes, std::shared_ptr<const void> owner, const std::string& folder,
                            Context* context, Sink& sink) {
  TensorReader tensors(std::move(owner), folder, &sink);
  // protozero throws where a message is malformed; this is where it ends.
  try {
    return ReadMessage(bytes, &tensors, context, sink);
  } catch (const protozero::exception&) {
    return sink.Error(DiagnosticKind::kUnknownFormat, "this is no ONNX model, or it is damaged");
  }
}

Result<ModelData> ReadModel(const std::string& path, Context* context, Sink& sink) {
  ContextScope scope(sink, [&](Diagnostic& diagnostic) { diagnostic.location.file = path; });
  std::string error;
  const auto file = File::Open(path, &error);
  if (file == nullptr) return sink.Error(DiagnosticKind::kCannotOpen, fmt::format("cannot open: {}", error));
  auto window = Window::Map(*file, 0, file->size());
  if (!window) return sink.Error(DiagnosticKind::kCannotOpen, "cannot map the file");
  const auto owner = std::make_shared<const Window>(*std::move(window));
  const std::string_view bytes(reinterpret_cast<const char*>(owner->bytes().data()), owner->bytes().size());
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return ReadModel(bytes, owner, folder.empty() ? "." : folder, context, sink);
}

}  // namespace flambeau::onnx
