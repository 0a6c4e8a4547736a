#include "driver/fx_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <iterator>

#include "aten/schema.h"
#include "ir/text_lexer.h"
#include "ir/torch_names.h"

namespace flambeau {
namespace {

std::string TargetText(std::string_view target) {
  if (target.starts_with("_operator.")) return std::string(target.substr(1));
  return target.starts_with("torch.") ? std::string(target) : fmt::format("torch.ops.{}", target);
}

}  // namespace

FxText::FxText(const Graph& graph, const Program::Impl& program)
    : graph_(graph), context_(graph.context()), declared_(program.declared) {
  for (const InputSpec& input : program.inputs) placeholders_.emplace(input.value, input.name);
  for (uint32_t i = 0; i < graph.node_capacity(); ++i)
    if (const NodeId node{i}; !graph[node].erased && graph[node].result_count > 1) taken_.emplace(node, TakenResults(node));
}

std::string FxText::operator()(NodeId id) const {
  const Node& node = graph_[id];
  const Origin& origin = context_[node.origin];
  const aten::Schema* schema = declared_.Find(graph_.op(id));
  if (schema == nullptr) schema = aten::FindSchema(graph_.op(id));
  // The capture writes no keyword argument that has its default, and no positional one at the end.
  std::string positional, named;
  size_t count = 0, written = 0, end = 0;  // of the positional ones: all, those up to the last that counts, and its end
  for (size_t i = 0; i < node.attributes.size(); ++i) {
    const NamedAttribute& attribute = node.attributes[i];
    const auto* formal = schema != nullptr && i < schema->arguments.size() ? &schema->arguments[i] : nullptr;
    const bool is_default = formal && formal->has_default && attribute.value == formal->default_value;
    if (formal && formal->keyword_only) {
      if (is_default) continue;
      named.append(named.empty() ? "" : ", ").append(context_.Text(attribute.name)).append(": ");
      AppendArgument(id, attribute.value, named);
      continue;
    }
    positional.append(count++ == 0 ? "" : ", ");
    AppendArgument(id, attribute.value, positional);
    if (is_default) continue;
    written = count;
    end = positional.size();
  }
  return fmt::format("%{} : [num_users={}] = call_function[target={}](args = ({}{}), kwargs = {{{}}})",
                     context_.Text(origin.node_name), UserCount(id), TargetText(context_.Text(origin.target)),
                     std::string_view(positional).substr(0, end), written == 1 ? "," : "", named);
}

// In torch.fx each of several results has a node of its own that takes it. Those
// that are not taken have names like "topk_unused_1" here.
size_t FxText::TakenResults(NodeId id) const {
  const Node& node = graph_[id];
  size_t taken = 0;
  for (uint32_t i = 0; i < node.result_count; ++i)
    taken += !context_.Text(graph_[node.result(i)].name).ends_with(fmt::format("_unused_{}", i));
  return taken;
}

size_t FxText::UserCount(NodeId id) const {
  if (const auto taken = taken_.find(id); taken != taken_.end()) return taken->second;
  const Node& node = graph_[id];
  std::vector<uint32_t> users;
  for (uint32_t i = 0; i < node.result_count; ++i)
    graph_.ForEachUse(node.result(i), [&](Use use) { users.push_back(use.node.index); });
  std::ranges::sort(users);
  return static_cast<size_t>(std::ranges::unique(users).begin() - users.begin());
}

void FxText::AppendValue(ValueId value, std::string& text) const {
  if (!value) {
    text += "None";
    return;
  }
  const auto placeholder = placeholders_.find(value);
  const Value& made = graph_[value];
  Symbol name = placeholder == placeholders_.end() ? made.name : placeholder->second;
  // TorchScript's values often have no name; the call that makes one has.
  if (context_.Text(name).empty() && made.kind == ValueKind::kResult)
    if (const OriginId origin = graph_[made.node].origin) name = context_[origin].node_name;
  text.append("%").append(context_.Text(name));
}

// Appends one argument as Python prints it.
struct FxText::ArgumentWriter {
  const FxText& self;
  NodeId node;
  std::string& text;

  void operator()(None) const { text += "None"; }
  void operator()(bool v) const { text += v ? "True" : "False"; }
  void operator()(int64_t v) const { Append("{}", v); }
  void operator()(double v) const { text += FloatText(v); }
  void operator()(std::complex<double> v) const {
    Append("({}{}{}j)", v.real(), std::signbit(v.imag()) ? "-" : "+", std::abs(v.imag()));
  }
  void operator()(const std::string& v) const { text += v; }
  void operator()(DType v) const { Append("torch.{}", Info(v).torch_name); }
  void operator()(Layout) const { text += "torch.strided"; }
  void operator()(MemoryFormat v) const {
    Append("torch.{}", TorchName(v));
  }
  void operator()(const Device& v) const { text += v.text; }
  void operator()(const Ints& v) const { AppendList(v, *this); }
  void operator()(const Floats& v) const { AppendList(v, *this); }
  void operator()(const Bools& v) const { AppendList(v, *this); }
  void operator()(const Strings& v) const { AppendList(v, *this); }
  void operator()(Operand v) const { self.AppendValue(self.graph_.operand(node, v.index), text); }
  void operator()(const OperandList& list) const {
    AppendList(list, [this](const ListElement& element) { std::visit(*this, element); });
  }
  void operator()(BlockId v) const { Append("%body_{}", v.index); }
  void operator()(DataId) const { text += "<tensor>"; }
  void operator()(TypeId) const { text += "<type>"; }

  template <class... Values>
  void Append(fmt::format_string<const Values&...> format, const Values&... values) const {
    fmt::format_to(std::back_inserter(text), format, values...);
  }
  template <class Items, class AppendItem>
  void AppendList(const Items& items, const AppendItem& append) const {
    // Each of the nodes that a stack of a thousand tensors becomes has the text.
    constexpr size_t kMostItems = 64;
    text += '[';
    size_t count = 0;
    for (const auto& item : items) {
      if (count++ > 0) text += ", ";
      if (count > kMostItems) {
        text += "...";
        break;
      }
      append(item);
    }
    text += ']';
  }
};

void FxText::AppendArgument(NodeId node, const Attribute& attribute, std::string& text) const {
  std::visit(ArgumentWriter{*this, node, text}, attribute);
}

}  // namespace flambeau
