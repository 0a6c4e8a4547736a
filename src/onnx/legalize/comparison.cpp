// Comparisons and choices, of types and in forms that came late.
#include <algorithm>
#include <cmath>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

bool IsWideInteger(const Tensor& x) { return x.dtype() == DType::kInt64 || x.dtype() == DType::kUint64; }

// Where x is NaN; nothing if it can't be.
Tensor NanIn(Builder& to, const Tensor& x) {
  const auto known = KnownFloats(to, x);
  if (known && std::ranges::none_of(*known, [](double value) { return std::isnan(value); })) return {};
  return to.IsNaN(x);
}

// not (wrong or either is NaN)
Tensor NotAmong(Builder& to, Tensor wrong, const Tensor& a, const Tensor& b) {
  for (const Tensor& nan : {NanIn(to, a), NanIn(to, b)})
    if (nan) wrong = to.Or(wrong, nan);
  return to.Not(wrong);
}

Results EqualOfFloats(Builder& to, const Request& request) {
  const Tensor a = request.operands[0], b = request.operands[1];
  if (!a.is_floating()) return std::nullopt;
  return {{NotAmong(to, to.Or(to.Less(a, b), to.Less(b, a)), a, b)}};
}

// Only floats were compared once: 64 bits as two halves, each exact in float64.
Results LessOfIntegers(Builder& to, const Request& request) {
  Tensor a = request.operands[0], b = request.operands[1];
  if (!IsWideInteger(a)) return std::nullopt;
  if (request.op == "Greater") std::swap(a, b);
  const Tensor base = to.ConstantOf(int64_t{1} << 32, a.dtype());
  auto high = [&](const Tensor& x) { return to.Div(x, base); };
  auto low = [&](const Tensor& x) { return to.CastTo(to.Sub(x, to.Mul(high(x), base)), DType::kFloat64); };
  const Tensor high_a = to.CastTo(high(a), DType::kFloat64), high_b = to.CastTo(high(b), DType::kFloat64);
  const Tensor same = to.Not(to.Or(to.Less(high_a, high_b), to.Less(high_b, high_a)));
  return {{to.Or(to.Less(high_a, high_b), to.And(same, to.Less(low(a), low(b))))}};
}

Results GreaterOrEqual(Builder& to, const Request& request) {
  Tensor a = request.operands[0], b = request.operands[1];
  if (request.op == "LessOrEqual") std::swap(a, b);
  const Tensor less = to.Less(a, b);
  return {{a.is_floating() ? NotAmong(to, less, a, b) : to.Not(less)}};
}

// NaN alone is neither below 1 nor above 0.
Results IsNaN(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  auto number = [&](double value) { return to.ConstantOf(value, x.dtype()); };
  return {{to.Not(to.Or(to.Less(x, number(1)), to.Greater(x, number(0))))}};
}

Results IsInf(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const double most = x.dtype() == DType::kFloat64    ? 0x1.fffffffffffffp1023
                      : x.dtype() == DType::kFloat16  ? 65504.0
                      : x.dtype() == DType::kBfloat16 ? 0x1.fep127
                                                      : 0x1.fffffep127;
  const bool positive = request.Int("detect_positive", 1) != 0, negative = request.Int("detect_negative", 1) != 0;
  const Tensor above = to.Greater(x, to.ConstantOf(most, x.dtype()));
  const Tensor below = to.Less(x, to.ConstantOf(-most, x.dtype()));
  if (positive && negative) return {{to.Or(above, below)}};
  if (positive || negative) return {{positive ? above : below}};
  return {{to.And(above, below)}};
}

// The elements of both in one list; the condition says at which place to read.
Results WhereByGather(Builder& to, const Request& request) {
  const Tensor x = request.operands[1], y = request.operands[2];
  const Tensor flat = to.ReshapeTo(x, Ints{-1}), other = to.ReshapeTo(y, Ints{-1});
  auto places = [&](const Tensor& list, const Tensor& of) {
    return IsEmpty(to, of) ? to.CastTo(of, DType::kInt64) : to.Reshape(Iota(to, SizeNumber(to, list, 0)), to.Shape(of));
  };
  const Tensor in_x = places(flat, x), in_y = to.Add(places(other, y), SizeNumber(to, flat, 0));
  const Tensor chosen = to.CastTo(request.operands[0], DType::kInt64);
  const Tensor place = to.Add(in_y, to.Mul(chosen, to.Sub(in_x, in_y)));
  return {{to.Gather(to.Concat(Tensors{flat, other}, {.axis = 0}), place)}};
}

constexpr LegalizeRule kRules[] = {
    {"Equal", 11, &EqualOfFloats},
    {"Greater", 9, &LessOfIntegers},
    {"GreaterOrEqual", 12, &GreaterOrEqual},
    {"IsInf", 10, &IsInf},
    {"IsNaN", 9, &IsNaN},
    {"Less", 9, &LessOfIntegers},
    {"LessOrEqual", 12, &GreaterOrEqual},
    {"Where", 9, &WhereByGather},
};

}  // namespace

std::span<const LegalizeRule> ComparisonForms() { return kRules; }

}  // namespace flambeau::onnx
