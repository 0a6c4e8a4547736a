// Quantizing before there were operators of it, and before those had an axis.
#include <algorithm>
#include <cmath>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// Whether each index of an axis has a scale of its own; nullopt where it is not known.
std::optional<bool> HasAxis(const Request& request) {
  const Tensor x = request.operands[0], scale = request.operands[1];
  if (!x.ranked() || !scale.ranked()) return std::nullopt;
  return scale.rank() > 0;
}

// Values of an axis, or one for all, so that they broadcast against the operand; in float32.
Tensor Spread(Builder& to, const Request& request, const Tensor& values) {
  const Tensor floats = to.CastTo(values, DType::kFloat32);
  if (values.rank() != 1) return floats;
  const int64_t rank = request.operands[0].rank(), axis = request.Int("axis", 1);
  Ints after;
  for (int64_t d = axis < 0 ? axis + rank : axis; d + 1 < rank; ++d) after.push_back(static_cast<int64_t>(after.size()) + 1);
  return to.UnsqueezeAt(floats, after);
}

// Whether the opset has the operator as it is. At opset 10 onnxruntime rounds a bias beside it by an operator that came with 11.
bool StaysAsItIs(const Builder& to, std::string_view op, bool has_axis) {
  return to.Has(op) && !has_axis && (to.opset() > 10 || !to.widens_for_runtime());
}

// round(x / scale) + zero point, cut to what the type holds.
Results QuantizeByRounding(Builder& to, const Request& request) {
  const auto has_axis = HasAxis(request);
  if (!has_axis || request.Int("block_size", 0) != 0) return Refuse(to, request, "has no blocks, and takes only tensors of known rank");
  if (StaysAsItIs(to, "QuantizeLinear", *has_axis)) return std::nullopt;
  const DType dtype = request.types[0].dtype;
  const int bits = static_cast<int>(ByteSize(dtype)) * 8 - (IsSigned(dtype) ? 1 : 0);
  const double most = std::exp2(bits) - 1, least = IsSigned(dtype) ? -std::exp2(bits) : 0;
  Tensor y = to.Round(to.Div(to.CastTo(request.operands[0], DType::kFloat32), Spread(to, request, request.operands[1])));
  if (request.operand(2)) y = to.Add(y, Spread(to, request, request.operands[2]));
  const Tensor cut = to.Clip(y, to.ConstantOf(least, DType::kFloat32), to.ConstantOf(most, DType::kFloat32));
  return {{to.CastTo(cut, dtype)}};
}

// From opset 21 on onnxruntime 1.31 moves a DequantizeLinear of int8 past what moves elements, and writes a QuantizeLinear that it
// takes for wrong then; not so one without a zero point, which is 0.
Results WithoutZero(Builder& to, const Request& request) {
  const bool moves = to.widens_for_runtime() && to.opset() >= 21 && request.operands[0].dtype() == DType::kInt8;
  const auto zeros = moves && request.operand(2) ? to.ConstantBytes(request.operand(2)) : std::nullopt;
  if (!zeros || !std::ranges::all_of(*zeros, [](std::byte zero) { return zero == std::byte{}; })) return std::nullopt;
  return EmitAsIs(to, "DequantizeLinear", request.operands.first(2), request.attributes, 1);
}

// (x - zero point) · scale
Results DequantizeByScaling(Builder& to, const Request& request) {
  if (to.opset() >= 13) return WithoutZero(to, request);
  const auto has_axis = HasAxis(request);
  if (!has_axis || request.Int("block_size", 0) != 0) return Refuse(to, request, "has no blocks, and takes only tensors of known rank");
  if (StaysAsItIs(to, "DequantizeLinear", *has_axis)) return std::nullopt;
  Tensor x = to.CastTo(request.operands[0], DType::kFloat32);
  if (request.operand(2)) x = to.Sub(x, Spread(to, request, request.operands[2]));
  return {{to.CastTo(to.Mul(x, Spread(to, request, request.operands[1])), request.types[0].dtype)}};
}

constexpr LegalizeRule kRules[] = {
    {"DequantizeLinear", kNever, &DequantizeByScaling},
    {"QuantizeLinear", 13, &QuantizeByRounding},
};

}  // namespace

std::span<const LegalizeRule> QuantizationForms() { return kRules; }

}  // namespace flambeau::onnx
