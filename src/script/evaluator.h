// Walks a TorchScript program once and specialises it for its inputs: what is
// known is computed on the spot, the rest becomes calls of the ATen program.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "script/arguments.h"
#include "script/attribute_uses.h"
#include "script/emitter.h"
#include "script/enum_members.h"
#include "script/inputs/kept_inputs.h"
#include "script/inputs/number_stand_ins.h"
#include "script/regions/added_nodes.h"
#include "script/regions/skeleton.h"
#include "script/value.h"

namespace flambeau::script {

// Flambeau's own TorchScript functions that were called, by the address of their file's text and their name.
using Library = std::map<std::pair<const void*, std::string>, torchscript::Graph>;

class Evaluator {
 public:
  using Node = torchscript::Node;
  // Ifs whose paths are kept apart to the end of the loop's body or program around them, and Loops with the number of
  // first rounds that become such Ifs.
  using Apart = std::map<const Node*, int>;
  // `custom`, `apart` and `library` must outlive this, and `library` what this tells of nodes: some are its own.
  Evaluator(const torchscript::Graph& source, Program::Impl& program, Sink& sink, const lower::CustomOperators& custom,
            int opset, const Apart& apart, Library& library);
  // Assume a round of each peeled loop that counts sizes of inputs.
  void AssumeRounds() { assumes_rounds_ = true; }
  // Squeezes assume that sizes which data decides, and others where few nodes follow, are not 1.
  void AskNoSizes() { asks_sizes_ = false; }
  // Whether a squeeze depended on such a size.
  bool asked_sizes() const { return asked_sizes_; }

  // `inputs`: one for each input of the main block, `self` too.
  Result<Vals> Run(std::span<const Val> inputs);
  // The module itself, as the first input.
  Val Self() const { return ObjectVal{source_.self.index}; }

  // The Ifs and Loops after which less is known than on each path alone, in the order of the walk up to the first error.
  const std::vector<const Node*>& lossy() const { return lossy_; }
  // Guesses that may be wrong: squeezes that were assumed to keep a dimension of unknown size, and Ifs after which a number
  // or the length of a list is unknown, though each path has a constant.
  const std::vector<const Node*>& guessed() const { return guessed_; }
  // Loops that could not be kept, with how many rounds they have at most, if these may be few.
  const Apart& uncarried() const { return uncarried_; }

  // --- for the functions of builtins/ -----------------------------------------
  Emitter& emit() { return emitter_; }
  Heap& heap() { return heap_; }
  // Whether the program has members of enums, which a number may stand for.
  bool HasEnums() { return !enum_members_.empty(); }
  EnumMembers& enum_members() { return enum_members_; }
  Sink& sink() { return sink_; }
  Context& context() { return emitter_.context(); }
  // The operator of the node, in its canonical form.
  Result<Vals> CallOperator(const Node& node, std::span<const Val> arguments);
  // A function of one of Flambeau's own files of TorchScript, `code`.
  Result<Vals> CallLibrary(std::string_view code, std::string_view function, std::span<const Val> arguments);
  // The longest text or list that is computed: a short program can double one many times.
  static constexpr size_t kMaxLength = size_t{1} << 20;
  Failure TooLong();
  // The size that a dynamic dimension had at the capture.
  void SetCaptured(Expr symbol, int64_t size) { captured_.emplace(symbol, size); }
  // The size at the capture; nullopt where that is not known.
  std::optional<int64_t> CapturedSize(Expr size) const { return program_.context->exprs().Evaluate(size, captured_); }
  // The node takes a view of the tensor, which may get another shape in place afterwards.
  void NoteViewed(const Node& node, TensorVal tensor) { viewed_[&node] = emitter_.storages().ViewOf(tensor.id); }
  bool IsAsViewed(const Node& node, TensorVal tensor) {
    const auto found = viewed_.find(&node);
    return found != viewed_.end() && found->second == emitter_.storages().ViewOf(tensor.id);
  }
  KeptInputs& kept_inputs() { return kept_inputs_; }
  AttributeUses& attribute_uses() { return attribute_uses_; }
  Failure Unsupported(std::string message, std::string hint = {});
  Failure UsesUndefined(const Undefined& value);
  // The path at hand ends in an exception: an error, unless another path can be taken.
  Failure Raise(const Node& node, std::string message);
  int opset() const { return opset_; }
  // The device of the program's tensors: "cpu", "cuda:0".
  const std::string& device() const { return source_.device; }
  // The cell of an object with what torch keeps beside the program: "grad_enabled".
  uint32_t modes() const { return static_cast<uint32_t>(source_.objects.size()); }
  // Names the last If after which less is known than on its paths.
  Failure UnsupportedWherePathsMet(std::string message, std::string hint = {});
  // The node once for each answer to the condition: with what is None, or a flag that is known, on that path.
  Result<Vals> CallOnEachPath(const Node& node, ValueId condition);
  Val Import(const torchscript::Constant& constant, std::string_view path);
  Result<Val> GetAttribute(uint32_t cell, std::string_view name);
  Status SetAttribute(uint32_t cell, std::string_view name, Val value);

