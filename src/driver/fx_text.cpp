#include "driver/fx_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <complex>
#include <set>

#include "aten/schema.h"
#include "ir/text_lexer.h"

namespace flambeau {
namespace {

std::string TargetText(std::string_view target) {
  if (target.starts_with("_operator.")) return std::string(target.substr(1));
  return target.starts_with("torch.") ? std::string(target) : fmt::format("torch.ops.{}", target);
}

}  // namespace

FxText::FxText(const Graph& graph, const std::vector<InputSpec>& inputs) : graph_(graph), context_(graph.context()) {
  for (const InputSpec& input : inputs) placeholders_.emplace(input.value, input.name);
}

std::string FxText::operator()(NodeId id) const {
  const Node& node = graph_[id];
  const Origin& origin = context_[node.origin];
  const aten::Schema* schema = aten::FindSchema(graph_.op(id));
  const auto argument = [&](size_t i) {
    return schema != nullptr && i < schema->arguments.size() ? &schema->arguments[i] : nullptr;
  };
  // The capture writes no keyword argument that has its default, and no positional one at the end.
  std::vector<std::string> positional, named;
  size_t written = 0;
  for (size_t i = 0; i < node.attributes.size(); ++i) {
    const auto* formal = argument(i);
    const bool is_default = formal && formal->has_default && node.attributes[i].value == formal->default_value;
    const bool keyword = formal && formal->keyword_only;
    if (keyword && is_default) continue;
    const std::string text = ArgumentText(id, node.attributes[i].value);
    if (keyword) {
      named.push_back(fmt::format("{}: {}", context_.Text(node.attributes[i].name), text));
    } else {
      positional.push_back(text);
      if (!is_default) written = positional.size();
    }
  }
  positional.resize(written);
  return fmt::format("%{} : [num_users={}] = call_function[target={}](args = ({}{}), kwargs = {{{}}})",
                     context_.Text(origin.node_name), UserCount(id), TargetText(context_.Text(origin.target)),
                     fmt::join(positional, ", "), positional.size() == 1 ? "," : "", fmt::join(named, ", "));
}

// In torch.fx each of several results has a node of its own that takes it. Those
// that are not taken have names like "topk_unused_1" here.
size_t FxText::UserCount(NodeId id) const {
  const Node& node = graph_[id];
  if (node.result_count > 1) {
    size_t taken = 0;
    for (uint32_t i = 0; i < node.result_count; ++i)
      taken += !context_.Text(graph_[node.result(i)].name).ends_with(fmt::format("_unused_{}", i));
    return taken;
  }
  std::set<uint32_t> users;
  for (uint32_t i = 0; i < node.result_count; ++i)
    graph_.ForEachUse(node.result(i), [&](Use use) { users.insert(use.node.index); });
  return users.size();
}

std::string FxText::ValueText(ValueId value) const {
  if (!value) return "None";
  const auto placeholder = placeholders_.find(value);
  return fmt::format("%{}", context_.Text(placeholder == placeholders_.end() ? graph_[value].name : placeholder->second));
}

std::string FxText::ArgumentText(NodeId node, const Attribute& attribute) const {
  struct Visitor {
    const FxText& self;
    NodeId node;
    std::string operator()(None) const { return "None"; }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return FloatText(v); }
    std::string operator()(std::complex<double> v) const {
      return fmt::format("({}{}{}j)", v.real(), std::signbit(v.imag()) ? "-" : "+", std::abs(v.imag()));
    }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(DType v) const { return fmt::format("torch.{}", Info(v).torch_name); }
    std::string operator()(Layout) const { return "torch.strided"; }
    std::string operator()(MemoryFormat v) const {
      static constexpr std::string_view kNames[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
      return fmt::format("torch.{}", kNames[static_cast<size_t>(v)]);
    }
    std::string operator()(const Device& v) const { return v.text; }
    std::string operator()(const Ints& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
    std::string operator()(const Floats& v) const {
      std::string text;
      for (double each : v) text += fmt::format("{}{}", text.empty() ? "" : ", ", FloatText(each));
      return "[" + text + "]";
    }
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
    std::string operator()(TypeId) const { return "<type>"; }
  };
  return std::visit(Visitor{*this, node}, attribute);
}

}  // namespace flambeau
