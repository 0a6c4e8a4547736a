#include "ir/print.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "ir/expr_text.h"
#include "ir/text_lexer.h"
#include "ir/text_names.h"

namespace flambeau {
namespace {

std::string Plain(std::string_view name) { return IsPlainSymbolName(name) ? std::string(name) : Quoted(name); }

// An operator's name: aten::add.Tensor, com.microsoft::Gelu.
std::string OpText(std::string_view op) {
  const bool plain = !op.empty() && IsNameStart(op[0]) &&
                     std::all_of(op.begin(), op.end(), [](char c) { return IsNamePartOrDot(c) || c == ':'; });
  return plain && op != "return" && op != "const" ? std::string(op) : Quoted(op);
}

template <class List, class F>
std::string Join(const List& list, F text) {
  std::string out;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    out += text(list[i]);
  }
  return out;
}

std::string BoolText(bool value) { return value ? "True" : "False"; }

template <class T>
T Load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// One element of a constant; empty for those that only their bytes tell.
std::string ElementText(DType dtype, const std::byte* at) {
  auto floating = [](auto value) { return std::isnan(value) ? std::string() : FloatText(value); };
  switch (dtype) {
    case DType::kBool: return static_cast<uint8_t>(*at) > 1 ? "" : BoolText(static_cast<uint8_t>(*at) == 1);
    case DType::kUint8: return std::to_string(Load<uint8_t>(at));
    case DType::kInt8: return std::to_string(Load<int8_t>(at));
    case DType::kUint16: return std::to_string(Load<uint16_t>(at));
    case DType::kInt16: return std::to_string(Load<int16_t>(at));
    case DType::kUint32: return std::to_string(Load<uint32_t>(at));
    case DType::kInt32: return std::to_string(Load<int32_t>(at));
    case DType::kUint64: return std::to_string(Load<uint64_t>(at));
    case DType::kInt64: return std::to_string(Load<int64_t>(at));
    case DType::kFloat32: return floating(Load<float>(at));
    case DType::kFloat64: return floating(Load<double>(at));
    default: return {};
  }
}

std::string HexText(std::span<const std::byte> bytes) {
  std::string text = "hex ";
  for (std::byte b : bytes) {
    text += "0123456789abcdef"[static_cast<uint8_t>(b) >> 4];
    text += "0123456789abcdef"[static_cast<uint8_t>(b) & 15];
  }
  return text;
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), context_(graph.context()) {}

  std::string Print();
  std::string PrintOne(NodeId node) {
    numbers_are_ids_ = true;
    StartNode(node);
    while (NextAttribute()) out_ += "{...}";
    return std::move(out_);
  }
  std::string TypeText(const Type& type);

 private:
  struct Frame {
    BlockId block;
    NodeId next;           // to be printed
    NodeId node;           // whose attributes are being printed
    size_t attribute = 0;  // the next one
    bool first = true;     // no operand or attribute so far
  };

  std::string Text(Symbol symbol) const { return std::string(context_.Text(symbol)); }
  std::string ExprText(Expr e);
  std::string ExprList(const std::vector<Expr>& list) {
    return Join(list, [&](Expr e) { return ExprText(e); });
  }
  std::string TensorText(const Type& type);
  std::string Name(ValueId id);
  std::string Typed(ValueId id) { return Name(id) + ": " + TypeText(graph_.type(id)); }
  std::string OperandText(NodeId node, uint32_t i) {
    return i < graph_.operand_count(node) ? Name(graph_.operand(node, i)) : "_";
  }
  std::string ListText(NodeId node, const OperandList& list);
  std::string AttributeText(NodeId node, const Attribute& value);
  std::string DataText(DataId id, const Type* known);
  std::string SourceText(const TensorData& data);
  std::string OriginText(NodeId node) const;
  std::string SymbolLines();
  std::vector<ValueId> UsedConstants() const;
  bool HasStrides(std::span<const ValueId> constants) const;

  void Indent(size_t levels) { out_.append(2 * levels, ' '); }
  void Open(BlockId block);
  void Close();
  void StartNode(NodeId node);
  const BlockId* NextAttribute();
  void Separate() {
    if (!frames_.back().first) out_ += ", ";
    frames_.back().first = false;
  }

  const Graph& graph_;
  Context& context_;
  std::string out_;
  std::vector<Frame> frames_;
  bool strides_known_ = false, numbers_are_ids_ = false;
  std::unordered_map<ValueId, std::string> names_;
  std::unordered_set<Symbol> labels_;
  size_t next_number_ = 0;
  std::unordered_map<Expr, size_t> anonymous_;
  std::unordered_set<Expr> symbols_;
  std::unordered_set<BlockId> opened_;
  std::unordered_map<std::string, std::unordered_map<const void*, size_t>> sources_;  // by label, numbered
};

