#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reader/torchscript/graph.h"

namespace flambeau::torchscript {
namespace {

// Types and constants of an archive nest as deep as their reader allows; what
// is deeper than this is only hinted at.
constexpr int kMaxDepth = 64;
constexpr size_t kMaxElements = 32;

void AppendType(const Type& type, int depth, std::string& out);

void AppendElements(const Type& type, int depth, std::string& out) {
  out += '[';
  for (size_t i = 0; i < type.elements.size(); ++i) {
    if (i > 0) out += ", ";
    AppendType(*type.elements[i], depth + 1, out);
  }
  out += ']';
}

std::string_view Word(TypeKind kind) {
  switch (kind) {
    case TypeKind::kAny: return "Any";
    case TypeKind::kTensor: return "Tensor";
    case TypeKind::kInt: return "int";
    case TypeKind::kFloat: return "float";
    case TypeKind::kBool: return "bool";
    case TypeKind::kComplex: return "complex";
    case TypeKind::kNumber: return "number";
    case TypeKind::kString: return "str";
    case TypeKind::kDevice: return "Device";
    case TypeKind::kNone: return "NoneType";
    case TypeKind::kGenerator: return "Generator";
    case TypeKind::kOptional: return "Optional";
    case TypeKind::kList: return "List";
    case TypeKind::kDict: return "Dict";
    case TypeKind::kTuple: return "Tuple";
    case TypeKind::kUnion: return "Union";
    case TypeKind::kFuture: return "Future";
    case TypeKind::kClass:
    case TypeKind::kInterface:
    case TypeKind::kVariable:
    case TypeKind::kEnum: return {};
    case TypeKind::kFunction: return "Function";
  }
  return {};
}

void AppendType(const Type& type, int depth, std::string& out) {
  if (depth > kMaxDepth) {
    out += "...";
    return;
  }
  if (!type.name.empty()) {
    out += type.name;
    return;
  }
  out += Word(type.kind);
  if (type.kind == TypeKind::kTuple && type.elements.empty()) {
    out += "[()]";
  } else if (!type.elements.empty()) {
    AppendElements(type, depth, out);
  } else if (type.dtype || type.sizes) {
    out += fmt::format("({}", type.dtype ? Info(*type.dtype).torch_name : "?");
    if (type.sizes)
      for (const int64_t size : *type.sizes) out += size < 0 ? ", *" : fmt::format(", {}", size);
    out += ')';
  }
}

class ConstantPrinter {
 public:
  ConstantPrinter(std::string& out, int depth) : out_(out), depth_(depth) {}

  void operator()(std::monostate) { out_ += "None"; }
  void operator()(bool value) { out_ += value ? "True" : "False"; }
  void operator()(int64_t value) { out_ += fmt::format("{}", value); }
  void operator()(double value) { out_ += fmt::format("{}", value); }
  void operator()(std::complex<double> value) { out_ += fmt::format("({} + {}j)", value.real(), value.imag()); }
  void operator()(const std::string& value) { out_ += fmt::format("{:?}", value); }
  void operator()(const TensorData& value) {
    out_ += fmt::format("<{}[{}]>", Info(value.dtype).torch_name, fmt::join(value.sizes, ", "));
  }
  void operator()(const DeviceConstant& value) { out_ += fmt::format("device({:?})", value.text); }
  void operator()(const ListConstant& value) { Elements(value.elements, '[', ']'); }
  void operator()(const TupleConstant& value) { Elements(value.elements, '(', ')'); }
  void operator()(const DictConstant& value) {
    out_ += fmt::format("<dict of {}>", value.entries.size());
  }
  void operator()(const EnumConstant& value) { out_ += fmt::format("{}.{}", value.class_name, value.member); }
  void operator()(ObjectId value) { out_ += fmt::format("<object {}>", value.index); }

 private:
  void Elements(const std::vector<Constant>& elements, char open, char close) {
    out_ += open;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) out_ += ", ";
      if (i >= kMaxElements || depth_ > kMaxDepth) {
        out_ += "...";
        break;
      }
      std::visit(ConstantPrinter(out_, depth_ + 1), elements[i].value);
    }
    out_ += close;
  }

  std::string& out_;
  int depth_;
};

std::string Values(const std::vector<Value*>& values, bool typed) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ", ";
    out += '%';
    out += values[i]->name;
    if (typed && values[i]->type) out += " : " + Text(*values[i]->type);
  }
  return out;
}

class Printer {
 public:
  std::string Run(const Graph& graph) {
    // Blocks nest as deep as the program does: no recursion.
    pending_.push_back({graph.main, 0, 1, fmt::format("graph({}):\n", Values(graph.main->inputs, true)),
                        fmt::format("  return ({})\n", Values(graph.main->outputs, false))});
    while (!pending_.empty()) {
      Open& open = pending_.back();
      out_ += std::exchange(open.begin, {});
      if (open.next == open.block->nodes.size()) {
        out_ += open.end;
        pending_.pop_back();
        continue;
      }
      const Node& node = *open.block->nodes[open.next++];
      const int depth = open.depth;
      AppendNode(node, depth);
      const std::string indent(static_cast<size_t>(2 * depth + 2), ' ');
      for (size_t i = node.blocks.size(); i-- > 0;) {
        const Block& block = *node.blocks[i];
        pending_.push_back({&block, 0, depth + 2, fmt::format("{}block{}({}):\n", indent, i, Values(block.inputs, true)),
                            fmt::format("{}  -> ({})\n", indent, Values(block.outputs, false))});
      }
    }
    return std::move(out_);
  }

 private:
  struct Open {
    const Block* block;
    size_t next;
    int depth;
    std::string begin, end;
  };

  void AppendNode(const Node& node, int depth) {
    out_ += std::string(static_cast<size_t>(2 * depth), ' ');
    if (!node.outputs.empty()) out_ += Values(node.outputs, true) + " = ";
    out_ += node.kind;
    if (!node.overload.empty()) out_ += "." + node.overload;
    AppendAttributes(node);
    out_ += fmt::format("({})\n", Values(node.inputs, false));
  }

  void AppendAttributes(const Node& node) {
    if (node.attributes.empty() && node.types.empty()) return;
    std::string_view before = "[";
    for (const Attribute& attribute : node.attributes) {
      out_ += fmt::format("{}{}=", before, attribute.name);
      std::visit(ConstantPrinter(out_, 0), attribute.value.value);
      before = ", ";
    }
    if (!node.types.empty()) out_ += fmt::format("{}types=[", before);
    for (size_t i = 0; i < node.types.size(); ++i) {
      if (i > 0) out_ += ", ";
      AppendType(*node.types[i], 0, out_);
    }
    out_ += node.types.empty() ? "]" : "]]";
  }

  std::string out_;
  std::vector<Open> pending_;
};

}  // namespace

std::string Text(const Type& type) {
  std::string out;
  AppendType(type, 0, out);
  return out;
}

std::string Print(const Graph& graph) { return Printer().Run(graph); }

}  // namespace flambeau::torchscript
