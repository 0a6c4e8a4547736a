#include "onnx/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/serialize.h"
#include "onnx/string_tensor.h"
#include "support/numeric.h"

namespace flambeau::onnx {
namespace {

// By TensorProto.DataType.
constexpr std::string_view kTypeNames[] = {
    "",          "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "float8e8m0",
};

std::string_view TypeName(DType dtype) { return kTypeNames[static_cast<size_t>(Info(dtype).onnx_code)]; }

bool IsIdentifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted += '"';
}
std::string Identifier(std::string_view text) { return IsIdentifier(text) ? std::string(text) : Quote(text); }

template <class List, class F>
std::string Join(const List& items, F text) {
  std::string joined;
  for (const auto& item : items) {
    if (!joined.empty()) joined += ", ";
    joined += text(item);
  }
  return joined;
}

// Empty where the elements are not shown: there are many, or ONNX's syntax has
// no numbers of the dtype.
std::string Contents(const TensorData& data) {
  if (data.element_count() > kMostElements) return {};
  if (data.dtype == DType::kString) {
    const auto strings = ReadStrings(data);
    return strings ? fmt::format("{{{}}}", Join(*strings, Quote)) : std::string();
  }
  const auto width = static_cast<size_t>(ByteSize(data.dtype));
  const bool is_float = data.dtype == DType::kFloat32 || data.dtype == DType::kFloat64;
  if (width == 0 || (!is_float && (IsFloating(data.dtype) || IsComplex(data.dtype)))) return {};
  const auto bytes = data.ReadAll(kMostElements * width);
  if (!bytes) return {};
  std::vector<std::string> elements;
  for (size_t at = 0; at < bytes->size(); at += width) {
    if (data.dtype == DType::kFloat64) {
      elements.push_back(fmt::format("{}", LoadDouble(data.dtype, bytes->data() + at)));
    } else if (is_float) {
      elements.push_back(fmt::format("{}", static_cast<float>(LoadDouble(data.dtype, bytes->data() + at))));
    } else {
      elements.push_back(fmt::format("{}", LoadInt(data.dtype, bytes->data() + at)));
    }
  }
  return fmt::format("{{{}}}", fmt::join(elements, ", "));
}

std::string TensorType(const TensorData& data) {
  std::string text(TypeName(data.dtype));
  return data.sizes.empty() ? text : fmt::format("{}[{}]", text, fmt::join(data.sizes, ","));
}

class Printer {
 public:
  explicit Printer(const ModelData& model) : model_(model), graph_(model.graph), context_(graph_.context()) {}

  std::string Model() {
    out_ += fmt::format("<\n   ir_version: {},\n   opset_import: [{}]", model_.ir_version,
                        Join(model_.opset_imports, [](const OpsetImport& import) {
                          return fmt::format("\"{}\" : {}", import.domain, import.version);
                        }));
    if (!model_.producer_name.empty()) out_ += fmt::format(",\n   producer_name: {}", Quote(model_.producer_name));
    if (!model_.producer_version.empty())
      out_ += fmt::format(",\n   producer_version: {}", Quote(model_.producer_version));
    if (!model_.metadata.empty()) {
      out_ += fmt::format(",\n   metadata_props: [{}]", Join(model_.metadata, [](const auto& entry) {
                            return fmt::format("{}: {}", Quote(entry.first), Quote(entry.second));
                          }));
    }
    out_ += "\n>\n";
    Block(graph_.main(), model_.graph_name, 0);
    out_ += '\n';
    return std::move(out_);
  }

 private:
  std::string Name(ValueId value) const {
    return value ? Identifier(context_.Text(graph_[value].name)) : std::string("\"\"");
  }

  std::string TypeText(const Type& type) const {
    if (Info(type.dtype).onnx_code == 0) return {};
    std::string text(TypeName(type.dtype));
    if (!type.ranked) {
      text += "[]";
    } else if (!type.sizes.empty()) {
      text += '[' + Join(type.sizes, [&](Expr size) { return SizeText(size); }) + ']';
    }
    if (type.kind == TypeKind::kSequence || type.kind == TypeKind::kOptionalSequence) text = fmt::format("seq({})", text);
    return type.is_optional() ? fmt::format("optional({})", text) : text;
  }
  std::string SizeText(Expr size) const {
    const ExprPool& exprs = context_.exprs();
    if (!size) return "?";
    if (const auto constant = exprs.AsConstant(size)) return fmt::format("{}", *constant);
    return exprs.HasAnonymous(size) ? "?" : Identifier(exprs.Text(size));
  }
  std::string Typed(ValueId value) const {
    const std::string type = TypeText(graph_.type(value));
    return type.empty() ? Name(value) : fmt::format("{} {}", type, Name(value));
  }

