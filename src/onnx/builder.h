// Appends typed ONNX nodes to a graph.
//
// Each operator of ONNX is a method, in the form of its newest version; what
// differs at the target opset (axes as attribute or input, fused operators that
// an older opset lacks) is settled here (legalize.cpp), and so are element
// types that the runtime has no kernel for: never in translators. Every call
// infers its results' types, so any value can be asked what it is. Small
// integer computations on known values come out as constants.
//
// Calls can't fail. What cannot be expressed at the target opset is reported,
// and the result is a poisoned value of the expected type.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diag/sink.h"
#include "ir/graph.h"
#include "onnx/attribute_list.h"
#include "onnx/tensor.h"

namespace flambeau::onnx {

#include "onnx/operator_attributes.inc"

class Builder {
 public:
  Builder(Graph* graph, int opset, Sink* sink);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Graph& graph() { return *graph_; }
  Context& context() { return graph_->context(); }
  ExprPool& exprs() { return graph_->context().exprs(); }
  Sink& sink() { return *sink_; }
  int opset() const { return opset_; }
  // Whether operators for which onnxruntime has no kernel of a dtype compute in a wider one.
  bool widens_for_runtime() const { return widens_for_runtime_; }
  void set_widens_for_runtime(bool widens) { widens_for_runtime_ = widens; }
  // Whether the target opset has the operator.
  bool Has(std::string_view op) const;

  // The methods `Tensor Add(Tensor a, Tensor b)`, …; one for every operator.
#include "onnx/operator_methods.inc"

  // Any operator by name: "Gemm", "com.microsoft::FusedMatMul". Operators of
  // other domains are emitted as they are; `results` then gives their types.
  std::vector<Tensor> Emit(std::string_view op, std::span<const Tensor> operands, const AttributeList& attributes,
                           size_t results);
  std::vector<Tensor> EmitCustom(std::string_view op, std::span<const Tensor> operands, const AttributeList& attributes,
                                 std::span<const Type> results);

  // --- constants ------------------------------------------------------------
  // Equal constants are one value.
  Tensor Constant(DType dtype, std::span<const int64_t> sizes, std::span<const std::byte> bytes);
  Tensor ConstantInts(std::span<const int64_t> values);  // int64, 1-D
  Tensor ConstantInts(std::initializer_list<int64_t> values) { return ConstantInts(std::span(values.begin(), values.size())); }
  Tensor ConstantInt(int64_t value);  // int64, 0-d
  // 0-d, of any dtype; floats are rounded to it.
  Tensor ConstantOf(const Scalar& value, DType dtype);
  Tensor ConstantFloats(std::span<const double> values, DType dtype, std::span<const int64_t> sizes);
  // The only operand of the node that gives the tensor, if its operator is `op`; else nothing.
  Tensor OperandOf(const Tensor& tensor, std::string_view op);
  // A number as a value of its own dtype or of `dtype`; other tensors as they are.
  Tensor Value(const Tensor& tensor, std::optional<DType> dtype = {});
  // A tensor of weights that is already in the context.
  Tensor Weight(DataId data, Symbol name = {});
  // The elements of a constant tensor as row-major bytes, if it is one of at
  // most `limit` bytes.
  std::optional<std::vector<std::byte>> ConstantBytes(const Tensor& tensor, uint64_t limit = 4096) const;

  // --- sizes ----------------------------------------------------------------
  Dim Of(int64_t value) { return {exprs().Constant(value)}; }
  std::optional<int64_t> AsConstant(Dim dim) const { return graph_->context().exprs().AsConstant(dim.expr); }
  std::optional<Ints> AsConstants(std::span<const Dim> dims) const;
  // Says that the symbol's value is that tensor's size, or the 0-d number.
  void BindSize(Expr symbol, const Tensor& tensor, int64_t axis);
  void BindNumber(Expr symbol, const Tensor& number);
  bool HasSource(Expr symbol) const { return sources_.contains(symbol) || roots_.contains(symbol); }
  // What the integer in a tensor of one element is: an expression, or a symbol that is bound to it.
  Dim DimOf(const Tensor& number);
  // Binds the symbols that are sizes of the tensor and have no source yet.
  void BindSizes(const Tensor& tensor);
  // Those of them that inference made up: nothing else may ever have them.
  void BindAnonymousSizes(const Tensor& tensor);
  // An int64 tensor: 0-d, or of one element. Emits Shape, Mul, … only where the
  // number is not a constant; each expression once a block.
  Tensor Number(Dim dim);
  Tensor Number1(Dim dim);
  // int64, 1-D: the sizes.
  Tensor Shape1(std::span<const Dim> dims);

