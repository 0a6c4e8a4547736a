// Appends calls to the ATen program that a TorchScript program becomes: pure,
// canonical, and with the types of all results.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aten/program.h"
#include "diag/sink.h"
#include "lower/inference.h"
#include "pass/aten/functionalizer.h"
#include "script/regions/facts.h"
#include "script/value.h"

namespace flambeau::script {

class Emitter {
 public:
  Emitter(Program::Impl& program, Heap& heap, Sink& sink, const lower::CustomOperators& custom, int opset);

  // Calls an operator by its full name, with all arguments of its schema, or the
  // first ones where the others have defaults. Lists among the results become
  // cells of the heap. A call of known numbers leaves no node. `recorded`: see Inference.
  Result<Vals> Call(std::string_view op, std::span<const Val> arguments, std::span<const Type> recorded = {});
  Result<Vals> Call(std::string_view op, std::initializer_list<Val> arguments) {
    return Call(op, std::span(arguments.begin(), arguments.size()));
  }
  Result<Val> Call1(std::string_view op, std::span<const Val> arguments);
  Result<Val> Call1(std::string_view op, std::initializer_list<Val> arguments) {
    return Call1(op, std::span(arguments.begin(), arguments.size()));
  }
  // A number as a 0-d tensor, numbers as a 1-d one: of the dtype that
  // torch.tensor gives them. `floats`: that of floats; torch's default if not given.
  Result<Val> NumberTensor(const Val& number, std::optional<DType> floats = {});
  Result<Val> NumbersTensor(const Vals& numbers, std::optional<DType> floats = {});
  DType default_dtype() const { return program_.default_dtype; }

  // The current value, read at the end of the current block.
  ValueId Read(ValueId tensor);
  ValueId Read(ViewId view);
  // The storage gets a new value, as a whole.
  void Write(StorageId storage, ValueId value);
  // A value of the program for a constant number, or for a member of an enum.
  ValueId Materialise(const Val& number);
  // The size as a number, computed from the sizes of the program's inputs; nullopt where it does not follow from them.
  Result<std::optional<Val>> ValueOfSize(Expr size);
  // The number that stands for the member where only a run knows which one it is; no two members share one.
  int64_t NumberOf(const EnumVal& member);
  // A list of tensors or numbers as a value of that type, kSequence.
  Result<ValueId> Sequence(const Cell& list, const Type& type);
  // Whether they are tensors, and no two of them share memory.
  bool AreDistinct(const Vals& tensors);
  // A value that a program gives out, and that is None unless `present`: as a value of kind kOptional or kOptionalSequence.
  ValueId Optional(ValueId present, ValueId value);
  // The value of an element that is known to be a tensor or a number.
  const Type& TypeOf(ValueId value) const { return graph_.type(value); }

  // A nested graph: what is emitted between the two belongs to it.
  BlockId BeginBlock();
  void EndBlock(std::span<const ValueId> outputs);
  // Whether there is a block around the one at hand.
  bool IsNested() const { return open_.size() > 1; }
  // Leaves the block, and those that are open within it, to come back to it later.
  void LeaveBlock(BlockId block) {
    while (open_.back().block != block) open_.pop_back();
    open_.pop_back();
  }
  // Erases what was emitted into a block that nothing refers to.
  void DiscardBlock(BlockId block);
  // The block that BeginBlock would make next. DiscardBlocksFrom erases it and all begun since; nothing else may refer to them.
  BlockId NextBlock() const { return BlockId{graph_.block_capacity()}; }
  void DiscardBlocksFrom(BlockId first);
  // The same of those that no node has, as what failed leaves them.
  void DiscardLeftBlocksFrom(BlockId first);
  void ReopenBlock(BlockId block) { open_.push_back({block, graph_[block].last}); }
  ValueId AddBlockInput(Type type);
  // prim::If and prim::Loop. The results have been introduced.
  std::vector<ValueId> CallWithBlocks(std::string_view op, std::vector<ValueId> operands,
                                      std::vector<NamedAttribute> attributes, std::span<const Type> results);

  // An input of the program.
  ValueId AddInput(InputKind kind, std::string_view name, Type type, std::string_view target = {});
  // A weight.
  ValueId AddTensor(const TensorData& data, InputKind kind, std::string_view target, bool persistent);
  // Finds which of the weights that were added overlap in memory.
  void LinkTensors() { LinkSharedMemory(program_, storages()); }

  bool IsParameter(ValueId tensor) const;

  Expr FreshSize() { return inference_.FreshSymbol({0, INT64_MAX}); }
  Expr FreshInteger() { return inference_.FreshSymbol({INT64_MIN, INT64_MAX}); }
  Storages& storages() { return functionalizer_.storages(); }
  Facts& facts() { return facts_; }
  std::optional<bool> Known(ValueId condition) const { return facts_.Of(graph_, condition); }
  // The value without the optional around it, where the path at hand says whether it is None.
  Val Settled(const Val& value) const;
  Graph& graph() { return graph_; }
  Context& context() { return graph_.context(); }
  Heap& heap() { return heap_; }
  Sink& sink() { return sink_; }
  // Where paths meet, torch.zeros(0) becomes a tensor without rows of the rank that other paths have.
  void TakeNothingForRows() { nothing_is_rows_ = true; }
  bool nothing_is_rows() const { return nothing_is_rows_; }
  BlockId block() const { return open_.back().block; }
  void SetOrigin(OriginId origin) { origin_ = origin; }
  // Nodes emitted so far, dead ones too.
  uint32_t node_count() const { return graph_.node_capacity(); }
  void Finish();

 private:
  struct Open {
    BlockId block;
    NodeId settled;  // up to here the nodes have types
  };

  struct Inferred {
    std::vector<Type> types;
    Vals constants;  // in place of all results, where they are numbers that the program gives
  };

  Result<Argument> ArgumentOf(const Val& value, const aten::SchemaType& type, std::string_view name);
  Status Settle(NodeId except = {});
  Result<NodeId> Append(std::string_view op, const aten::Schema& schema, std::span<const Val> values);
  Result<Inferred> InferredOf(NodeId node, std::span<const Type> recorded);
  NodeId WithResults(NodeId node, const aten::Schema& schema, std::vector<Type> types);
  Status Accept(NodeId node, std::span<const ValueId> captured, bool pure);
  Result<Inferred> InferredOfPure(NodeId node, const aten::Schema& schema, std::span<const ValueId> captured,
                                  Result<flambeau::Call> pure);
  Vals Group(const aten::Schema& schema, Vals flat);
  Val ResultOf(ValueId value);
  bool KeepsElementsApart(NodeId node, std::span<const ValueId> captured);
  void LinkSequences(NodeId node, const aten::Schema& schema, std::span<const ValueId> captured);
  void NoteElement(const Type& tensor, std::span<const Val> arguments);
  // lists/pieces.cpp
  Result<Val> BoundsOfPieces(const Val& size, const Val& given);
  Status RememberPieces(const aten::Schema& schema, std::span<const Val> arguments, const Val& list);
  ValueId Register(ValueId value);
  Val ConstantTensor(const Vals& numbers, int64_t dtype);

  Program::Impl& program_;
  Graph& graph_;
  Heap& heap_;
  Sink& sink_;
  bool nothing_is_rows_ = false;
  Graph scratch_;
  Functionalizer functionalizer_;
  lower::Inference inference_;
  Facts facts_;
  std::vector<Open> open_;
  std::vector<ValueId> handles_;  // of the call at hand
  OriginId origin_;
  size_t constants_ = 0;  // made here
};

}  // namespace flambeau::script
