#include "onnx/legalize/rule.h"

#include <algorithm>

#include "onnx/runtime_kernels.h"

#include <fmt/format.h>

#include "support/numeric.h"

namespace flambeau::onnx {

bool LacksKernelOfDouble(Builder& to, const Request& request, std::string_view type_parameter) {
  const Tensor x = request.operands[0];
  return to.widens_for_runtime() && x.dtype() == DType::kFloat64 && x.ranked() &&
         !RuntimeSupports(request.op, to.opset(), type_parameter, DType::kFloat64);
}

Results Refuse(Builder& to, const Request& request, std::string_view what) {
  to.Report(DiagnosticKind::kUnsupportedOpset, fmt::format("ONNX's {} {} at opset {}", request.op, what, to.opset()));
  std::vector<Tensor> poison;
  for (const Type& type : request.types) poison.push_back(to.Poison(type));
  return poison;
}

std::optional<Ints> KnownInts(Builder& to, const Tensor& tensor) {
  if (!tensor || !tensor.type().contents) return std::nullopt;
  Ints values;
  for (Expr e : *tensor.type().contents) {
    const auto value = to.exprs().AsConstant(e);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<Floats> KnownFloats(Builder& to, const Tensor& tensor) {
  const auto bytes = tensor && tensor.is_floating() ? to.ConstantBytes(tensor) : std::nullopt;
  if (!bytes) return std::nullopt;
  Floats values;
  const auto width = static_cast<size_t>(ByteSize(tensor.dtype()));
  for (size_t at = 0; at < bytes->size(); at += width) values.push_back(LoadDouble(tensor.dtype(), bytes->data() + at));
  return values;
}

std::optional<Ints> KnownSizes(Builder& to, const Type& type) {
  if (!type.is_tensor() || !type.ranked) return std::nullopt;
  Ints sizes;
  for (Expr size : type.sizes) {
    const auto constant = to.exprs().AsConstant(size);
    if (!constant) return std::nullopt;
    sizes.push_back(*constant);
  }
  return sizes;
}

bool IsKnown(Builder& to, const Tensor& tensor, int64_t value) {
  const auto ints = KnownInts(to, tensor);
  return ints && *ints == Ints{value};
}

Tensor SizeAlong(Builder& to, const Tensor& tensor, int64_t axis) {
  return to.Gather(to.Shape(tensor), to.ConstantInts({axis}));
}

Tensor SizeNumber(Builder& to, const Tensor& tensor, int64_t axis) {
  return to.Gather(to.Shape(tensor), to.ConstantInt(axis));
}

bool IsEmpty(Builder& to, const Tensor& tensor) {
  return tensor.ranked() && std::ranges::any_of(tensor.sizes(), [&](Dim size) { return to.AsConstant(size) == 0; });
}

Tensor Iota(Builder& to, const Tensor& n) {
  constexpr int64_t kInline = 1 << 16;
  if (const auto known = KnownInts(to, n); known && known->front() <= kInline) {
    Ints values;
    for (int64_t i = 0; i < known->front(); ++i) values.push_back(i);
    return to.ConstantInts(values);
  }
  return to.Range(to.ConstantInt(0), n, to.ConstantInt(1));
}

Tensor WrapNegative(Builder& to, const Tensor& indices, const Tensor& size) {
  if (const auto& contents = indices.type().contents) {
    bool negative = false;
    for (Expr index : *contents) negative = negative || to.exprs().RangeOf(index).min < 0;
    if (!negative) return indices;
  }
  const Tensor wide = to.CastTo(indices, DType::kInt64);
  return to.Add(wide, to.Mul(to.CastTo(to.Less(wide, to.ConstantInt(0)), DType::kInt64), size));
}

std::vector<Tensor> Repeat(Builder& to, const Tensor& count, const std::vector<Tensor>& state, size_t stacked,
                           const std::function<std::vector<Tensor>(Tensor, std::vector<Tensor>)>& body) {
  std::vector<Type> types;
  for (const Tensor& each : state) {
    Type type = each.type();
    type.contents.reset();
    types.push_back(std::move(type));
  }
  const Tensor again = to.ConstantOf(true, DType::kBool);
  std::vector<Tensor> yields;
  const BlockId block = to.Body([&] {
    const Tensor turn = to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
    const Tensor goes_on = to.AddBlockInput(Type::OfTensor(DType::kBool, {}));
    std::vector<Tensor> inner;
    for (const Type& type : types) inner.push_back(to.AddBlockInput(type));
    yields = body(turn, inner);
    std::vector<Tensor> outputs = {to.Identity(goes_on)};
    outputs.insert(outputs.end(), yields.begin(), yields.end());
    return outputs;
  });
  for (size_t i = state.size(); i < state.size() + stacked; ++i) {
    Type type = yields[i].type();
    type.contents.reset();
    if (type.ranked) type.sizes.insert(type.sizes.begin(), to.exprs().Anonymous());
    types.push_back(std::move(type));
  }
  std::vector<Tensor> operands = {count, again};
  operands.insert(operands.end(), state.begin(), state.end());
  AttributeList attributes;
  attributes.Add("body", block);
  return to.EmitCustom("Loop", operands, attributes, types);
}

}  // namespace flambeau::onnx