std::string Printer::ExprText(Expr e) {
  context_.exprs().ForEachSymbol(e, [&](Expr symbol) { symbols_.insert(symbol); });
  return context_.exprs().Text(e, &anonymous_);
}

std::string Printer::TensorText(const Type& type) {
  std::string text(Info(type.dtype).text);
  if (!type.ranked) return text + "[*]";
  text += "[" + ExprList(type.sizes) + "]";
  const bool contiguous =
      !type.strides.empty() && strides_known_ && type.strides == ContiguousStrides(type.sizes, context_.exprs());
  if (!type.strides.empty() && !contiguous) {
    text += "{" + ExprList(type.strides) + "}";
  } else if (type.strides.empty() && type.rank() > 0 && strides_known_) {
    text += "{?}";
  }
  return text;
}

std::string Printer::TypeText(const Type& type) {
  switch (type.kind) {
    case TypeKind::kSequence: return "seq(" + TensorText(type) + ")";
    case TypeKind::kOptional: return "optional(" + TensorText(type) + ")";
    case TypeKind::kOptionalSequence: return "optional(seq(" + TensorText(type) + "))";
    case TypeKind::kTensor: {
      std::string text = TensorText(type);
      return type.contents ? text + "=(" + ExprList(*type.contents) + ")" : text;
    }
    default: {
      std::string text(WordOf(kTypeWords, type.kind));
      return type.contents ? text + "(" + ExprList(*type.contents) + ")" : text;
    }
  }
}

std::string Printer::Name(ValueId id) {
  if (id.index >= graph_.value_capacity()) return "_";  // absent, or broken
  auto [it, added] = names_.try_emplace(id);
  if (added) {
    const Symbol label = graph_[id].name;
    if (label && label.index != 0 && (numbers_are_ids_ || labels_.insert(label).second)) {
      it->second = "%" + Plain(context_.Text(label));
    } else {
      it->second = "%" + std::to_string(numbers_are_ids_ ? id.index : next_number_++);
    }
  }
  return it->second;
}

std::string Printer::ListText(NodeId node, const OperandList& list) {
  bool telling = false;  // of its kind
  std::string text = "[";
  text += Join(list, [&](const ListElement& element) -> std::string {
    telling |= std::holds_alternative<Operand>(element) || std::holds_alternative<None>(element);
    if (const auto* operand = std::get_if<Operand>(&element)) return OperandText(node, operand->index);
    if (const auto* flag = std::get_if<bool>(&element)) return BoolText(*flag);
    if (const auto* integer = std::get_if<int64_t>(&element)) return std::to_string(*integer);
    if (const auto* number = std::get_if<double>(&element)) return FloatText(*number);
    return "None";
  });
  return (telling ? "" : "operands") + text + "]";
}

std::string Printer::AttributeText(NodeId node, const Attribute& attribute) {
  struct Visitor {
    Printer& to;
    NodeId node;
    std::string operator()(None) { return "None"; }
    std::string operator()(bool v) { return BoolText(v); }
    std::string operator()(int64_t v) { return std::to_string(v); }
    std::string operator()(double v) { return FloatText(v); }
    std::string operator()(std::complex<double> v) {
      return "complex(" + FloatText(v.real()) + ", " + FloatText(v.imag()) + ")";
    }
    std::string operator()(const std::string& v) { return Quoted(v); }
    std::string operator()(DType v) { return std::string(Info(v).text); }
    std::string operator()(Layout v) { return std::string(WordOf(kLayoutWords, v)); }
    std::string operator()(MemoryFormat v) { return std::string(WordOf(kMemoryFormatWords, v)); }
    std::string operator()(const Device& v) { return "device(" + Quoted(v.text) + ")"; }
    std::string operator()(const Ints& v) {
      return "[" + Join(v, [](int64_t i) { return std::to_string(i); }) + "]";
    }
    std::string operator()(const Floats& v) {
      return (v.empty() ? "floats[" : "[") + Join(v, [](double f) { return FloatText(f); }) + "]";
    }
    std::string operator()(const Bools& v) { return (v.empty() ? "bools[" : "[") + Join(v, BoolText) + "]"; }
    std::string operator()(const Strings& v) { return (v.empty() ? "strings[" : "[") + Join(v, Quoted) + "]"; }
    std::string operator()(Operand v) { return to.OperandText(node, v.index); }
    std::string operator()(const OperandList& v) { return to.ListText(node, v); }
    std::string operator()(BlockId) { return {}; }
    std::string operator()(DataId v) { return "tensor(" + to.DataText(v, nullptr) + ")"; }
    std::string operator()(TypeId v) { return "type(" + to.TypeText(to.context_[v]) + ")"; }
  };
  return std::visit(Visitor{*this, node}, attribute);
}

