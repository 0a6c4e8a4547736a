// Fourier transforms.
#include <cmath>

#include "onnx/legalize/rule.h"
#include "onnx/series.h"

namespace flambeau::onnx {
namespace {

// Before there was DFT: products with the cosines and sines of all angles. Turns are counted whole, so that the angles of
// long transforms keep their digits.
Results DftByProducts(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const auto given = request.operand(2) ? KnownInts(to, request.operand(2)) : Ints{-2};
  const auto parts = x.ranked() && x.rank() > 1 ? to.AsConstant(x.size(-1)) : std::nullopt;
  const bool inverse = request.Int("inverse", 0) != 0, onesided = request.Int("onesided", 0) != 0;
  if (!parts || !given || given->size() != 1 || request.operand(1) || (inverse && onesided)) return Refuse(to, request, "does not exist");
  const int64_t axis = given->front() < 0 ? given->front() + x.rank() : given->front(), rows = x.rank() - 2;
  Ints order;
  for (int64_t d = 0; d < x.rank(); ++d) order.push_back(d);
  std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(rows)]);
  const Tensor n = SizeNumber(to, x, axis);
  const Tensor count = onesided ? to.Add(to.Div(n, to.ConstantInt(2)), to.ConstantInt(1)) : n;
  const Tensor turns = to.Mod(to.Mul(to.UnsqueezeAt(Iota(to, count), {1}), Iota(to, n)), n);
  const Tensor angle = to.Mul(to.CastTo(turns, DType::kFloat64), to.Div(Double(to, 2 * M_PI), to.CastTo(n, DType::kFloat64)));
  const Tensor signal = to.Permute(x, order);
  const Tensor cosines = to.MatMul(to.CastTo(to.Cos(angle), x.dtype()), signal);
  const Tensor sines = to.MatMul(to.CastTo(to.Sin(angle), x.dtype()), signal);
  Tensor result;
  if (*parts == 1) {
    result = to.Concat(Tensors{cosines, inverse ? sines : to.Neg(sines)}, {.axis = x.rank() - 1});
  } else {
    const Tensor re = to.SliceAxis(sines, -1, to.Of(0), to.Of(1)), im = to.SliceAxis(sines, -1, to.Of(1), to.Of(2));
    const Tensor turned = to.Concat(inverse ? Tensors{to.Neg(im), re} : Tensors{im, to.Neg(re)}, {.axis = x.rank() - 1});
    result = to.Add(cosines, turned);
  }
  if (inverse) result = to.Div(result, to.CastTo(n, x.dtype()));
  return {{to.Permute(result, order)}};
}

// The axis, an attribute before 20.
Results DftAxisToAttribute(Builder& to, const Request& request) {
  if (to.opset() < 17) return DftByProducts(to, request);
  const Tensor operand = request.operand(2);
  if (!operand) return std::nullopt;
  const auto axis = KnownInts(to, operand);
  if (!axis || axis->size() != 1) return Refuse(to, request, "takes 'axis' only as a constant");
  return EmitAsIs(to, "DFT", request.operands.first(2), With(request.attributes, "axis", axis->front()), 1);
}

constexpr LegalizeRule kRules[] = {
    {"DFT", 20, &DftAxisToAttribute},
};

}  // namespace

std::span<const LegalizeRule> SignalForms() { return kRules; }

}  // namespace flambeau::onnx
