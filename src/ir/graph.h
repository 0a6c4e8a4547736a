// A graph of nodes in blocks: the one IR of ATen and of ONNX programs.
//
// Handles, not pointers: a Graph is copied by `Graph before = graph;`, and the
// same ids work in both. Nodes of a block are a linked list; each operand slot
// is a link in its value's list of uses; so insert, erase and replace are O(1)
// a link. Ids of erased nodes are not reused.
//
// A block is the main graph, a branch or a loop's body. Blocks nest: a node
// holds its bodies as BlockId attributes, and the nodes of a body may use the
// values of the blocks around it directly, as ONNX subgraphs do. What a block
// yields are the operands of its terminator, a node outside the list.
//
// A value is an input of a block, a result of a node, or a constant (a weight,
// an initializer), whose bytes are Context data.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/attribute.h"
#include "ir/context.h"
#include "ir/ids.h"
#include "support/store.h"

namespace flambeau {

struct Node {
  Symbol op;  // "aten::add.Tensor", "Gemm"; of another ONNX domain: "com.microsoft::Gelu"
  Symbol name;
  OriginId origin;
  BlockId block;  // the block whose list it is in
  NodeId previous, next;
  uint32_t first_operand = 0, operand_count = 0;
  uint32_t first_result = 0, result_count = 0;
  bool erased = false;
  std::vector<NamedAttribute> attributes;

  ValueId result(uint32_t i = 0) const { return ValueId{first_result + i}; }
};

enum class ValueKind : uint8_t { kInput, kResult, kConstant };

struct Value {
  ValueKind kind;
  TypeId type;
  Symbol name;      // a label; may be empty, is unique only where the writer made it so
  NodeId node;      // kResult
  BlockId block;    // kInput
  uint32_t index;   // of the result or input
  DataId data;      // kConstant
  uint32_t first_use = UINT32_MAX;
};

struct Block {
  NodeId owner;  // invalid for the main block
  NodeId first, last;
  NodeId terminator;
  std::vector<ValueId> inputs;
};

// Operand `operand` of `node`.
struct Use {
  NodeId node;
  uint32_t operand;
  friend bool operator==(Use, Use) = default;
};

class Graph {
 public:
  explicit Graph(Context* context);

  Context& context() const { return *context_; }
  BlockId main() const { return BlockId{0}; }

  // --- making ---------------------------------------------------------------
  BlockId AddBlock();
  ValueId AddInput(BlockId block, TypeId type, Symbol name = {});
  ValueId AddConstant(DataId data, TypeId type, Symbol name = {});
  // A node at the end of `block`. Operands may be invalid (absent). The node
  // becomes the owner of the blocks among its attributes.
  NodeId Append(BlockId block, Symbol op, std::span<const ValueId> operands, std::vector<NamedAttribute> attributes,
                std::span<const TypeId> results, OriginId origin = {});
  NodeId InsertBefore(NodeId position, Symbol op, std::span<const ValueId> operands,
                      std::vector<NamedAttribute> attributes, std::span<const TypeId> results, OriginId origin = {});
  // The same after `position`; an invalid position means the start of `block`.
  NodeId InsertAfter(BlockId block, NodeId position, Symbol op, std::span<const ValueId> operands,
                     std::vector<NamedAttribute> attributes, std::span<const TypeId> results, OriginId origin = {});
  void SetOutputs(BlockId block, std::span<const ValueId> outputs);
  void AddOutput(BlockId block, ValueId output);

  // --- reading --------------------------------------------------------------
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  const Value& operator[](ValueId id) const { return values_[id]; }
  const Block& operator[](BlockId id) const { return blocks_[id]; }
  std::string_view op(NodeId id) const { return context_->Text(nodes_[id].op); }
  const Type& type(ValueId id) const { return (*context_)[values_[id].type]; }