  std::string Initializer(ValueId value) const {
    const TensorData& data = context_[graph_[value].data];
    const std::string contents = Contents(data);
    return fmt::format("{} {} = {}", TensorType(data), Name(value),
                       contents.empty() ? R"(["location": "..."])" : contents);
  }

  void Block(BlockId block, std::string_view name, int depth) {
    const auto typed = [&](ValueId value) { return Typed(value); };
    out_ += fmt::format("{} ({}) => ({})", Identifier(name), Join(graph_[block].inputs, typed),
                        Join(graph_.outputs(block), typed));
    std::vector<std::string> named;
    if (block == graph_.main())
      for (ValueId value : Initializers(graph_)) named.push_back(Initializer(value));
    std::vector<ValueId> outputs = graph_.outputs(block);
    std::ranges::sort(outputs);
    graph_.ForEachNode(block, [&](NodeId node) {
      for (uint32_t i = 0; i < graph_[node].result_count; ++i) {
        const ValueId result = graph_.result(node, i);
        if (!TypeText(graph_.type(result)).empty() && !std::ranges::binary_search(outputs, result))
          named.push_back(Typed(result));
      }
    });
    const std::string indent(static_cast<size_t>(depth) * 3, ' ');
    if (!named.empty()) out_ += fmt::format("\n{}   <{}>", indent, fmt::join(named, fmt::format(",\n{}    ", indent)));
    out_ += fmt::format("\n{}{{\n", indent);
    graph_.ForEachNode(block, [&](NodeId node) { Node(node, depth + 1); });
    out_ += indent + '}';
  }

  void Node(NodeId id, int depth) {
    const flambeau::Node& node = graph_[id];
    out_.append(static_cast<size_t>(depth) * 3, ' ');
    if (const auto name = context_.Text(node.name); !name.empty()) out_ += fmt::format("[{}] ", Quote(name));
    for (uint32_t i = 0; i < node.result_count; ++i) {
      if (i > 0) out_ += ", ";
      out_ += Name(node.result(i));
    }
    const auto [domain, op] = SplitOperator(context_.Text(node.op));
    out_ += fmt::format(" = {}{}{}", domain, domain.empty() ? "" : ".", op);
    bool any = false;
    for (const NamedAttribute& attribute : node.attributes) {
      if (std::holds_alternative<None>(attribute.value)) continue;
      out_ += any ? ", " : " <";
      any = true;
      out_ += fmt::format("{}: ", context_.Text(attribute.name));
      if (const auto* body = std::get_if<BlockId>(&attribute.value)) {
        out_ += "graph = ";
        // Nothing deeper can be written, and recursion must end.
        if (depth > kMaxGraphDepth) {
          out_ += "... () => () {}";
        } else {
          Block(*body, context_.Text(attribute.name), depth);
        }
      } else {
        out_ += std::visit([&](const auto& value) { return Text(value); }, attribute.value);
      }
    }
    if (any) out_ += '>';
    const std::vector<ValueId> operands = graph_.operands(id);
    out_ += fmt::format(" ({})\n", Join(operands, [&](ValueId operand) { return Name(operand); }));
  }

  // --- one overload an attribute type ----------------------------------------
  static std::string Text(int64_t value) { return fmt::format("int = {}", value); }
  static std::string Text(bool value) { return Text(int64_t{value}); }
  static std::string Text(DType value) { return Text(int64_t{Info(value).onnx_code}); }
  static std::string Text(double value) { return fmt::format("float = {}", static_cast<float>(value)); }
  static std::string Text(const std::string& value) { return "string = " + Quote(value); }
  static std::string Text(const Ints& values) { return fmt::format("ints = [{}]", fmt::join(values, ", ")); }
  static std::string Text(const Bools& values) { return Text(Ints(values.begin(), values.end())); }
  static std::string Text(const Floats& values) {
    return fmt::format("floats = [{}]",
                       Join(values, [](double value) { return fmt::format("{}", static_cast<float>(value)); }));
  }
  static std::string Text(const Strings& values) { return fmt::format("strings = [{}]", Join(values, Quote)); }
  std::string Text(DataId value) const {
    const TensorData& data = context_[value];
    const std::string contents = Contents(data);
    return fmt::format("tensor = {} {}", TensorType(data), contents.empty() ? R"(["location": "..."])" : contents);
  }
  std::string Text(TypeId value) const { return "type_proto = " + TypeText(context_[value]); }
  template <class Other>
  static std::string Text(const Other&) {
    return "string = \"(no ONNX attribute)\"";
  }

  const ModelData& model_;
  const Graph& graph_;
  const Context& context_;
  std::string out_;
};

}  // namespace

std::string ModelText(const ModelData& model) { return Printer(model).Model(); }

}  // namespace flambeau::onnx
