// Makes the nodes of a program pure, one after the other: what each storage
// holds is followed from node to node (storages.h), a write becomes the pure
// operator and a new value, and readers get the value of that point.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/aliasing.h"
#include "aten/program.h"
#include "aten/pure_form.h"
#include "pass/aten/call.h"
#include "pass/aten/storages.h"

namespace flambeau {

class Functionalizer {
 public:
  // A nested graph's inputs may be written only if whoever drives this carries
  // what was written out of it again.
  enum class BodyInputs : uint8_t { kReadOnly, kWritable };

  Functionalizer(Graph& graph, Sink& sink, BodyInputs body_inputs = BodyInputs::kReadOnly)
      : graph_(graph), sink_(sink), body_inputs_(body_inputs), storages_(graph, sink) {}

  // The next node of the program: Resolve, then Apply.
  Status Visit(NodeId node);
  // Replaces the node's operands by their current values; returns the operands
  // as captured.
  std::vector<ValueId> Resolve(NodeId node);
  // What the node does to storages. Its results have their types now.
  Status Apply(NodeId node, std::span<const ValueId> captured);
  // The pure counterpart of a node that writes, after Resolve; its results are
  // the fresh ones, then what is written. nullopt if the node writes nothing.
  std::optional<Result<Call>> PureCallOf(NodeId node, std::span<const ValueId> captured);
  // Erases the nodes that pure ones have replaced.
  void EraseReplaced();

  // What becomes of the shape of an out= argument to which an operator writes a result of these sizes.
  enum class OutShape : uint8_t { kOfResult, kKept, kUnknown };
  OutShape ShapeOfOut(const aten::Schema& schema, ValueId tensor, std::span<const Expr> sizes);

  Storages& storages() { return storages_; }

 private:
  struct Written {
    ValueId tensor;  // as captured
    ViewId view;
    uint32_t place;               // among what the pure operator gives for arguments
    std::vector<Expr> sizes = {};  // what the pure operator gives, where that may be of other sizes than the view
  };

  void VisitViews(NodeId node, const aten::Schema* schema, std::span<const ValueId> captured);
  std::string_view LacksOfMemory(ViewId root, DType dtype) const;
  std::vector<ViewStep> StepsToMemory(ViewId root, ValueId base, DType dtype);
  ValueId MemoryBehind(ValueId tensor, NodeId node);
  Status AddStrided(NodeId node, ValueId tensor);
  Status VisitWrites(NodeId node, const aten::Schema& schema, const aten::Writes& writes,
                     std::span<const ValueId> captured);
  // Results of a node that writes which are no argument of it: new tensors.
  struct Fresh {
    std::vector<uint32_t> results;
    std::vector<TypeId> types;
  };
  Result<Fresh> BindResults(NodeId node, const aten::Schema& schema, std::span<const ValueId> captured, std::span<Written> written);
  Status BindOut(ValueId result, const aten::Schema& schema, Written& out, NodeId node);
  // What the pure operator returns: the fresh results, then from `first_written` on what is written.
  struct PureTypes {
    std::vector<TypeId> all;
    size_t first_written;
  };
  PureTypes TypesOfPure(NodeId node, const aten::Schema& schema, const aten::PureForm& form, const Fresh& fresh,
                        std::vector<Written>& written);
  Status ReplaceByPure(NodeId node, NodeId pure, const Fresh& fresh, std::span<const Written> written, size_t first_written);
  Status VisitMetadata(NodeId node, const aten::Schema& schema, ValueId tensor);
  Status VisitResize(NodeId node, ValueId tensor);
  std::vector<Written> WrittenBy(NodeId node, const aten::Schema& schema, const aten::Writes& writes, std::span<const ValueId> captured);
  Result<Call> PureCall(NodeId node, const aten::Schema& schema, const aten::PureForm& form,
                        std::span<const Written> written);
  Status Store(NodeId node, const Written& written, ValueId value);
  DType PureDtype(NodeId node, const aten::PureForm& form, DType written) const;
  std::vector<ValueId> CapturedElements(NodeId node, uint32_t argument, std::span<const ValueId> captured) const;
  const aten::PureForm* PureFormOf(const aten::Schema& schema, const aten::Writes& writes, uint32_t count);

  Graph& graph_;
  Sink& sink_;
  BodyInputs body_inputs_;
  Storages storages_;
  std::map<std::pair<const aten::Schema*, std::string_view>, std::optional<aten::PureForm>> pure_forms_;
  std::vector<NodeId> replaced_;
};

// Says which weights overlap in memory.
void LinkSharedMemory(const Program::Impl& program, Storages& storages);

// What the program leaves in its inputs and buffers becomes further outputs.
void AddStateOutputs(Program::Impl& program, Storages& storages, Sink& sink);

// A user's operator that returns nothing writes, and an archive does not say where.
bool WritesUnseen(const Graph& graph, NodeId node);

// How many elements a tensor of these sizes has.
Expr ElementCount(std::span<const Expr> sizes, ExprPool& pool);

// In-place operators that change what a tensor object is a view of, not what
// its memory holds.
bool ChangesMetadata(std::string_view base);

}  // namespace flambeau
