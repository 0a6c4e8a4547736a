// What a translator works with: the ONNX builder, and what it needs to know of
// PyTorch's semantics.
//
// A translator is a function whose parameters are the ATen schema:
//
//   Tensor Mm(Lowering& to, Tensor self, Tensor mat2) { return to.MatMul(self, mat2); }
//
// It appends ONNX nodes and returns the results. Translators call each other as
// functions. What they can't do they say with `return to.Unsupported(kSomething)`.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lower/additions.h"
#include "onnx/builder.h"

namespace flambeau::aten {
struct Schema;
}

namespace flambeau::lower {

using onnx::Dim;
using onnx::Dims;
using onnx::Scalar;
using onnx::Tensor;
using onnx::TensorList;
using onnx::Tensors;

// A form of an operator that its translator does not handle. Rows list theirs;
// docs and tests are generated from the lists.
struct Restriction {
  std::string_view text;     // "ceil_mode together with a dilation"
  std::string_view example;  // a minimal call in Python: "F.max_pool2d(torch.ones(1, 1, 8, 8), 2, dilation=2, ceil_mode=True)"
  std::string_view because = {};  // what stands against it, if anything does: "ONNX's tensors have no strides"

  std::string Explained() const;  // the text, and the reason
};

// What a translator returns where it reported: converts to any result.
struct Unconvertible {
  operator Tensor() const { return {}; }
  operator TensorList() const { return {}; }
  operator Dim() const { return {}; }
  operator Scalar() const { return Scalar(int64_t{0}); }
  template <class... T>
  operator std::tuple<T...>() const { return {T{}...}; }
};

class CustomOperators;
struct OpRow;
struct Requirement;

// What the tables say of an operator that the program calls.
struct Callee {
  std::string_view name;                 // without what functionalization added
  const OpRow* row = nullptr;            // null where it has no translation
  const aten::Schema* schema = nullptr;  // null where PyTorch has no such operator
  std::span<const Requirement* const> requirements;
};

class Lowering : public onnx::Builder {
 public:
  // `aten` must outlive this, and so must `custom`, which may be null.
  Lowering(const Graph& aten, Graph* graph, int opset, Sink* sink, const CustomOperators* custom = nullptr);

  // Whether constants may be written in fewer bits than they have.
  bool narrows_weights() const { return narrows_weights_; }
  void set_narrows_weights(bool narrows) { narrows_weights_ = narrows; }
  // The weight in that type of less than a byte, if its numbers are of it: the same one for the same bytes.
  std::optional<TensorData> Narrow(const TensorData& weight, DType dtype);

  // --- PyTorch's semantics ---------------------------------------------------
  // The dtype in which an operator over these operands computes: PyTorch's type
  // promotion, by categories, with numbers and 0-d tensors weaker than tensors
  // of dimensions (promotion.cpp).
  DType PromotedDtype(std::span<const Tensor> operands) const;
  DType PromotedDtype(std::initializer_list<Tensor> operands) const {
    return PromotedDtype(std::span(operands.begin(), operands.size()));
  }
  // The same, for operators that turn integers into floats (div, mean, sin, …).
  DType FloatDtype(std::initializer_list<Tensor> operands) const;
  // What torch makes of Python's floats where nothing else is said: torch.get_default_dtype() at the capture.
  DType default_dtype() const { return default_dtype_; }
  void set_default_dtype(DType dtype) { default_dtype_ = dtype; }
  // Whether it was captured by this release of torch, or a newer one: false where that is not known.
  bool IsCapturedFrom(int major, int minor) const { return release_ >= std::pair(major, minor); }
  void set_torch_version(std::string_view version);  // "2.14.1+cpu"
  // The tensor cast to a floating dtype if it is an integer or bool.
  Tensor ToFloat(Tensor tensor) { return CastTo(tensor, FloatDtype({tensor})); }
  // A number as a 0-d value of that dtype.
  Tensor NumberOf(const Scalar& scalar, DType dtype) { return ConstantOf(scalar, dtype); }
  // x · factor, nothing if the factor is 1.
  Tensor Scale(Tensor x, const Scalar& factor);
  // 0 <= axis < max(rank, 1).
  int64_t Axis(int64_t axis, const Tensor& tensor) const {
    const int64_t count = std::max<int64_t>(tensor.rank(), 1);
    if (axis < -count || axis >= count) [[unlikely]] onnx::ThrowNoAxis(axis, tensor.rank());
    return axis < 0 ? axis + count : axis;
  }
  Ints Axes(const Ints& axes, const Tensor& tensor) const;
  // Number of elements.
  Dim Numel(const Tensor& tensor);
  Dim Product(std::span<const Dim> dims);
  Dim Plus(Dim a, Dim b);
  Dim Minus(Dim a, Dim b);
  Dim Times(Dim a, Dim b);
  // An expression made of others; or, where the bounds of expressions cut off it or a part of it, what `emit` computes of their numbers.
  Dim Kept(Expr made, std::initializer_list<Dim> others, const std::function<Tensor()>& emit);

