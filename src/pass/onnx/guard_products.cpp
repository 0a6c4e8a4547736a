// Matrix products over sizes that data decides and that may be 0 in a run, such as the number of boxes that are left.
// onnxruntime 1.31 leaves all matrices of a batch but the first unwritten where the inner size is 0. It also merges a
// Transpose that moves the batch into the product; on an empty operand that divides by 0 and ends the process.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "onnx/infer/sizes.h"
#include "onnx/operator_table.h"
#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"
#include "pass/onnx/rules.h"

namespace flambeau {
namespace {

bool MayTurnOutZero(const ExprPool& exprs, Expr size) {
  return exprs.HasUnbacked(size) && onnx::MayBeZero(exprs, size);
}

bool MayTurnOutEmpty(const Editor& to, ValueId value) {
  const auto& sizes = to.type(value).sizes;
  return std::ranges::any_of(sizes, [&](Expr size) { return MayTurnOutZero(to.exprs(), size); });
}

// Behind a Reshape to its own sizes, a transposition is not merged.
void KeepTransposeApart(Editor& to, NodeId product, uint32_t operand) {
  const ValueId value = to.graph().operand(product, operand);
  const NodeId transpose = to.Producer(value, "Transpose");
  if (!transpose || PermutationOf(to, transpose).front() == 0) return;
  const Ints as_they_are(to.type(value).rank(), 0);
  to.SetOperand(product, operand, to.Insert(product, "Reshape", {value, to.AddInts(as_they_are)}));
}

// Zeros where the sum is over nothing.
void SumNothingToZero(Editor& to, NodeId product) {
  Graph& graph = to.graph();
  const ValueId a = graph.operand(product, 0), b = graph.operand(product, 1);
  const Type& type = to.type(graph.result(product));
  if (to.type(b).rank() < 3 || !MayTurnOutZero(to.exprs(), to.type(a).sizes.back())) return;
  if (onnx::FindOperator("Where", to.opset()) == nullptr) return;
  const ValueId operands[] = {a, b};
  const ValueId computed = graph.result(to.InsertNode(product, "MatMul", operands, {}));
  const ValueId last = to.AddInts(Ints{static_cast<int64_t>(to.type(a).rank()) - 1});
  const ValueId summed = to.Insert(product, "Gather", {to.Insert(product, "Shape", {a}), last});
  const ValueId nothing = to.Insert(product, "Equal", {summed, to.AddInts(Ints{0})});
  std::vector<std::byte> zero(ByteSize(type.dtype));
  const ValueId zeros = to.AddConstant({.source = MakeBufferSource(std::move(zero)), .dtype = type.dtype, .sizes = {1}});
  to.Replace(product, to.Insert(product, "Where", {nothing, zeros, computed}));
  to.Erase(product);
}

}  // namespace

Result<Changed> GuardProducts(Graph& graph, PassContext& context) {
  std::vector<NodeId> products;
  for (const BlockId block : graph.AllBlocks())
    graph.ForEachNode(block, [&](NodeId node) {
      if (graph.op(node) == "MatMul") products.push_back(node);
    });
  Editor to(graph, context);
  for (const NodeId product : products) {
    const ValueId a = graph.operand(product, 0), b = graph.operand(product, 1);
    if (!to.type(a).ranked || !to.type(b).ranked || (!MayTurnOutEmpty(to, a) && !MayTurnOutEmpty(to, b))) continue;
    for (const uint32_t operand : {0U, 1U}) KeepTransposeApart(to, product, operand);
    SumNothingToZero(to, product);
  }
  return to.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
