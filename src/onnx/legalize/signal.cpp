// Fourier transforms.
#include <bit>
#include <cmath>
#include <numeric>

#include "onnx/legalize/rule.h"
#include "onnx/series.h"

namespace flambeau::onnx {
namespace {

// Products with the cosines and sines of all angles. Turns are counted whole, so that the angles of long transforms keep
// their digits.
Results DftByProducts(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const auto given = request.operand(2) ? KnownInts(to, request.operand(2)) : Ints{-2};
  const auto parts = x.ranked() && x.rank() > 1 ? to.AsConstant(x.size(-1)) : std::nullopt;
  const bool inverse = request.Int("inverse", 0) != 0, onesided = request.Int("onesided", 0) != 0;
  if (!parts || !given || given->size() != 1 || request.operand(1) || (inverse && onesided)) return Refuse(to, request, "does not exist");
  const int64_t axis = given->front() < 0 ? given->front() + x.rank() : given->front(), last = x.rank() - 2;
  const Tensor n = SizeNumber(to, x, axis);
  const Tensor count = onesided ? to.Add(to.Div(n, to.ConstantInt(2)), to.ConstantInt(1)) : n;
  const Tensor turns = to.Mod(to.Mul(to.UnsqueezeAt(Iota(to, n), {1}), Iota(to, count)), n);
  const Tensor angle = to.Mul(to.CastTo(turns, DType::kFloat64), to.Div(Double(to, 2 * M_PI), to.CastTo(n, DType::kFloat64)));
  const Tensor cosines = to.CastTo(to.Cos(angle), x.dtype()), sines = to.CastTo(to.Sin(angle), x.dtype());
  // One product for all that lies beside the axis, which therefore comes last.
  Ints order(static_cast<size_t>(x.rank() - 1));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(last)]);
  const auto part = [&](int64_t i) { return to.Permute(to.Gather(x, to.ConstantInt(i), {.axis = x.rank() - 1}), order); };
  const Tensor re = part(0);
  Tensor real = to.MatMul(re, cosines), imaginary = to.MatMul(re, sines);
  if (!inverse) imaginary = to.Neg(imaginary);
  if (*parts == 2) {
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
  const Tensor x = request.operands[0], axis = request.operand(2);
  const auto known = axis ? KnownInts(to, axis) : std::nullopt;
  if (!to.widens_for_runtime() || !x.ranked() || !known || known->size() != 1 || request.operand(1)) return false;
  if (request.Int("inverse", 0) != 0 && request.Int("onesided", 0) != 0) return false;
  const auto n = to.AsConstant(x.size(known->front()));
  return n && *n > 0 && *n <= kMost && !std::has_single_bit(static_cast<uint64_t>(*n));
}

// The axis, an attribute before 20.
Results DftOfOpset(Builder& to, const Request& request) {
  if (to.opset() < 17 || IsFasterByProducts(to, request)) return DftByProducts(to, request);
  const Tensor operand = request.operand(2);
  if (!operand || to.opset() >= 20) return std::nullopt;
  const auto axis = KnownInts(to, operand);
  if (!axis || axis->size() != 1) return Refuse(to, request, "takes 'axis' only as a constant");
  return EmitAsIs(to, "DFT", request.operands.first(2), With(request.attributes, "axis", axis->front()), 1);
}

constexpr LegalizeRule kRules[] = {
    {"DFT", kNever, &DftOfOpset},
};

}  // namespace

std::span<const LegalizeRule> SignalForms() { return kRules; }

}  // namespace flambeau::onnx