  // A list or dict is about to be written: those that may be the same one become lost.
  void NoteWrite(uint32_t cell);
  // For writing.
  Cell& Edit(uint32_t cell);
  std::unordered_map<uint32_t, TakenElement>& taken() { return taken_; }  // by the number of the tensor
  std::vector<OpenedList>& opened_lists() { return opened_lists_; }
  Val List(Vals elements) { return ListVal{heap_.Add({.elements = std::move(elements)})}; }
  static Val Tuple(Vals elements) { return TupleVal{std::make_shared<const Vals>(std::move(elements))}; }
  // The bool, where it is known; also that of a tensor of one known element.
  std::optional<bool> KnownBool(const Val& value) const;
  NumberStandIns& number_stand_ins() { return number_stand_ins_; }
  // The type of a tensor as it is now.
  const Type& TypeOf(TensorVal tensor);
  // The current value of a name of the source.
  const Val& ValueOf(const torchscript::Value* value);

 private:
  struct Snapshot {
    Storages storages;
    Heap heap;
    Facts facts;
    bool assumes_sizes;
  };

  struct Region;
  struct Path;
  class Squeeze;

  // Where the walk stands in a block, and the node that gets the block's outputs.
  struct Frame {
    const torchscript::Block* block;
    size_t next = 0;
    const Node* node = nullptr;
  };
  using Bindings = std::vector<std::pair<const torchscript::Value*, Val>>;
  // Walks to the end of the first frame's block, from the last frame on.
  Result<Vals> Walk(std::vector<Frame> frames);
  Result<Vals> EvaluateBlock(const torchscript::Block& block) { return Walk({{&block}}); }
  const Node* NextOf(Frame& frame);
  void BindConstant(const Node& node);
  std::optional<Result<Vals>> EnterIf(const Node& node, std::vector<Frame>& frames);
  void BindOutputs(const Node& node, Result<Vals> results);
  bool IsLost(const Val& value) const;
  Failure ReadsLost(const Val& value);
  bool IsTooLong(const Val& value) const;
  std::function<void(Diagnostic&)> At(const Node& node) const;
  OriginId OriginOf(const Node& node);
  Vals Outputs(const torchscript::Block& block);
  void Bind(const torchscript::Value* value, Val val) { values_[value] = std::move(val); }

  void PutRowsBack();
  // module_state.cpp
  void ImportObjects();
  std::string PathOf(torchscript::ObjectId object, std::string_view attribute) const;
  Val ImportQuantized(const torchscript::Object& object, std::string_view path);
  Val ImportTensor(const TensorData& data, InputKind kind, std::string_view path, bool persistent);
  // dispatch.cpp
  Result<Vals> Evaluate(const Node& node);
  Result<Vals> Dispatch(const Node& node, std::span<const Val> arguments);
  bool HasTranslation(const Node& node) const;
  std::vector<Type> RecordedResults(const Node& node);
  Result<Vals> CallOnNumbers(const Node& node, std::span<const Val> arguments);
  Result<Vals> CallOnValues(const Node& node, std::span<const Val> arguments);
  // number_stand_ins.cpp
  // A constant 0-d tensor as a number.
  Result<Val> NumberOf(const TensorData& constant, const Val& tensor);
  Result<Vals> CallOnStandIns(const Node& node, std::span<const Val> arguments);
  // branches.cpp
  // Of an If that was added here: its paths meet at once.
  Result<Vals> DecideOrBranch(const Node& node, Val condition);
  // The same, where nobody asks what is lost as they meet.
  Result<Vals> BranchUntold(const Node& node, Val condition);
  Failure RaiseAgain();
  Failure RaiseIfPyTorchDoes(const Node& node, size_t reported);
  void LeaveOutWhatRaised(size_t reported);
  // The block that is taken, if that is known.
  Result<const torchscript::Block*> Decide(const Node& node, Val& condition);
  Result<Vals> Branch(const Node& node, const Val& condition, const std::vector<Frame>& rest);
  Bindings BoundInRounds(const std::vector<Frame>& frames);
  Result<Path> WalkPath(const Node& node, size_t which, NumberVal predicate, const std::vector<Frame>& rest);
  Result<Vals> TakeFrom(const Node& node, size_t which, NumberVal predicate, const std::vector<Frame>& rest);
  Status Close(const Path& path, OriginId origin, Region& region, const Snapshot& before);
  std::vector<ValueId> CallBranches(NumberVal predicate, std::span<const Path> paths, const std::vector<Type>& types);
  Result<ValueId> Predicate(const Val& value);
  // loops.cpp
  Result<Vals> Loop(const Node& node, std::span<const Val> arguments);
  Result<std::optional<Vals>> Unroll(const Node& node, std::span<const Val> arguments);
  Result<Vals> EmitLoop(const Node& node, std::span<const Val> arguments);
  void NoteUncarried(const Node& node, const Val& trips);
  bool HasRound(std::span<const Val> arguments) const;
  Result<bool> WalkRound(const Node& node, Region& region, const Snapshot& before);
  Result<ValueId> EnterRound(const Node& node, const Region& region);
  Result<Vals> CallLoop(std::span<const Val> arguments, BlockId body, const Region& region);
  // peel.cpp
  bool IsPeeled(const Node& node) const;
  Result<const Node*> Peel(const Node& node);
  void Lose(const Node& node);
  // optionals.cpp
  // A name for what no node of the source makes.
  torchscript::Value* NameOf(Val value);
  std::optional<ValueId> WhatDecides(const Node& node, std::span<const Val> arguments) const;
  const Node* OnEachPath(const Node& node, ValueId condition);
  const Node* Parted(const Node& node);
  // axes.cpp
  Result<const Node*> BranchOnAxis(const Node& node, std::span<const Val> arguments);
  Result<const Node*> BranchOnNumber(const Node& node, std::span<const Val> arguments);
  Result<std::optional<Vals>> OnEachNumber(const Node& node, std::span<const Val> arguments);
  // enum_members.cpp
  Result<const Node*> BranchOnMember(const Node& node, const Val& number);