// `known` is the type of the value, whose dtype and sizes go without saying.
std::string Printer::DataText(DataId id, const Type* known) {
  const TensorData& data = context_[id];
  std::vector<Expr> sizes;
  for (int64_t size : data.sizes) sizes.push_back(context_.exprs().Constant(size));
  std::string type;
  if (!known || !data.contiguous() || known->dtype != data.dtype || known->sizes != sizes) {
    type = std::string(Info(data.dtype).text) + "[" + ExprList(sizes) + "]";
    if (!data.contiguous()) type += "{" + Join(data.strides, [](int64_t s) { return std::to_string(s); }) + "}";
    type += known ? " " : ", ";
  }
  if (data.contiguous() && data.source && data.source->available() && data.element_count() <= kInlineElements) {
    if (const auto bytes = data.ReadAll(kInlineElements * 16)) {
      const auto width = static_cast<size_t>(ByteSize(data.dtype));
      std::string text = "[";
      for (size_t i = 0; width > 0 && i < data.element_count(); ++i) {
        const std::string element = ElementText(data.dtype, bytes->data() + i * width);
        if (element.empty()) return type + HexText(*bytes);
        text += (i > 0 ? ", " : "") + element;
      }
      return type + (width > 0 ? text + "]" : HexText(*bytes));
    }
  }
  return type + SourceText(data);
}

// A label for each source: the second one of a name is `name:1`, so that equal
// text means the same bytes.
std::string Printer::SourceText(const TensorData& data) {
  if (!data.source) return "data(\"\", 0)";
  const void* identity = data.source.get();
  uint64_t offset = data.offset;
  if (const auto file = data.source->InFile()) {
    identity = file->file.get();
    offset += file->offset;
  } else if (const auto memory = data.source->InMemory()) {
    identity = memory->data();
  }
  std::string label = data.source->Label();
  auto& known = sources_[label];
  const size_t index = known.try_emplace(identity, known.size()).first->second;
  if (index > 0) label += ":" + std::to_string(index);
  return "data(" + Quoted(label) + ", " + std::to_string(offset) + ")";
}

// "fc1, model.py:17"; a path that could be mistaken stands in quotes.
std::string Printer::OriginText(NodeId node) const {
  if (!graph_[node].origin) return {};
  const Origin& origin = context_[graph_[node].origin];
  const std::string line = SourceLine(context_.Text(origin.stack_trace));
  std::string path = Text(origin.module_path());
  if (path.empty() && line.empty()) return {};
  const bool plain =
      std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < 127 && c != '"' && c != ','; });
  if (!plain) path = Quoted(path);
  const bool plain_line =
      !line.starts_with(' ') && std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c < 127 && c != '"' && c != ','; });
  std::string text = "  # " + path;
  if (!line.empty()) text += (path.empty() ? "" : ", ") + (plain_line ? line : Quoted(line));
  return text;
}

std::vector<ValueId> Printer::UsedConstants() const {
  std::vector<ValueId> constants;
  for (uint32_t i = 0; i < graph_.value_capacity(); ++i)
    if (graph_[ValueId{i}].kind == ValueKind::kConstant && graph_.HasUses(ValueId{i})) constants.push_back(ValueId{i});
  return constants;
}

bool Printer::HasStrides(std::span<const ValueId> constants) const {
  auto strided = [&](ValueId id) { return !graph_.type(id).strides.empty(); };
  bool found = std::any_of(constants.begin(), constants.end(), strided);
  for (BlockId block : graph_.AllBlocks()) {
    const auto& inputs = graph_[block].inputs;
    found |= std::any_of(inputs.begin(), inputs.end(), strided);
    graph_.ForEachNode(block, [&](NodeId id) {
      for (uint32_t i = 0; i < graph_[id].result_count; ++i) found |= strided(graph_.result(id, i));
    });
  }
  return found;
}

