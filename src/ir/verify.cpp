#include "ir/verify.h"

#include <unordered_set>

#include "ir/print.h"

namespace flambeau {
namespace {

constexpr size_t kMaxReports = 20;

class Verifier {
 public:
  Verifier(const Graph& graph, Sink& sink, const VerifyOptions& options)
      : graph_(graph),
        sink_(sink),
        options_(options),
        definition_(graph.value_capacity()),
        uses_(graph.value_capacity()),
        entered_(graph.block_capacity()) {}

  Status Run();

 private:
  struct Frame {
    BlockId block;
    NodeId next;                  // to be checked
    NodeId node;                  // whose bodies are being entered
    size_t attribute = 0;         // the next one of `node`
    NodeId previous;              // in the list
    std::vector<ValueId> values;  // that go out of scope with the block
  };

  void Fault(std::string message, NodeId node = {});
  bool Exists(ValueId id) const { return id.index < graph_.value_capacity(); }
  void Enter(BlockId block, NodeId owner);
  void Leave();
  void CheckNode(NodeId id);
  void CheckOperands(NodeId id);
  void CheckAttributes(NodeId id);
  void CheckUses();
  void CheckConstants();
  void Define(ValueId id);
  void Label(Symbol name, bool of_value, NodeId node);

  const Graph& graph_;
  Sink& sink_;
  VerifyOptions options_;
  size_t faults_ = 0;
  std::vector<Frame> frames_;
  std::vector<BlockId> definition_;  // the block in which a visible value is defined; invalid where it is not visible
  std::vector<uint32_t> uses_;       // operand slots seen, by value
  std::vector<bool> entered_;
  std::unordered_set<Symbol> value_names_, node_names_;
};

void Verifier::Fault(std::string message, NodeId node) {
  if (++faults_ > kMaxReports) return;
  Location location;
  if (node && node.index < graph_.node_capacity()) {
    location.operation = PrintNode(graph_, node);
    if (const OriginId origin = graph_[node].origin) {
      location.module = graph_.context().Text(graph_.context()[origin].module_path());
      location.source = SourceLine(graph_.context().Text(graph_.context()[origin].stack_trace));
    }
  }
  sink_.Error(DiagnosticKind::kInternalError, "broken graph: " + std::move(message), std::move(location));
}

void Verifier::Label(Symbol name, bool of_value, NodeId node) {
  if (!options_.unique_names || !name || name.index == 0) return;
  if (!(of_value ? value_names_ : node_names_).insert(name).second)
    Fault("the name `" + std::string(graph_.context().Text(name)) + "` occurs twice", node);
}

void Verifier::Define(ValueId id) {
  definition_[id.index] = frames_.back().block;
  frames_.back().values.push_back(id);
  Label(graph_[id].name, true, graph_[id].kind == ValueKind::kResult ? graph_[id].node : NodeId{});
  if (!graph_[id].type) Fault("a value has no type", graph_[id].node);
}

void Verifier::Enter(BlockId block, NodeId owner) {
  if (block.index >= graph_.block_capacity()) return Fault("a body does not exist", owner);
  if (entered_[block.index]) return Fault("a body is held twice", owner);
  entered_[block.index] = true;
  const Block& b = graph_[block];
  if (b.owner != owner) Fault("a body has another owner than the node that holds it", owner);
  frames_.push_back({block, b.first, {}, 0, {}, {}});
  for (size_t i = 0; i < b.inputs.size(); ++i) {
    const ValueId input = b.inputs[i];
    if (!Exists(input)) {
      Fault("an input does not exist", owner);
      continue;
    }
    const Value& value = graph_[input];
    if (value.kind != ValueKind::kInput || value.block != block || value.index != i)
      Fault("input " + std::to_string(i) + " of a block is the input of another place", owner);
    Define(input);
  }
}

void Verifier::Leave() {
  const Frame& frame = frames_.back();
  const Block& block = graph_[frame.block];
  if (block.last != frame.previous) Fault("a block's last node is not the end of its list", block.owner);
  const NodeId terminator = block.terminator;
  if (!terminator || terminator.index >= graph_.node_capacity() || graph_[terminator].erased ||
      graph_[terminator].block != frame.block || graph_[terminator].result_count != 0) {
    Fault("a block has no terminator of its own", block.owner);
  } else {
    CheckOperands(terminator);
    for (ValueId output : graph_.operands(terminator))
      if (options_.own_outputs && output && Exists(output) && block.owner && definition_[output.index] != frame.block)
        Fault("a body yields a value that is defined outside of it", block.owner);
  }
  for (ValueId value : frame.values) definition_[value.index] = {};
  frames_.pop_back();
}

void Verifier::CheckOperands(NodeId id) {
  for (uint32_t i = 0; i < graph_.operand_count(id); ++i) {
    const ValueId operand = graph_.operand(id, i);
    if (!operand) continue;
    const std::string which = "operand " + std::to_string(i);
    if (!Exists(operand)) {
      Fault(which + " does not exist", id);
      continue;
    }
    ++uses_[operand.index];
    if (graph_[operand].kind != ValueKind::kConstant && !definition_[operand.index])
      Fault(which + " is not defined before it is used, or not visible here", id);
  }
}

void Verifier::CheckAttributes(NodeId id) {
  const Node& node = graph_[id];
  auto check = [&](Operand operand) {
    if (operand.index >= node.operand_count)
      Fault("an argument is operand " + std::to_string(operand.index) + " of " + std::to_string(node.operand_count),
            id);
  };
  for (size_t i = 0; i < node.attributes.size(); ++i) {
    const Attribute& value = node.attributes[i].value;
    // Pairwise, because attributes are few; FindAttribute scans them too.
    for (size_t j = 0; j < i; ++j)
      if (node.attributes[j].name == node.attributes[i].name)
        Fault("the attribute `" + std::string(graph_.context().Text(node.attributes[i].name)) + "` occurs twice", id);
    if (const auto* operand = std::get_if<Operand>(&value)) check(*operand);
    if (const auto* list = std::get_if<OperandList>(&value))
      for (const ListElement& element : *list)
        if (const auto* operand = std::get_if<Operand>(&element)) check(*operand);
  }
}

void Verifier::CheckNode(NodeId id) {
  Frame& frame = frames_.back();
  const Node& node = graph_[id];
  if (node.erased) Fault("an erased node is in a list", id);
  if (node.block != frame.block) Fault("a node is in the list of another block", id);
  frame.previous = id;
  frame.next = node.next;
  frame.node = id;
  frame.attribute = 0;
  Label(node.name, false, id);
  CheckOperands(id);
  CheckAttributes(id);
}

// What the walk has seen against the lists of uses.
void Verifier::CheckUses() {
  for (uint32_t i = 0; i < graph_.value_capacity(); ++i) {
    const ValueId value{i};
    uint32_t listed = 0;
    graph_.ForEachUse(value, [&](Use use) {
      ++listed;
      const bool right = use.node.index < graph_.node_capacity() && use.operand < graph_.operand_count(use.node) &&
                         graph_.operand(use.node, use.operand) == value;
      if (!right) return Fault("a use is listed of an operand that is another value", use.node);
      const Node& node = graph_[use.node];
      if (node.erased) return Fault("a use is listed of an erased node", use.node);
      if (!entered_[node.block.index]) Fault("a value is used in a block that no node holds", use.node);
    });
    if (listed < uses_[i])
      Fault("a value lists " + std::to_string(listed) + " uses of " + std::to_string(uses_[i]), graph_[value].node);
  }
}

void Verifier::CheckConstants() {
  const Context& context = graph_.context();
  for (uint32_t i = 0; i < graph_.value_capacity(); ++i) {
    const Value& value = graph_[ValueId{i}];
    if (value.kind != ValueKind::kConstant || uses_[i] == 0) continue;
    Label(value.name, true, {});
    const std::string name = "the constant `" + std::string(context.Text(value.name)) + "` ";
    if (!value.type || !value.data) {
      Fault(name + "has no type or no data");
      continue;
    }
    const Type& type = context[value.type];
    const TensorData& data = context[value.data];
    std::vector<Expr> sizes;
    for (int64_t size : data.sizes) sizes.push_back(graph_.context().exprs().Constant(size));
    if (!type.is_tensor() || type.dtype != data.dtype || !type.ranked || type.sizes != sizes)
      Fault(name + "has another type than its bytes");
    if (!data.source || (data.source->available() &&
                         !FitsInSource(data.dtype, data.sizes, data.strides, data.offset, data.source->size())))
      Fault(name + "reaches past the end of its bytes");
  }
}

Status Verifier::Run() {
  Enter(graph_.main(), {});
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.node) {
      const auto& attributes = graph_[frame.node].attributes;
      const NodeId node = frame.node;
      if (frame.attribute < attributes.size()) {
        if (const auto* body = std::get_if<BlockId>(&attributes[frame.attribute++].value)) Enter(*body, node);
        continue;
      }
      frame.node = {};
      for (uint32_t i = 0; i < graph_[node].result_count; ++i) {
        const ValueId result = graph_.result(node, i);
        const Value& value = graph_[result];
        if (value.kind != ValueKind::kResult || value.node != node || value.index != i)
          Fault("a result belongs to another node", node);
        Define(result);
      }
    } else if (frame.next) {
      // A list that returns to an earlier node would not end.
      const NodeId next = frame.next;
      if (next.index >= graph_.node_capacity() || graph_[next].previous != frame.previous) {
        Fault("a list of nodes is torn", frame.previous);
        frame.next = {};
      } else {
        CheckNode(next);
      }
    } else {
      Leave();
    }
  }
  if (faults_ == 0) CheckUses();
  CheckConstants();
  return faults_ == 0 ? Status() : kFailure;
}

}  // namespace

Status VerifyGraph(const Graph& graph, Sink& sink, const VerifyOptions& options) {
  return Verifier(graph, sink, options).Run();
}

}  // namespace flambeau
