#include "ir/graph.h"

#include <cassert>

namespace flambeau {

Graph::Graph(Context* context) : context_(context) { AddBlock(); }

BlockId Graph::AddBlock() {
  const BlockId block = blocks_.Add({});
  Node terminator;
  terminator.op = context_->Intern("return");
  terminator.block = block;
  blocks_[block].terminator = nodes_.Add(std::move(terminator));
  return block;
}

ValueId Graph::AddInput(BlockId block, TypeId type, Symbol name) {
  auto& inputs = blocks_[block].inputs;
  const ValueId id =
      values_.Add({ValueKind::kInput, type, name, {}, block, static_cast<uint32_t>(inputs.size()), {}});
  inputs.push_back(id);
  return id;
}

ValueId Graph::AddConstant(DataId data, TypeId type, Symbol name) {
  return values_.Add({ValueKind::kConstant, type, name, {}, {}, 0, data});
}

NodeId Graph::Make(BlockId block, Symbol op, std::span<const ValueId> operands, std::vector<NamedAttribute> attributes,
                   std::span<const TypeId> results, OriginId origin) {
  Node node;
  node.op = op;
  node.origin = origin;
  node.block = block;
  node.attributes = std::move(attributes);
  node.first_result = values_.size();
  node.result_count = static_cast<uint32_t>(results.size());
  const NodeId id = nodes_.Add(std::move(node));
  for (uint32_t i = 0; i < results.size(); ++i) values_.Add({ValueKind::kResult, results[i], {}, id, {}, i, {}});
  SetOperands(id, operands);
  ForEachBody(id, [&](BlockId body) { blocks_[body].owner = id; });
  ++live_nodes_;
  return id;
}

void Graph::SetOperands(NodeId id, std::span<const ValueId> operands) {
  Node& node = nodes_[id];
  for (uint32_t i = 0; i < node.operand_count; ++i) RemoveUse(node.first_operand + i);
  node.operand_count = static_cast<uint32_t>(operands.size());
  node.first_operand = static_cast<uint32_t>(slots_.size());
  for (ValueId value : operands) {
    slots_.push_back({value, id, kNoSlot, kNoSlot});
    AddUse(static_cast<uint32_t>(slots_.size() - 1));
  }
}

void Graph::AddUse(uint32_t slot) {
  Slot& s = slots_[slot];
  if (!s.value) return;
  uint32_t& head = values_[s.value].first_use;
  s.previous = kNoSlot;
  s.next = head;
  if (head != kNoSlot) slots_[head].previous = slot;
  head = slot;
}

void Graph::RemoveUse(uint32_t slot) {
  Slot& s = slots_[slot];
  if (!s.value) return;
  (s.previous != kNoSlot ? slots_[s.previous].next : values_[s.value].first_use) = s.next;
  if (s.next != kNoSlot) slots_[s.next].previous = s.previous;
  s.value = {};
}

void Graph::Link(NodeId id, NodeId previous, NodeId next) {
  Node& node = nodes_[id];
  Block& block = blocks_[node.block];
  node.previous = previous;
  node.next = next;
  (previous ? nodes_[previous].next : block.first) = id;
  (next ? nodes_[next].previous : block.last) = id;
}

void Graph::Unlink(NodeId id) {
  const Node& node = nodes_[id];
  Block& block = blocks_[node.block];
  (node.previous ? nodes_[node.previous].next : block.first) = node.next;
  (node.next ? nodes_[node.next].previous : block.last) = node.previous;
}

NodeId Graph::Append(BlockId block, Symbol op, std::span<const ValueId> operands,
                     std::vector<NamedAttribute> attributes, std::span<const TypeId> results, OriginId origin) {
  const NodeId id = Make(block, op, operands, std::move(attributes), results, origin);
  Link(id, blocks_[block].last, {});
  return id;
}

NodeId Graph::InsertBefore(NodeId position, Symbol op, std::span<const ValueId> operands,
                           std::vector<NamedAttribute> attributes, std::span<const TypeId> results, OriginId origin) {
  const NodeId id = Make(nodes_[position].block, op, operands, std::move(attributes), results, origin);
  Link(id, nodes_[position].previous, position);
  return id;
}

NodeId Graph::InsertAfter(BlockId block, NodeId position, Symbol op, std::span<const ValueId> operands,
                          std::vector<NamedAttribute> attributes, std::span<const TypeId> results, OriginId origin) {
  const NodeId id = Make(block, op, operands, std::move(attributes), results, origin);
  Link(id, position, position ? nodes_[position].next : blocks_[block].first);
  return id;
}

void Graph::SetOutputs(BlockId block, std::span<const ValueId> outputs) {
  SetOperands(blocks_[block].terminator, outputs);
}

void Graph::AddOutput(BlockId block, ValueId output) {
  std::vector<ValueId> all = outputs(block);
  all.push_back(output);
  SetOutputs(block, all);
}

std::vector<ValueId> Graph::operands(NodeId id) const {
  std::vector<ValueId> list(operand_count(id));
  for (uint32_t i = 0; i < list.size(); ++i) list[i] = operand(id, i);
  return list;
}

const Attribute* Graph::FindAttribute(NodeId id, std::string_view name) const {
  for (const NamedAttribute& attribute : nodes_[id].attributes)
    if (context_->Text(attribute.name) == name) return &attribute.value;
  return nullptr;
}

std::vector<BlockId> Graph::BlocksWithin(BlockId root) const {
  std::vector<BlockId> found{root};
  if (blocks_.size() == 1) return found;  // no node has a body
  for (size_t i = 0; i < found.size(); ++i)
    ForEachNode(found[i], [&](NodeId id) { ForEachBody(id, [&](BlockId body) { found.push_back(body); }); });
  return found;
}

BlockId Graph::BlockOf(ValueId id) const {
  const Value& value = values_[id];
  switch (value.kind) {
    case ValueKind::kInput: return value.block;
    case ValueKind::kResult: return nodes_[value.node].block;
    case ValueKind::kConstant: break;
  }
  return main();
}

void Graph::SetOperand(NodeId id, uint32_t i, ValueId value) {
  const uint32_t slot = nodes_[id].first_operand + i;
  RemoveUse(slot);
  slots_[slot].value = value;
  AddUse(slot);
}

void Graph::ReplaceAllUses(ValueId from, ValueId to) {
  if (from == to) return;
  uint32_t& head = values_[from].first_use;
  while (head != kNoSlot) {
    const uint32_t slot = head;
    RemoveUse(slot);
    slots_[slot].value = to;
    AddUse(slot);
  }
}

void Graph::Erase(NodeId id) {
  // Bodies are erased with an explicit stack: their nesting is input-shaped.
  std::vector<NodeId> doomed{id};
  for (size_t i = 0; i < doomed.size(); ++i)
    ForEachBody(doomed[i], [&](BlockId body) {
      ForEachNode(body, [&](NodeId inner) { doomed.push_back(inner); });
      doomed.push_back(blocks_[body].terminator);
    });
  for (auto it = doomed.rbegin(); it != doomed.rend(); ++it) {
    Node& node = nodes_[*it];
    for (uint32_t i = 0; i < node.operand_count; ++i) RemoveUse(node.first_operand + i);
  }
  for (NodeId each : doomed) {
    Node& node = nodes_[each];
    for (uint32_t i = 0; i < node.result_count; ++i)
      assert(!HasUses(node.result(i)) && "erasing a node whose results are still used");
    if (!IsTerminator(each)) {
      Unlink(each);
      --live_nodes_;
    }
    node.erased = true;
  }
  for (NodeId each : doomed) nodes_[each].attributes = {};
}

void Graph::MoveBefore(NodeId id, NodeId position) {
  Unlink(id);
  nodes_[id].block = nodes_[position].block;
  Link(id, nodes_[position].previous, position);
}

void Graph::SetAttribute(NodeId id, Symbol name, Attribute value) {
  if (const auto* body = std::get_if<BlockId>(&value)) blocks_[*body].owner = id;
  for (NamedAttribute& attribute : nodes_[id].attributes) {
    if (attribute.name != name) continue;
    attribute.value = std::move(value);
    return;
  }
  nodes_[id].attributes.push_back({name, std::move(value)});
}

void Graph::RemoveAttribute(NodeId id, Symbol name) {
  std::erase_if(nodes_[id].attributes, [&](const NamedAttribute& attribute) { return attribute.name == name; });
}

void Graph::RemoveInputs(BlockId block, const std::vector<bool>& which) {
  auto& inputs = blocks_[block].inputs;
  assert(which.size() == inputs.size());
  size_t kept = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    assert(!which[i] || !HasUses(inputs[i]));
    if (which[i]) continue;
    values_[inputs[i]].index = static_cast<uint32_t>(kept);
    inputs[kept++] = inputs[i];
  }
  inputs.resize(kept);
}

}  // namespace flambeau
