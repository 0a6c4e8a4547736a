// What rewrites of ONNX graphs look at and do: questions about values, typed
// nodes inserted in the middle, constants, and replacement that keeps the names
// of outputs.
//
// It notes which nodes each change concerns, for the worklist (rewrite.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/attribute_list.h"
#include "pass/pass.h"

namespace flambeau {

// Tensors of at least this many bytes are weights: they are read and written
// in pieces, and no pass makes more of them than there were.
inline constexpr uint64_t kLargeBytes = 64 << 10;

class Editor {
 public:
  Editor(Graph& graph, const PassContext& context);

  Graph& graph() const { return graph_; }
  Context& context() const { return graph_.context(); }
  ExprPool& exprs() const { return graph_.context().exprs(); }
  int opset() const { return opset_; }
  bool keep_weights() const { return keep_weights_; }

  // --- reading ----------------------------------------------------------------
  // Operand `i`; invalid where it is absent.
  ValueId Operand(NodeId node, uint32_t i) const {
    return i < graph_.operand_count(node) ? graph_.operand(node, i) : ValueId{};
  }
  const Type& type(ValueId value) const { return graph_.type(value); }
  // The node that gives the value, if its operator is `op`; else invalid.
  NodeId Producer(ValueId value, std::string_view op) const;
  int64_t Int(NodeId node, std::string_view attribute, int64_t otherwise) const;
  double Float(NodeId node, std::string_view attribute, double otherwise) const;
  const Ints* IntList(NodeId node, std::string_view attribute) const;
  // The bytes of a constant; nullptr where the value is none.
  const TensorData* Data(ValueId value) const;
  // The elements of an integer constant, or of a value whose contents are known.
  std::optional<Ints> KnownInts(ValueId value) const;
  // The attribute's ints, or those of operand `i`: opsets moved axes from one
  // to the other. nullopt where they are not known; `*absent` where not given.
  std::optional<Ints> IntsOf(NodeId node, std::string_view attribute, uint32_t i, bool* absent) const;
  // The only element of a real constant. Of integers from 2⁵³ on, the nearest double.
  std::optional<double> KnownNumber(ValueId value) const;
  // Both are tensors of the same element type and provably of the same sizes.
  bool SameType(ValueId a, ValueId b) const;
  std::optional<Ints> ConstantSizes(ValueId value) const;
  // Whether only one operand of one node is that value; outputs count as uses.
  bool HasOneUse(ValueId value) const { return graph_.HasOneUse(value); }

  // --- changing ---------------------------------------------------------------
  // A node in front of `position`, of the same origin, its results' types inferred.
  NodeId InsertNode(NodeId position, std::string_view op, std::span<const ValueId> operands,
                    std::vector<NamedAttribute> attributes, size_t results = 1);
  ValueId Insert(NodeId position, std::string_view op, std::initializer_list<ValueId> operands,
                 const onnx::AttributeList& attributes = {});
  ValueId AddConstant(TensorData data, Symbol name = {});
  ValueId AddInts(std::span<const int64_t> values);  // int64, 1-D
  void SetOperand(NodeId node, uint32_t i, ValueId value);
  // `to` takes the place of `from`, its name too if that is an output's. Where
  // `to` can't be that output (an input, another output), an Identity is.
  // False where nothing was left to do.
  bool Replace(ValueId from, ValueId to);
  bool Replace(NodeId node, ValueId to) { return Replace(graph_.result(node), to); }
  // A constant for an equal one.
  void ReplaceConstant(ValueId from, ValueId to);
  // Erases a node without uses.
  void Erase(NodeId node);

  // Whether constants may take that many bytes more; what the graph may grow by
  // is limited.
  bool SpendGrowth(uint64_t bytes) {
    if (bytes > growth_left_) return false;
    growth_left_ -= bytes;
    return true;
  }

  // Nodes that changed, or whose operands or uses did, since the last call.
  std::vector<NodeId> TakeTouched() { return std::exchange(touched_, {}); }
  bool changed() const { return changed_; }

 private:
  bool IsOutput(ValueId value) const { return value.index < is_output_.size() && is_output_[value.index]; }
  bool CanBeOutput(ValueId value, BlockId block) const;
  void SetOutput(ValueId value, bool is_output);
  void TouchUsers(ValueId value);
  // What is more exactly known of one of two equal values is known of the other.
  void RefineType(ValueId to, ValueId from);

  Graph& graph_;
  int opset_;
  bool keep_weights_;
  bool changed_ = false;
  uint64_t growth_left_ = 16 << 20;
  std::vector<bool> is_output_;  // of its own block
  std::vector<NodeId> touched_;
};

// Whether each value of `from` is one of `to`, bit for bit.
bool IsLossless(DType from, DType to);

}  // namespace flambeau