  uint32_t operand_count(NodeId id) const { return nodes_[id].operand_count; }
  ValueId operand(NodeId id, uint32_t i) const { return slots_[nodes_[id].first_operand + i].value; }
  std::vector<ValueId> operands(NodeId id) const;
  ValueId result(NodeId id, uint32_t i = 0) const { return nodes_[id].result(i); }
  uint32_t output_count(BlockId id) const { return operand_count(blocks_[id].terminator); }
  ValueId output(BlockId id, uint32_t i) const { return operand(blocks_[id].terminator, i); }
  std::vector<ValueId> outputs(BlockId id) const { return operands(blocks_[id].terminator); }
  bool IsTerminator(NodeId id) const { return blocks_[nodes_[id].block].terminator == id; }

  const Attribute* FindAttribute(NodeId id, std::string_view name) const;

  bool HasUses(ValueId id) const { return values_[id].first_use != kNoSlot; }
  bool HasOneUse(ValueId id) const {
    return HasUses(id) && slots_[values_[id].first_use].next == kNoSlot;
  }
  // Uses, newest first. A terminator's operand is a use.
  template <class F>
  void ForEachUse(ValueId id, F f) const {
    for (uint32_t s = values_[id].first_use; s != kNoSlot;) {
      const uint32_t next = slots_[s].next;
      f(Use{slots_[s].user, s - nodes_[slots_[s].user].first_operand});
      s = next;
    }
  }
  // Nodes of one block in order. `f` may erase the node that it is given.
  template <class F>
  void ForEachNode(BlockId block, F f) const {
    for (NodeId id = blocks_[block].first; id;) {
      const NodeId next = nodes_[id].next;
      f(id);
      id = next;
    }
  }
  // Blocks held by a node.
  template <class F>
  void ForEachBody(NodeId id, F f) const {
    for (const NamedAttribute& attribute : nodes_[id].attributes)
      if (const auto* body = std::get_if<BlockId>(&attribute.value)) f(*body);
  }
  // Every block that is reachable from `root`, outer before inner.
  std::vector<BlockId> BlocksWithin(BlockId root) const;
  std::vector<BlockId> AllBlocks() const { return BlocksWithin(main()); }
  // The block in which a value is defined; the main block for constants.
  BlockId BlockOf(ValueId id) const;

  uint32_t node_capacity() const { return nodes_.size(); }    // ids ever given
  uint32_t value_capacity() const { return values_.size(); }
  uint32_t block_capacity() const { return blocks_.size(); }
  uint32_t live_nodes() const { return live_nodes_; }

  // --- changing -------------------------------------------------------------
  void SetOperand(NodeId id, uint32_t i, ValueId value);
  void ReplaceAllUses(ValueId from, ValueId to);
  // The node's results must be unused. Its bodies go with it.
  void Erase(NodeId id);
  void MoveBefore(NodeId id, NodeId position);
  void SetType(ValueId id, TypeId type) { values_[id].type = type; }
  void SetName(ValueId id, Symbol name) { values_[id].name = name; }
  void SetName(NodeId id, Symbol name) { nodes_[id].name = name; }
  void SetOp(NodeId id, Symbol op) { nodes_[id].op = op; }
  void SetOrigin(NodeId id, OriginId origin) { nodes_[id].origin = origin; }
  void SetAttribute(NodeId id, Symbol name, Attribute value);
  void RemoveAttribute(NodeId id, Symbol name);
  void RemoveInputs(BlockId block, const std::vector<bool>& which);  // they must be unused

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  struct Slot {
    ValueId value;
    NodeId user;
    uint32_t previous, next;  // in the value's list of uses
  };

  NodeId Make(BlockId block, Symbol op, std::span<const ValueId> operands, std::vector<NamedAttribute> attributes,
              std::span<const TypeId> results, OriginId origin);
  void Link(NodeId id, NodeId previous, NodeId next);
  void Unlink(NodeId id);
  void SetOperands(NodeId id, std::span<const ValueId> operands);
  void AddUse(uint32_t slot);
  void RemoveUse(uint32_t slot);

  Context* context_;
  Store<NodeId, Node> nodes_;
  Store<ValueId, Value> values_;
  Store<BlockId, Block> blocks_;
  std::vector<Slot> slots_;
  uint32_t live_nodes_ = 0;
};

}  // namespace flambeau
