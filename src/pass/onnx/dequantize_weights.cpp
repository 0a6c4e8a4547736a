#include <algorithm>
#include <cmath>
#include <string>

#include "onnx/operator_table.h"
#include "pass/onnx/rules.h"
#include "support/numeric.h"

namespace flambeau {
namespace {

// A constant of bytes seen as floats: cast, and transposed by `permutation`.
struct ByteWeight {
  ValueId bytes;
  Ints permutation;  // axis i of what is seen is axis permutation[i] of the bytes
};

std::optional<ByteWeight> ByteWeightOf(const Editor& to, ValueId value) {
  if (!to.type(value).is_tensor() || !to.type(value).ranked) return std::nullopt;
  const auto rank = static_cast<int64_t>(to.type(value).rank());
  ByteWeight weight{value, {}};
  for (int64_t i = 0; i < rank; ++i) weight.permutation.push_back(i);
  bool is_cast = false;
  DType between = DType::kNone;  // of bytes in the middle
  while (to.Data(weight.bytes) == nullptr) {
    if (const NodeId cast = to.Producer(weight.bytes, "Cast")) {
      const DType dtype = to.type(weight.bytes).dtype;
      if (!IsFloating(dtype)) return std::nullopt;
      if (ByteSize(dtype) == 1) between = dtype;  // all others hold every byte
      weight.bytes = to.Operand(cast, 0);
      is_cast = true;
    } else if (const NodeId transpose = to.Producer(weight.bytes, "Transpose")) {
      const Ints* permutation = to.IntList(transpose, "perm");
      for (int64_t& axis : weight.permutation)
        axis = permutation == nullptr ? rank - 1 - axis : (*permutation)[static_cast<size_t>(axis)];
      weight.bytes = to.Operand(transpose, 0);
    } else {
      return std::nullopt;
    }
  }
  const DType dtype = to.type(weight.bytes).dtype;
  const bool kept = between == DType::kNone || between == dtype;
  return is_cast && kept && dtype != DType::kBool && ByteSize(dtype) == 1 ? std::optional(weight) : std::nullopt;
}

// Scales along one axis of a tensor, or one for all.
struct WeightScale {
  ValueId constant;
  std::optional<int64_t> axis;
  TensorData values;  // of one dimension, or none
};
std::optional<WeightScale> ScaleOf(const Editor& to, ValueId scale, const std::vector<Expr>& scaled) {
  const TensorData* data = to.Data(scale);
  if (data == nullptr || data->sizes.size() > scaled.size()) return std::nullopt;
  WeightScale result{scale, std::nullopt, *data};
  result.values.sizes.clear();
  result.values.strides.clear();
  for (size_t i = 0; i < data->sizes.size(); ++i) {
    if (data->sizes[i] == 1) continue;
    const size_t axis = scaled.size() - data->sizes.size() + i;
    if (result.axis || to.exprs().AsConstant(scaled[axis]) != data->sizes[i]) return std::nullopt;
    result.axis = static_cast<int64_t>(axis);
    result.values.sizes.push_back(data->sizes[i]);
    if (!data->strides.empty()) result.values.strides.push_back(data->strides[i]);
  }
  return result;
}

// The name of a constant that another way of seeing it has; of one that was seen otherwise already, what it was.
Symbol NameOfView(Editor& to, ValueId constant) {
  constexpr std::string_view kView = "_view";
  const Symbol symbol = to.graph()[constant].name;
  if (!symbol || to.context().Text(symbol).empty()) return {};
  std::string name(to.context().Text(symbol));
  if (name.ends_with(kView)) {
    name.resize(name.size() - kView.size());
  } else {
    name += kView;
  }
  return to.context().Intern(name);
}

ValueId AddTransposed(Editor& to, ValueId constant) {
  TensorData matrix = *to.Data(constant);
  if (matrix.strides.empty()) matrix.strides = {matrix.sizes[1], 1};
  std::swap(matrix.sizes[0], matrix.sizes[1]);
  std::swap(matrix.strides[0], matrix.strides[1]);
  return to.AddConstant(std::move(matrix), NameOfView(to, constant));
}

// Whether no byte times its scale is too large for a float.
bool StaysFinite(const Editor& to, const ByteWeight& weight, const WeightScale& scale) {
  const DType dtype = to.type(weight.bytes).dtype;
  const double largest = IsFloating(dtype) ? LargestFinite(dtype) : 255;
  const auto bytes = scale.values.ReadAll(kLargeBytes);
  if (!bytes) return false;
  for (size_t at = 0; at < bytes->size(); at += sizeof(float))
    if (!(std::abs(LoadDouble(DType::kFloat32, bytes->data() + at)) * largest <= LargestFinite(DType::kFloat32))) return false;
  return true;
}

// Whether all that uses the value multiplies matrices by it, and as it is or transposed.
struct Uses {
  bool in_matrices = true, as_it_is = true;
};
Uses UsesOf(const Editor& to, ValueId value) {
  const Graph& graph = to.graph();
  auto multiplies = [&](Use use) {
    if (graph.IsTerminator(use.node) || use.operand != 1) return false;
    return graph.op(use.node) == "Gemm" || (graph.op(use.node) == "MatMul" && to.type(graph.result(use.node)).sizes.size() == 2);
  };
  Uses uses;
  graph.ForEachUse(value, [&](Use use) {
    if (graph.IsTerminator(use.node) || graph.op(use.node) != "Transpose") {
      uses.in_matrices &= multiplies(use);
      uses.as_it_is &= !graph.IsTerminator(use.node) && graph.op(use.node) == "MatMul";
      return;
    }
    graph.ForEachUse(graph.result(use.node), [&](Use transposed) { uses.in_matrices &= multiplies(transposed); });
    uses.as_it_is = false;
  });
  return uses;
}

// The weight times its scale. Where it is a factor of matrices, its columns become rows, as PyTorch keeps weights:
// onnxruntime multiplies by bytes that lie the other way, and rounds what it multiplies to bytes for it.
std::optional<ValueId> Dequantized(Editor& to, NodeId position, ByteWeight weight, const WeightScale& scale, bool is_factor) {
  const onnx::OperatorVersion* dequantize = onnx::FindOperator("DequantizeLinear", to.opset());
  if (dequantize == nullptr || (scale.axis && to.opset() < 13) || scale.values.dtype != DType::kFloat32 ||
      !dequantize->types()[0].tensors.contains(to.type(weight.bytes).dtype) || !StaysFinite(to, weight, scale))
    return std::nullopt;
  if (is_factor && weight.permutation == Ints{0, 1}) weight = {AddTransposed(to, weight.bytes), {1, 0}};
  const bool same = to.Data(scale.constant)->sizes == scale.values.sizes;
  const ValueId factors = same ? scale.constant : to.AddConstant(scale.values, NameOfView(to, scale.constant));
  onnx::AttributeList attributes;
  if (scale.axis) attributes.Add("axis", weight.permutation[static_cast<size_t>(*scale.axis)]);
  const ValueId floats = to.Insert(position, "DequantizeLinear", {weight.bytes, factors}, attributes);
  if (std::ranges::is_sorted(weight.permutation)) return floats;
  onnx::AttributeList order;
  order.Add("perm", weight.permutation);
  return to.Insert(position, "Transpose", {floats}, order);
}

// A product of matrices that is used once, and its second factor.
struct Factor {
  NodeId product;
  ValueId weight;
  int64_t columns;  // the factor's axis that the product has
};
std::optional<Factor> FactorOf(const Editor& to, ValueId value) {
  if (!to.HasOneUse(value)) return std::nullopt;
  if (const NodeId matmul = to.Producer(value, "MatMul")) {
    const ValueId weight = to.Operand(matmul, 1);
    return to.type(weight).rank() == 2 && to.type(value).rank() == 2 ? std::optional(Factor{matmul, weight, 1}) : std::nullopt;
  }
  const NodeId gemm = to.Producer(value, "Gemm");
  if (!gemm || to.Operand(gemm, 2)) return std::nullopt;
  return Factor{gemm, to.Operand(gemm, 1), to.Int(gemm, "transB", 0) != 0 ? 0 : 1};
}

// Bytes that are cast and scaled are quantized: as such they stay what they are, and runtimes that multiply bytes see them.
// Only as factors of matrices: of others, onnxruntime would round what they are multiplied by.
bool DequantizeWeight(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId product = graph.result(node);
  if (to.keep_weights()) return false;
  for (const uint32_t i : {0U, 1U}) {
    const ValueId scaled = graph.operand(node, i), scale = graph.operand(node, 1 - i);
    if (!to.SameType(scaled, product) || !to.type(product).ranked) continue;
    if (const auto weight = ByteWeightOf(to, scaled)) {
      const Uses uses = UsesOf(to, product);
      const auto scales = uses.in_matrices ? ScaleOf(to, scale, to.type(scaled).sizes) : std::nullopt;
      const auto floats = scales ? Dequantized(to, node, *weight, *scales, uses.as_it_is) : std::nullopt;
      if (floats) return to.Replace(node, *floats);
      continue;
    }
    // (x · w) · s is x · (w · s) where s has a number for each column of w.
    const auto factor = FactorOf(to, scaled);
    const auto weight = factor ? ByteWeightOf(to, factor->weight) : std::nullopt;
    auto scales = weight ? ScaleOf(to, scale, to.type(scaled).sizes) : std::nullopt;
    if (!scales || (scales->axis && *scales->axis + 1 != static_cast<int64_t>(to.type(scaled).rank()))) continue;
    if (scales->axis) scales->axis = factor->columns;
    const auto floats = Dequantized(to, node, *weight, *scales, factor->columns == 1);
    if (!floats) continue;
    const ValueId operands[] = {graph.operand(factor->product, 0), *floats};
    return to.Replace(node, graph.result(to.InsertNode(node, graph.op(factor->product), operands, graph[factor->product].attributes)));
  }
  return false;
}

// A weight's zero points of 0 are what none means; with them, onnxruntime takes the way that rounds the other factor.
bool DropZeroPoint(Editor& to, NodeId node) {
  const ValueId zero_point = to.Operand(node, 2);
  const TensorData* data = zero_point ? to.Data(zero_point) : nullptr;
  if (data == nullptr || to.Data(to.Operand(node, 0)) == nullptr) return false;
  const auto bytes = data->ReadAll(kLargeBytes);
  if (!bytes || !std::ranges::all_of(*bytes, [](std::byte each) { return each == std::byte{0}; })) return false;
  const Graph& graph = to.graph();
  const ValueId operands[] = {graph.operand(node, 0), graph.operand(node, 1)};
  return to.Replace(node, graph.result(to.InsertNode(node, "DequantizeLinear", operands, graph[node].attributes)));
}

constexpr RewriteRow kRules[] = {
    {"DequantizeLinear", &DropZeroPoint},
    {"Mul", &DequantizeWeight},
};

}  // namespace

RewriteTable ByteWeightRules() { return kRules; }

}  // namespace flambeau
