#include "onnx/names.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

namespace flambeau::onnx {
namespace {

// The names of one kind of thing; ONNX lets nodes and values be called alike.
class NameSpace {
 public:
  explicit NameSpace(Context& context) : context_(context) {}

  // `wanted` if it is free, else with the first free `_1`, `_2`, …
  Symbol Claim(Symbol wanted) {
    if (Take(wanted)) return wanted;
    const std::string_view base = context_.Text(wanted);
    for (uint32_t& suffix = next_suffix_[wanted];;) {
      const Symbol candidate = context_.Intern(fmt::format("{}_{}", base, ++suffix));
      if (Take(candidate)) return candidate;
    }
  }
  // False if it is taken.
  bool Take(Symbol name) {
    if (name.index >= taken_.size()) taken_.resize(name.index * 2 + 64);
    if (taken_[name.index]) return false;
    return taken_[name.index] = true;
  }

 private:
  Context& context_;
  std::vector<bool> taken_;
  std::unordered_map<Symbol, uint32_t> next_suffix_;
};

// Identity takes lists from opset 14 on; before, what is put at the end of one is taken away again.
ValueId CopyOfList(Graph& graph, BlockId block, ValueId list) {
  const TypeId type = graph[list].type;
  TensorData zero{.dtype = graph.type(list).dtype};
  zero.source = MakeBufferSource(std::vector<std::byte>(zero.byte_size()));
  const TypeId scalar = graph.context().Intern(Type::OfTensor(zero.dtype, {}));
  const ValueId operands[] = {list, graph.AddConstant(graph.context().Add(zero), scalar, {})};
  auto append = [&](std::string_view op, std::span<const ValueId> inputs) {
    return graph.result(graph.Append(block, graph.context().Intern(op), inputs, {}, {&type, 1}));
  };
  const ValueId longer = append("SequenceInsert", operands);
  return append("SequenceErase", {&longer, 1});
}

// The list of which the value is a copy, or itself: a pass may have put an Identity at the end of a graph.
ValueId WithoutIdentity(Graph& graph, ValueId list) {
  if (graph[list].kind != ValueKind::kResult || graph.op(graph[list].node) != "Identity") return list;
  const NodeId node = graph[list].node;
  const ValueId same = graph.operand(node, 0);
  if (graph[list].name && graph[list].name != Symbol{0} && !graph[same].name) graph.SetName(same, graph[list].name);
  graph.ReplaceAllUses(list, same);
  graph.Erase(node);
  return same;
}

// Makes each output of each graph a result of that graph, and distinct.
void SeparateOutputs(Graph& graph, int opset) {
  const Symbol identity = graph.context().Intern("Identity");
  constexpr int kIdentityOfLists = 14;
  std::vector<bool> is_output(graph.value_capacity());
  for (BlockId block : graph.AllBlocks()) {
    const NodeId terminator = graph[block].terminator;
    for (uint32_t i = 0; i < graph.operand_count(terminator); ++i) {
      ValueId output = graph.operand(terminator, i);
      if (!output) continue;
      if (opset < kIdentityOfLists && graph.type(output).kind == TypeKind::kSequence) output = WithoutIdentity(graph, output);
      if (graph[output].kind == ValueKind::kResult && graph.BlockOf(output) == block && !is_output[output.index]) {
        is_output[output.index] = true;
        continue;
      }
      const TypeId type = graph[output].type;
      const bool list = graph.type(output).kind == TypeKind::kSequence && opset < kIdentityOfLists;
      const ValueId copy = list ? CopyOfList(graph, block, output)
                                : graph.result(graph.Append(block, identity, std::span(&output, 1), {}, std::span(&type, 1)));
      graph.SetOperand(terminator, i, copy);
      if (const Symbol name = graph[output].name; block == graph.main() && name && name != Symbol{0})
        graph.SetName(copy, graph.context().Intern(fmt::format("{}_out", graph.context().Text(name))));
    }
  }
}

class Namer {
 public:
  Namer(Graph& graph, const InterfaceNames& names, Sink& sink)
      : graph_(graph),
        context_(graph.context()),
        wishes_(names),
        sink_(sink),
        nodes_(context_),
        values_(context_),
        named_(graph.value_capacity()) {
    // An absent name means an absent value.
    nodes_.Take(Symbol{0});
    values_.Take(Symbol{0});
  }

  Status Run() {
    FLAMBEAU_CHECK_OK(TakeWishes());
    const BlockId main = graph_.main();
    for (ValueId input : graph_[main].inputs) NameValue(input, [] { return "input"; });
    for (ValueId id{0}; id.index < graph_.value_capacity(); ++id.index)
      if (graph_[id].kind == ValueKind::kConstant && graph_.HasUses(id)) NameValue(id, [] { return "constant"; });
    NameOutputs();
    const std::vector<BlockId> blocks = graph_.AllBlocks();
    // What has a name comes before what is given one.
    for (BlockId block : blocks)
      graph_.ForEachNode(block, [&](NodeId node) {
        if (graph_[node].name && graph_[node].name != Symbol{0}) NameNode(node, graph_[node].name);
      });
    for (BlockId block : blocks) NameBlock(block);
    return {};
  }