  // --- reporting --------------------------------------------------------------
  // The operator at hand has no translation in this form.
  Unconvertible Unsupported(const Restriction& restriction);
  // A tensor of which the rank must be known.
  bool RequireRank(const Tensor& tensor, std::string_view argument);

  // --- nested graphs ------------------------------------------------------------
  // Lowers the nodes of a block of the ATen graph into the current block, with
  // `inputs` for the block's inputs; returns what it yields.
  std::vector<Tensor> LowerBlock(BlockId aten_block, std::span<const Tensor> inputs);
  const Graph& aten() const { return *aten_; }
  // The ATen node at hand, and how many results the program recorded of it.
  NodeId node() const { return current_; }
  int64_t recorded_results() const { return (*aten_)[current_].result_count; }
  // Whether anything of the program reads that result of it.
  bool IsRead(uint32_t result) const { return result < recorded_results() && aten_->HasUses((*aten_)[current_].result(result)); }
  // The tensor for a value of the ATen graph that has been lowered.
  Tensor ValueOf(ValueId aten_value);
  void SetValue(ValueId aten_value, Tensor tensor);
  // A recorded ATen type as translators see it: numbers are 0-d tensors; strides are gone.
  Type OnnxType(const Type& aten_type);
  // What the model needs beside the graph.
  Additions& additions() { return additions_; }

 protected:
  // Runs the node's translator; nullopt after a report.
  std::optional<std::vector<Tensor>> Translate(NodeId node);
  void Record(NodeId node, std::vector<Tensor> results);

 private:
  class At;
  void LowerNode(NodeId node);
  std::optional<std::vector<Tensor>> Call(NodeId node);
  // Looked up once for all nodes of the operator.
  const Callee& CalleeOf(Symbol op);
  bool KnownNumbers(NodeId node);
  void BindRecorded(Expr symbol, const Tensor& number);
  Tensor& Slot(ValueId aten_value);
  Tensor Reconcile(NodeId node, uint32_t result, Tensor tensor);
  void ReportDifference(NodeId node, std::string difference);
  bool FollowsMistyped(NodeId node) const;
  Tensor Mistyped(NodeId node, Tensor tensor);

  const Graph* aten_;
  const CustomOperators* custom_;
  Additions additions_;
  NodeId current_;
  std::vector<Tensor> values_;  // by ATen value
  std::unordered_map<Symbol, Callee> callees_;
  bool narrows_weights_ = false;
  DType default_dtype_ = DType::kFloat32;
  std::pair<int, int> release_;
  // By the bytes that a weight is of: their source, the first of them, how many.
  std::map<std::tuple<std::shared_ptr<const DataSource>, uint64_t, uint64_t, DType, DType>, std::optional<TensorData>> narrowed_;
  // Values of which the capture recorded wrong types, and what was made of them: their types are those of the translation.
  std::unordered_set<ValueId> mistyped_;
};

}  // namespace flambeau::lower