// `symbol` lines, for what differs from what ExprReader assumes of a name.
std::string Printer::SymbolLines() {
  const ExprPool& pool = context_.exprs();
  auto is_default = [&](Expr e) {
    const ExprPool::Range range = pool.RangeOf(e);
    const bool unbacked = pool.symbol_kind(e) == SymbolKind::kUnbacked;
    if (pool.symbol_kind(e) != SymbolKind::kAnonymous && unbacked != IsUnbackedName(pool.symbol_name(e))) return false;
    return range.min == (unbacked ? INT64_MIN : 0) && range.max == INT64_MAX;
  };
  // Anonymous symbols up to the last that needs a line, so that they are made in order.
  std::vector<Expr> numbered(anonymous_.size());
  for (const auto& [e, number] : anonymous_) numbered[number] = e;
  while (!numbered.empty() && is_default(numbered.back())) numbered.pop_back();
  std::vector<Expr> named;
  for (Expr e : symbols_)
    if (pool.symbol_kind(e) != SymbolKind::kAnonymous && !is_default(e)) named.push_back(e);
  std::sort(named.begin(), named.end(), [&](Expr a, Expr b) { return pool.symbol_name(a) < pool.symbol_name(b); });
  named.insert(named.end(), numbered.begin(), numbered.end());
  std::string lines;
  for (Expr e : named) {
    const ExprPool::Range range = pool.RangeOf(e);
    lines += "symbol " + pool.Text(e, &anonymous_);
    const SymbolKind kind = pool.symbol_kind(e);
    const bool unbacked = kind == SymbolKind::kUnbacked;
    if (kind != SymbolKind::kAnonymous && unbacked != IsUnbackedName(pool.symbol_name(e)))
      lines += unbacked ? " unbacked" : " dimension";
    lines += " in [" + (range.min == INT64_MIN ? "-oo" : std::to_string(range.min)) + ", " +
             (range.max == INT64_MAX ? "oo" : std::to_string(range.max)) + "]\n";
  }
  return lines;
}

// `(inputs) {`
void Printer::Open(BlockId block) {
  out_ += "(" + Join(graph_[block].inputs, [&](ValueId id) { return Typed(id); }) + ") {\n";
  frames_.push_back({block, graph_[block].first, {}});
}

void Printer::Close() {
  Indent(frames_.size());
  out_ += "return";
  const std::string outputs = Join(graph_.outputs(frames_.back().block), [&](ValueId id) { return Name(id); });
  if (!outputs.empty()) out_ += " " + outputs;
  out_ += "\n";
  frames_.pop_back();
  Indent(frames_.size());
  out_ += "}";
}

void Printer::StartNode(NodeId id) {
  if (numbers_are_ids_) frames_.push_back({});
  const Node& node = graph_[id];
  for (uint32_t i = 0; i < node.result_count; ++i) out_ += (i > 0 ? ", " : "") + Typed(node.result(i));
  if (node.result_count > 0) out_ += " = ";
  out_ += OpText(context_.Text(node.op));
  if (node.name && node.name.index != 0) out_ += " @" + Plain(context_.Text(node.name));
  out_ += "(";
  Frame& frame = frames_.back();
  frame.node = id;
  frame.attribute = 0;
  frame.first = true;
  std::vector<bool> named(node.operand_count);
  auto mark = [&](Operand operand) {
    if (operand.index < named.size()) named[operand.index] = true;
  };
  for (const NamedAttribute& attribute : node.attributes) {
    if (const auto* operand = std::get_if<Operand>(&attribute.value)) mark(*operand);
    if (const auto* list = std::get_if<OperandList>(&attribute.value))
      for (const ListElement& element : *list)
        if (const auto* operand = std::get_if<Operand>(&element)) mark(*operand);
  }
  for (uint32_t i = 0; i < node.operand_count; ++i) {
    if (named[i]) continue;
    Separate();
    out_ += OperandText(id, i);
  }
}

// Prints attributes up to a body, which it returns, or to the end of the node.
const BlockId* Printer::NextAttribute() {
  Frame& frame = frames_.back();
  const Node& node = graph_[frame.node];
  while (frame.attribute < node.attributes.size()) {
    const NamedAttribute& attribute = node.attributes[frame.attribute++];
    Separate();
    out_ += Plain(context_.Text(attribute.name)) + "=";
    if (const auto* body = std::get_if<BlockId>(&attribute.value)) return body;
    out_ += AttributeText(frame.node, attribute.value);
  }
  out_ += ")";
  if (!numbers_are_ids_) out_ += OriginText(frame.node);
  frame.node = {};
  return nullptr;
}

std::string Printer::Print() {
  const std::vector<ValueId> constants = UsedConstants();
  strides_known_ = HasStrides(constants);
  out_ = "graph";
  Open(graph_.main());
  for (ValueId id : constants) {
    Indent(1);
    out_ += "const " + Typed(id) + " = " + DataText(graph_[id].data, &graph_.type(id)) + "\n";
  }
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.node) {
      const BlockId* body = NextAttribute();
      if (!body) {
        out_ += "\n";
      } else if (opened_.insert(*body).second) {
        Open(*body);
      } else {
        out_ += "<printed before>";  // a broken graph
      }
    } else if (frame.next) {
      Indent(frames_.size());
      const NodeId node = frame.next;
      frame.next = graph_[node].next;
      StartNode(node);
    } else {
      Close();
    }
  }
  std::string header = strides_known_ ? "strides known\n" : "";
  return header + SymbolLines() + out_ + "\n";
}

}  // namespace

std::string PrintGraph(const Graph& graph) { return Printer(graph).Print(); }
std::string PrintNode(const Graph& graph, NodeId node) { return Printer(graph).PrintOne(node); }

}  // namespace flambeau