  // --- conveniences over the operators --------------------------------------
  Tensor CastTo(Tensor tensor, DType dtype);  // nothing if it has that dtype
  // Reshape to sizes, with 0 and -1 where that saves computing them.
  Tensor ReshapeTo(Tensor tensor, std::span<const Dim> sizes);
  Tensor ReshapeTo(Tensor tensor, const Ints& sizes);  // 0 and -1 as ONNX has them
  Tensor ExpandTo(Tensor tensor, std::span<const Dim> sizes);
  Tensor Permute(Tensor tensor, const Ints& permutation);  // nothing if it is the identity
  Tensor UnsqueezeAt(Tensor tensor, const Ints& axes);
  Tensor SqueezeAt(Tensor tensor, const Ints& axes);
  Tensor SliceAxis(Tensor tensor, int64_t axis, Dim start, Dim end, int64_t step = 1);
  Tensor GatherIndex(Tensor tensor, int64_t axis, Dim index);  // drops the axis
  std::vector<Tensor> SplitSizes(Tensor tensor, int64_t axis, std::span<const Dim> sizes);
  // A tensor of one value.
  Tensor Full(std::span<const Dim> sizes, const Scalar& value, DType dtype);

  // --- bodies ---------------------------------------------------------------
  // Nodes that `fill` emits go to a new block; it returns what the block yields.
  BlockId Body(const std::function<std::vector<Tensor>()>& fill);
  // What `fill` emits goes to the current block, but the sources of symbols that
  // it binds end with it, so that the same symbol can stand for another number later.
  std::vector<Tensor> Scope(const std::function<std::vector<Tensor>()>& fill);
  // A value that comes in from outside: an input of the current block.
  Tensor AddBlockInput(const Type& type, Symbol name = {});
  BlockId block() const { return blocks_.back().block; }
  // If with bodies; results have the types on which both agree.
  std::vector<Tensor> Choose(Tensor condition, const std::function<std::vector<Tensor>()>& then_branch,
                             const std::function<std::vector<Tensor>()>& else_branch);

  // --- reporting ------------------------------------------------------------
  // Nodes emitted from now on come from there.
  void SetOrigin(OriginId origin) { origin_ = origin; }
  OriginId origin() const { return origin_; }
  // A value of that type that stands for something that could not be made.
  Tensor Poison(const Type& type);
  bool poisoned() const { return poisoned_; }
  Failure Report(DiagnosticKind kind, std::string message, std::string hint = {});

  Tensor Wrap(ValueId value) { return {value, &graph_->type(value)}; }
  // The value seen as a tensor of that type, which is complex where it holds pairs.
  Tensor As(ValueId value, const Type& type);
  // The tensor with a more exact type; constants and inputs keep theirs.
  Tensor Refined(const Tensor& tensor, Type type);
  const Type* InternType(Type type);

 private:
  struct Source {
    Tensor tensor;
    int64_t axis;  // -1: the tensor is the number
    int64_t factor = 1, offset = 0;  // the size is so many times the symbol, and so much more
  };
  struct OpenBlock {
    BlockId block;
    std::unordered_map<Expr, Tensor> numbers;   // 0-d
    std::unordered_map<Expr, Tensor> vectors;   // 1-D of one element
    std::unordered_map<uint32_t, Tensor> shapes;  // by value
    std::vector<Expr> bound;                    // sources that end with the block
  };

  void SetOutputs(BlockId body, std::span<const Tensor> outputs);
  std::vector<Tensor> FillBlock(BlockId block, const std::function<std::vector<Tensor>()>& fill);
  Tensor ComputeNumber(Expr expr);
  void BindRoot(Expr size, const Tensor& tensor, int64_t axis);
  Tensor* FindMemo(std::unordered_map<Expr, Tensor> OpenBlock::*memo, Expr expr);

  Graph* graph_;
  int opset_;
  bool widens_for_runtime_ = true;
  Sink* sink_;
  OriginId origin_;
  bool poisoned_ = false;
  std::vector<OpenBlock> blocks_;
  std::unordered_map<Expr, Source> sources_;
  std::unordered_map<Expr, Source> roots_;  // symbols that are the size of nothing, by a size that follows from them
  std::unordered_multimap<size_t, ValueId> constants_;
  std::unordered_map<DataId, Tensor> weights_;
};

}  // namespace flambeau::onnx
