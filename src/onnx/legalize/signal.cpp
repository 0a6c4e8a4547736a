// Fourier transforms.
#include <bit>
#include <cmath>
#include <numeric>

#include "onnx/legalize/rule.h"
#include "onnx/series.h"

namespace flambeau::onnx {
namespace {

// Whether turns of 1/n are whole or half ones, the sine of which is 0.
Tensor IsHalfTurn(Builder& to, const Tensor& turns, const Tensor& n) {
  return to.Equal(to.Mod(to.Mul(turns, to.ConstantInt(2)), n), to.ConstantInt(0));
}

// The axis that is transformed, where it and the number of parts are known.
std::optional<int64_t> KnownAxis(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], operand = request.operand(2);
  const auto axis = operand ? KnownInts(to, operand) : Ints{-2};
  if (!x.ranked() || x.rank() < 2 || !to.AsConstant(x.size(-1)) || !axis || axis->size() != 1) return std::nullopt;
  const int64_t positive = axis->front() + (axis->front() < 0 ? x.rank() : 0);
  return positive >= 0 && positive + 1 < x.rank() ? std::optional(positive) : std::nullopt;
}

// Whether it transforms all of the axis, and not half of it back.
bool HasFormOfProducts(const Request& request) {
  return !request.operand(1) && (request.Int("inverse", 0) == 0 || request.Int("onesided", 0) == 0);
}

// Products with the cosines and sines of all angles. Turns are counted whole, so that the angles of long transforms keep
// their digits.
Results DftByProducts(Builder& to, const Request& request) {
  const auto known = KnownAxis(to, request);
  if (!known || !HasFormOfProducts(request)) return Refuse(to, request, "does not exist");
  const Tensor x = request.operands[0];
  const int64_t axis = *known, last = x.rank() - 2;
  const bool inverse = request.Int("inverse", 0) != 0, onesided = request.Int("onesided", 0) != 0;
  const Tensor n = SizeNumber(to, x, axis);
  const Tensor count = onesided ? to.Add(to.Div(n, to.ConstantInt(2)), to.ConstantInt(1)) : n;
  const Tensor turns = to.Mod(to.Mul(to.UnsqueezeAt(Iota(to, n), {1}), Iota(to, count)), n);
  const Tensor angle = to.Mul(to.CastTo(turns, DType::kFloat64), to.Div(Double(to, 2 * M_PI), to.CastTo(n, DType::kFloat64)));
  const Tensor cosines = to.CastTo(to.Cos(angle), x.dtype());
  const Tensor sines = to.CastTo(to.Where(IsHalfTurn(to, turns, n), Double(to, 0), to.Sin(angle)), x.dtype());
  // One product for all that lies beside the axis, which therefore comes last.
  Ints order(static_cast<size_t>(x.rank() - 1));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(last)]);
  const auto part = [&](int64_t i) { return to.Permute(to.Gather(x, to.ConstantInt(i), {.axis = x.rank() - 1}), order); };
  const Tensor re = part(0);
  Tensor real = to.MatMul(re, cosines), imaginary = to.MatMul(re, sines);
  if (!inverse) imaginary = to.Sub(to.ConstantOf(0.0, x.dtype()), imaginary);  // 0 stays 0, whose angle is not -π
  if (to.AsConstant(x.size(-1)) == 2) {
    const Tensor im = part(1), turned = to.MatMul(im, sines);
    real = inverse ? to.Sub(real, turned) : to.Add(real, turned);
    imaginary = to.Add(imaginary, to.MatMul(im, cosines));
  }
  const auto placed = [&](const Tensor& y) { return to.UnsqueezeAt(to.Permute(y, order), {x.rank() - 1}); };
  Tensor result = to.Concat(Tensors{placed(real), placed(imaginary)}, {.axis = x.rank() - 1});
  if (inverse) result = to.Div(result, to.CastTo(n, x.dtype()));
  return {{result}};
}

// onnxruntime 1.31 transforms what is no power of two by its definition, for which a matrix product is faster as long as
// the matrix is small: windows of speech are of 240 and 400 elements.
bool IsFasterByProducts(Builder& to, const Request& request) {
  constexpr int64_t kMost = 512;
  const auto axis = KnownAxis(to, request);
  if (!axis || !HasFormOfProducts(request)) return false;
  const auto n = to.AsConstant(request.operands[0].size(*axis));
  return n && *n > 0 && *n <= kMost && !std::has_single_bit(static_cast<uint64_t>(*n));
}

// What stands for itself in the mirror of real numbers' frequencies is real. onnxruntime takes the sine of a rounded π there,
// of which the sign, and the angle of the sum with it, is by chance.
Tensor WithRealMirrors(Builder& to, const Request& request, const Tensor& result) {
  const auto axis = KnownAxis(to, request);
  const Tensor x = request.operands[0];
  if (!axis || request.operand(1) || to.AsConstant(x.size(-1)) != 1 || request.Int("inverse", 0) != 0) return result;
  if (const auto n = to.AsConstant(x.size(*axis)); n && *n > 0 && std::has_single_bit(static_cast<uint64_t>(*n))) return result;
  const Tensor frequencies = Iota(to, SizeNumber(to, result, *axis));
  Ints behind;
  for (int64_t d = *axis + 1; d < x.rank(); ++d) behind.push_back(d - *axis);
  const Tensor mirrors = to.UnsqueezeAt(IsHalfTurn(to, frequencies, SizeNumber(to, x, *axis)), behind);
  const Tensor is_imaginary = to.CastTo(to.ConstantInts({0, 1}), DType::kBool);
  return to.Where(to.And(mirrors, is_imaginary), to.ConstantOf(0.0, x.dtype()), result);
}

// The axis is an attribute before opset 20.
Results DftOfOpset(Builder& to, const Request& request) {
  const bool for_runtime = to.widens_for_runtime();
  if (to.opset() < 17 || (for_runtime && IsFasterByProducts(to, request))) return DftByProducts(to, request);
  std::span<const Tensor> operands = request.operands;
  AttributeList attributes = request.attributes;
  if (const Tensor operand = request.operand(2); operand && to.opset() < 20) {
    const auto axis = KnownInts(to, operand);
    if (!axis || axis->size() != 1) return Refuse(to, request, "takes 'axis' only as a constant");
    operands = operands.first(2);
    attributes = With(attributes, "axis", axis->front());
  }
  const Tensor result = EmitAsIs(to, "DFT", operands, attributes, 1)[0];
  return {{for_runtime ? WithRealMirrors(to, request, result) : result}};
}

constexpr LegalizeRule kRules[] = {
    {"DFT", kNever, &DftOfOpset},
};

}  // namespace

std::span<const LegalizeRule> SignalForms() { return kRules; }

}  // namespace flambeau::onnx