 private:
  // --- the caller's names -----------------------------------------------------
  Status TakeWishes() {
    const BlockId main = graph_.main();
    std::vector<ValueId> inputs = graph_[main].inputs;
    std::unordered_set<uint32_t> weights;
    for (ValueId weight : wishes_.weights) weights.insert(weight.index);
    std::erase_if(inputs, [&](ValueId input) { return weights.contains(input.index); });
    inputs.insert(inputs.end(), wishes_.weights.begin(), wishes_.weights.end());
    FLAMBEAU_CHECK_OK(TakeWishes("input_names", wishes_.inputs, inputs));
    return TakeWishes("output_names", wishes_.outputs, graph_.outputs(main));
  }
  Status TakeWishes(std::string_view option, const std::vector<std::string>& wishes,
                    const std::vector<ValueId>& values) {
    if (wishes.size() > values.size()) {
      return sink_.Error(DiagnosticKind::kBadOption,
                         fmt::format("{} has {} names, but the model has {}", option, wishes.size(), values.size()), {},
                         option == "input_names" ? "inputs come first, then weights" : "a None or a constant is no output");
    }
    for (size_t i = 0; i < wishes.size(); ++i) {
      if (wishes[i].empty() || !values[i]) continue;
      const Symbol wish = context_.Intern(wishes[i]);
      if (!values_.Take(wish)) {
        return sink_.Error(DiagnosticKind::kBadOption,
                           fmt::format("{}: the name '{}' is given twice", option, wishes[i]), {},
                           "inputs and outputs need names that differ");
      }
      SetName(values[i], wish);
    }
    return {};
  }

  // --- values -----------------------------------------------------------------
  void SetName(ValueId value, Symbol name) {
    graph_.SetName(value, name);
    named_[value.index] = true;
  }
  // By its own name, or as `otherwise()` says.
  template <class F>
  void NameValue(ValueId value, F otherwise) {
    if (named_[value.index]) return;
    Symbol wanted = graph_[value].name;
    if (!wanted || wanted == Symbol{0}) wanted = context_.Intern(otherwise());
    SetName(value, values_.Claim(wanted));
  }

  void NameOutputs() {
    const std::vector<ValueId> outputs = graph_.outputs(graph_.main());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i] || named_[outputs[i].index]) continue;
      const std::string_view wish = i < wishes_.program_outputs.size() ? std::string_view(wishes_.program_outputs[i]) : std::string_view();
      const Symbol name = context_.Intern(wish);
      if (!wish.empty() && values_.Take(name)) {
        SetName(outputs[i], name);
      } else {
        NameValue(outputs[i], [&] { return wish.empty() ? "output" : wish; });
      }
    }
  }

  // --- nodes ------------------------------------------------------------------
  void NameNode(NodeId node, Symbol wanted) {
    const Symbol name = nodes_.Claim(wanted);
    if (graph_[node].name != name) graph_.SetName(node, name);
    is_node_named_.resize(std::max<size_t>(is_node_named_.size(), node.index + 1));
    is_node_named_[node.index] = true;
  }

  void NameBlock(BlockId block) {
    if (block != graph_.main()) {
      // Outer blocks come first, so the owner has its name.
      const std::string_view owner = context_.Text(graph_[graph_[block].owner].name);
      for (ValueId input : graph_[block].inputs)
        NameValue(input, [&] { return fmt::format("{}_input_{}", owner, graph_[input].index); });
    }
    graph_.ForEachNode(block, [&](NodeId node) {
      if (node.index >= is_node_named_.size() || !is_node_named_[node.index]) NameNode(node, PathName(node));
      for (uint32_t i = 0; i < graph_[node].result_count; ++i) {
        const ValueId result = graph_.result(node, i);
        // A result that is not wanted has no name.
        if (graph_.type(result).kind == TypeKind::kNone) continue;
        NameValue(result, [&] { return fmt::format("{}_output_{}", context_.Text(graph_[node].name), i); });
      }
    });
  }

  // "/encoder/layers.0/attn/MatMul".
  Symbol PathName(NodeId id) {
    const Node& node = graph_[id];
    // Neighbours mostly come from the same module.
    static const std::vector<ModuleFrame> kNoModules;
    const std::vector<ModuleFrame>& modules = node.origin ? context_[node.origin].modules : kNoModules;
    if (modules != last_modules_) {
      last_modules_ = modules;
      last_path_ = ModulePath(modules);
    }
    std::string_view op = context_.Text(node.op);
    if (const size_t colons = op.rfind("::"); colons != std::string_view::npos) op.remove_prefix(colons + 2);
    std::string text = last_path_;
    text += '/';
    text += op;
    return context_.Intern(text);
  }
  // "/encoder/layers.0/attn".
  std::string ModulePath(const std::vector<ModuleFrame>& modules) const {
    std::string text;
    std::string_view outer;
    for (const ModuleFrame& frame : modules) {
      const std::string_view path = context_.Text(frame.path);
      if (path.empty()) continue;
      const bool within =
          !outer.empty() && path.size() > outer.size() && path.starts_with(outer) && path[outer.size()] == '.';
      text += '/';
      text += within ? path.substr(outer.size() + 1) : path;
      outer = path;
    }
    return text;
  }

  Graph& graph_;
  Context& context_;
  const InterfaceNames& wishes_;
  Sink& sink_;
  NameSpace nodes_, values_;
  std::vector<bool> named_, is_node_named_;
  std::vector<ModuleFrame> last_modules_;
  std::string last_path_;
};

}  // namespace

Status AssignNames(Graph& graph, const InterfaceNames& names, Sink& sink, int opset) {
  SeparateOutputs(graph, opset);
  return Namer(graph, names, sink).Run();
}

}  // namespace flambeau::onnx
