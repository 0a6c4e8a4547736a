#include <algorithm>

#include "onnx/infer/sizes.h"
#include "onnx/operator_table.h"
#include "onnx/runtime_kernels.h"
#include "pass/onnx/rules.h"

namespace flambeau {
namespace {

bool IsMatrix(const Editor& to, ValueId value) {
  const Type& type = to.type(value);
  return type.is_tensor() && type.ranked && type.rank() == 2;
}

// Transpose of a matrix, as an operand may be.
NodeId MatrixTranspose(const Editor& to, ValueId value) {
  const NodeId node = to.Producer(value, "Transpose");
  if (!node || !IsMatrix(to, value)) return {};
  const Ints* permutation = to.IntList(node, "perm");
  return permutation == nullptr || *permutation == Ints{1, 0} ? node : NodeId{};
}

bool HasGemm(const Editor& to, ValueId value) {
  const DType dtype = to.type(value).dtype;
  return IsFloating(dtype) && onnx::RuntimeSupports("Gemm", to.opset(), "T", dtype);
}

// Gemm transposes its operands at no cost.
bool TransposeInGemm(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  for (const uint32_t i : {0U, 1U}) {
    const NodeId transpose = MatrixTranspose(to, graph.operand(node, i));
    if (!transpose) continue;
    const std::string_view flag = i == 0 ? "transA" : "transB";
    to.graph().SetAttribute(node, to.context().Intern(flag), int64_t{to.Int(node, flag, 0) == 0});
    to.SetOperand(node, i, graph.operand(transpose, 0));
    return true;
  }
  return false;
}

// A product of matrices one of which is transposed.
bool TransposeInMatMul(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId a = graph.operand(node, 0), b = graph.operand(node, 1);
  if (!IsMatrix(to, a) || !IsMatrix(to, b) || !HasGemm(to, a)) return false;
  if (!MatrixTranspose(to, a) && !MatrixTranspose(to, b)) return false;
  if (onnx::FindOperator("Gemm", to.opset())->min_inputs > 2) return false;  // it needs a summand, too
  return to.Replace(node, to.Insert(node, "Gemm", {a, b}));
}

// The product of matrices becomes a Gemm with what is added as its bias.
bool AddToGemm(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId sum = graph.result(node);
  if (!IsMatrix(to, sum)) return false;
  for (const uint32_t i : {0U, 1U}) {
    const ValueId product = graph.operand(node, i), bias = graph.operand(node, 1 - i);
    // The sum of two products would compute one of them first all the same.
    if (!to.SameType(product, sum) || !to.HasOneUse(product) || !HasGemm(to, product)) continue;
    if (to.type(bias).dtype != to.type(product).dtype || !to.type(bias).ranked || to.type(bias).rank() > 2) continue;
    std::vector<NamedAttribute> attributes;
    NodeId source = to.Producer(product, "MatMul");
    if (source && (!IsMatrix(to, graph.operand(source, 0)) || !IsMatrix(to, graph.operand(source, 1)))) continue;
    if (!source) {
      source = to.Producer(product, "Gemm");
      if (!source || to.Operand(source, 2)) continue;
      attributes = graph[source].attributes;
      std::erase_if(attributes, [&](const NamedAttribute& each) { return to.context().Text(each.name) == "beta"; });
    }
    const ValueId operands[] = {graph.operand(source, 0), graph.operand(source, 1), bias};
    const NodeId gemm = to.InsertNode(node, "Gemm", operands, std::move(attributes));
    to.graph().SetOrigin(gemm, graph[source].origin);
    return to.Replace(node, graph.result(gemm));
  }
  return false;
}

// Reshape(MatMul(Reshape(x), w) + bias): between reshapes, rows need not be
// stacked, so the product is one of matrices and takes its bias with it.
bool GemmBetweenReshapes(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId sum = graph.operand(node, 0);
  const NodeId add = to.Producer(sum, "Add");
  if (!add || !to.HasOneUse(sum)) return false;
  for (const uint32_t i : {0U, 1U}) {
    const ValueId product = graph.operand(add, i), bias = graph.operand(add, 1 - i);
    const NodeId matmul = to.Producer(product, "MatMul");
    if (!matmul || !to.HasOneUse(product) || !to.SameType(product, sum) || !HasGemm(to, product)) continue;
    const ValueId stacked = graph.operand(matmul, 0), weight = graph.operand(matmul, 1);
    const NodeId before = to.Producer(stacked, "Reshape");
    if (!before || !to.HasOneUse(stacked) || !IsMatrix(to, weight) || to.type(stacked).rank() < 3) continue;
    if (to.type(bias).dtype != to.type(product).dtype || !to.type(bias).ranked || to.type(bias).rank() > 1) continue;
    const std::vector<Expr>& sizes = to.type(stacked).sizes;
    const auto columns = to.exprs().AsConstant(sizes.back());
    if (!columns || *columns == 0) continue;
    const Expr rows = onnx::Product(to.exprs(), std::span(sizes).first(sizes.size() - 1));
    const Type product_type = Type::OfTensor(to.type(product).dtype, {rows, to.type(product).sizes.back()});
    const auto shape = ReshapeOperand(to.exprs(), product_type, to.type(graph.result(node)).sizes);
    if (!shape || !to.type(graph.result(node)).ranked) continue;
    const ValueId flat = to.Insert(before, "Reshape", {graph.operand(before, 0), to.AddInts(Ints{-1, *columns})});
    // Where the sum was: the bias may come later than the product.
    const ValueId operands[] = {flat, weight, bias};
    const NodeId gemm = to.InsertNode(add, "Gemm", operands, {});
    to.graph().SetOrigin(gemm, graph[matmul].origin);
    return to.Replace(node, to.Insert(node, "Reshape", {graph.result(gemm), to.AddInts(*shape)}));
  }
  return false;
}

constexpr RewriteRow kRules[] = {
    {"Add", &AddToGemm},
    {"Gemm", &TransposeInGemm},
    {"MatMul", &TransposeInMatMul},
    {"Reshape", &GemmBetweenReshapes},
};

}  // namespace

RewriteTable GemmRules() { return kRules; }

}  // namespace flambeau