  Snapshot Save() { return {emitter_.storages(), heap_, emitter_.facts(), assumes_sizes_}; }
  void Restore(const Snapshot& snapshot);

  const torchscript::Graph& source_;
  const lower::CustomOperators& custom_;
  Program::Impl& program_;
  Sink& sink_;
  Heap heap_;
  int opset_;
  Emitter emitter_;
  std::unordered_map<const torchscript::Value*, Val> values_;
  std::unordered_map<const TensorData*, ValueId> tensors_;
  KeptInputs kept_inputs_;
  AttributeUses attribute_uses_;
  EnumMembers enum_members_;
  std::unordered_map<const void*, std::vector<ModuleFrame>> frames_;
  std::unordered_set<const torchscript::Value*> returned_;  // and used by nothing else
  std::unordered_set<const Node*> last_;                    // of the main block
  NumberStandIns number_stand_ins_;
  std::unordered_map<Expr, int64_t> captured_;  // dynamic sizes of inputs, as the program was captured with them
  AddedNodes added_;
  Library& library_;
  // What a round that is walked by itself is given: a path may be walked again, after the other rounds had their own.
  std::unordered_map<const Node*, Bindings> given_;
  std::unordered_set<const Node*> tried_;  // of these: calls along an axis that need not be the one
  std::unordered_map<const Node*, ViewId> viewed_;
  std::unordered_map<uint32_t, TakenElement> taken_;
  std::vector<OpenedList> opened_lists_;  // the last ones
  std::vector<uint32_t> written_rows_;    // by the node at hand: elements of lists that have what they hold as their own
  const Apart& apart_;
  bool assumes_rounds_ = false;
  std::vector<const Node*> lossy_;
  std::vector<const Node*> guessed_;
  Apart uncarried_;
  bool asks_sizes_ = true, asked_sizes_ = false;
  bool assumes_sizes_ = false;  // by a squeeze: what raises after it may be due to that
  // What ends the path at hand.
  struct Raised {
    const Node* node;
    std::string message;
    bool by_call = false;  // of an operator, as far as is known of its operands
  };
  std::optional<Raised> raised_;
  std::unordered_map<const Node*, size_t> raising_;  // the path of an If that raised when it was walked last
  std::unordered_map<const Node*, int64_t> too_many_;  // rounds of a loop that were too many to unroll
  int depth_ = 0;
  int open_loops_ = 0;       // that become nested graphs, one within another
  size_t walked_rounds_ = 0;  // since the outermost of them began
};

// A function of Python or TorchScript that no operator of the program is.
using Builtin = Result<Vals> (*)(Evaluator& evaluator, const torchscript::Node& node, Arguments arguments);
// nullptr if the kind ("aten::append", "prim::TupleUnpack") is none.
Builtin FindBuiltin(std::string_view kind);
// A function of Python's numbers that is an operator on tensors, of this dtype.
struct TensorFunction {
  std::string_view kind, op;
  DType dtype;
};
const TensorFunction* FindTensorFunction(std::string_view kind);
// Whether no path through the block ends well, as far as its nodes say.
bool AlwaysRaises(const torchscript::Block& block);
// Whether it is a `torch.tensor` of a list of tensors, which is no way to stack them.
bool MakesTensorOfTensors(const torchscript::Node& node);
// Whether the operator takes Python's numbers, maybe besides tensors.
bool IsOnNumbers(const torchscript::Node& node);
// "aten::add.Tensor"
std::string OperatorName(const torchscript::Node& node);
// The operator on numbers that a kind is: "aten::add" -> "_operator::add"; empty if it is none.
std::string_view NumberOperator(std::string_view kind);

}  // namespace flambeau::script
