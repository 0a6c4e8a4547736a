// Operators of two operands, with PyTorch's broadcasting and type promotion.
#include "lower/ops/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lower/ops/accumulation.h"
#include "lower/ops/activation.h"
#include "lower/ops/complex.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/geometry.h"
#include "lower/ops/loops.h"
#include "lower/op.h"
#include "onnx/complex_functions.h"
#include "support/numeric.h"

namespace flambeau::lower {

bool MayBeWide(Lowering& to, const Tensor& x) {
  if (x.dtype() != DType::kInt64 || !to.widens_for_runtime()) return false;
  if (x.is_number() && x.number().is_constant()) return x.number().AsInt() != static_cast<int32_t>(x.number().AsInt());
  if (x.is_number() || x.type().contents) return false;
  const flambeau::Value& value = to.graph()[x.id()];
  if (value.kind != ValueKind::kResult || to.graph().op(value.node) != "Cast") return true;
  // Counts, and elements that were of fewer bits.
  const DType before = to.graph().type(to.graph().operand(value.node, 0)).dtype;
  return before != DType::kBool && before != DType::kInt32 && ByteSize(before) >= (IsFloating(before) ? 1 : 4);
}

Tensor Add(Lowering& to, Tensor self, Tensor other, Scalar alpha) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  if (dtype == DType::kBool) return alpha.Is(0) ? to.Or(a, to.And(b, to.NumberOf(false, dtype))) : to.Or(a, b);
  return to.Add(a, to.Scale(b, alpha));
}

Tensor Sub(Lowering& to, Tensor self, Tensor other, Scalar alpha) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  return to.Sub(a, to.Scale(b, alpha));
}

namespace {

// Whether one number may be far from each of the 16-bit floats beside it: -1e9, 1e-8, a size. PyTorch rounds what it makes
// of the number, not the number: (1 - mask) * -1e9 is 0 where the mask is 1, and no product of infinity.
bool IsFarFromHalf(const Tensor& tensor, DType dtype) {
  if (!IsHalf(dtype) || tensor.rank() != 0 || tensor.dtype() == dtype) return false;
  if (!tensor.is_number() || !tensor.number().is_constant()) return true;
  const double size = std::abs(tensor.number().AsDouble());
  return std::isfinite(size) && size != 0 && (size > LargestFinite(dtype) || size < SmallestNormal(dtype));
}

DType DtypeOfProduct(const Tensor& a, const Tensor& b, DType dtype) {
  return IsFarFromHalf(a, dtype) || IsFarFromHalf(b, dtype) ? AccumulationDtype(dtype) : dtype;
}

}  // namespace

Tensor Mul(Lowering& to, Tensor self, Tensor other) {
  const DType dtype = to.PromotedDtype({self, other}), wide = DtypeOfProduct(self, other, dtype);
  const Tensor a = to.CastTo(self, wide), b = to.CastTo(other, wide);
  return dtype == DType::kBool ? to.And(a, b) : to.CastTo(to.Mul(a, b), dtype);
}

Tensor Div(Lowering& to, Tensor self, Tensor other) {
  const DType dtype = to.FloatDtype({self, other}), wide = DtypeOfProduct(self, other, dtype);
  return to.CastTo(to.Div(to.CastTo(self, wide), to.CastTo(other, wide)), dtype);
}

namespace {

Tensor Rsub(Lowering& to, Tensor self, Tensor other, Scalar alpha) { return Sub(to, other, self, alpha); }

bool IsPowerOfTwo(const Tensor& tensor) {
  if (!tensor.is_number() || !tensor.number().is_constant()) return false;
  int exponent;
  return std::frexp(tensor.number().AsDouble(), &exponent) == 0.5;
}

// Whether a divisor is a constant above zero, so that the signs of quotients
// and remainders are known.
bool IsPositive(const Tensor& divisor) {
  return divisor.is_number() && divisor.number().is_constant() && divisor.number().AsDouble() > 0;
}

// Whether that is known of integers: they are constants, or sizes.
bool IsNonNegative(Lowering& to, const Tensor& tensor) {
  const auto& contents = tensor.type().contents;
  return contents && std::ranges::all_of(*contents, [&](Expr e) { return to.exprs().RangeOf(e).min >= 0; });
}

// onnxruntime divides by no single integer that is 0, not even where there is nothing to divide: `x % x.size(0)`.
Tensor IntegerDivisor(Lowering& to, const Tensor& dividend, const Tensor& divisor) {
  const auto& contents = divisor.type().contents;
  if (!contents || contents->size() != 1 || to.exprs().RangeOf(contents->front()).min != 0) return divisor;
  const bool may_be_empty = dividend.ranked() && std::ranges::any_of(dividend.type().sizes, [&](Expr size) { return to.exprs().RangeOf(size).min <= 0; });
  return may_be_empty ? to.CastTo(to.Number({to.exprs().Max(contents->front(), to.exprs().Constant(1))}), divisor.dtype()) : divisor;
}

Tensor DifferentSigns(Lowering& to, Tensor a, Tensor b) {
  const Tensor zero = to.NumberOf(0, a.dtype());
  return to.Xor(to.Less(a, zero), to.Less(b, zero));
}

Tensor IsNot(Lowering& to, Tensor a, double number) { return to.Not(to.Equal(a, to.NumberOf(number, a.dtype()))); }

// floor(a / b) can be off by one, since a / b was rounded; the remainder is
// exact. The quotient by zero is what division says.
Tensor FloorDivideFloats(Lowering& to, Tensor a, Tensor b, const Tensor& divisor) {
  // Nothing is left over of infinity but NaN, which is what 0 times it is.
  if (IsPowerOfTwo(divisor)) return to.Add(to.Floor(to.Div(a, b)), to.Mul(a, to.NumberOf(0, a.dtype())));
  const Tensor rest = to.Mod(a, b, {.fmod = 1});
  const Tensor quotient = to.Round(to.Div(to.Sub(a, rest), b));
  if (IsPositive(divisor)) return to.Sub(quotient, to.CastTo(to.Less(rest, to.NumberOf(0, a.dtype())), a.dtype()));
  const Tensor below = to.And(IsNot(to, rest, 0), DifferentSigns(to, rest, b));
  const Tensor zero = to.NumberOf(0, a.dtype());
  Tensor floored = to.Sub(quotient, to.CastTo(below, a.dtype()));
  // Nothing has the sign of a / b, which the remainder lost: 0 becomes -0, to which that zero is added. Of other divisors
  // onnxruntime loses it anyhow: its Where makes 0 of -0.
  if (divisor.is_number() && divisor.number().is_constant())
    floored = to.Add(to.Neg(to.Sub(zero, floored)), to.Div(to.Mul(a, zero), b));
  return to.Where(to.Equal(b, zero), to.Div(a, b), floored);
}

// What 16-bit floats are divided by where it is one number: PyTorch rounds the quotient, not the number.
bool IsNumberBeside(const Tensor& divisor, DType dtype) { return IsHalf(dtype) && divisor.rank() == 0; }

Tensor DivWithMode(Lowering& to, Tensor self, Tensor other, std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode || *rounding_mode == "true") return Div(to, self, other);  // torch 1.8 had a name for none
  if (*rounding_mode == "floor") return FloorDivide(to, self, other);
  if (*rounding_mode != "trunc") throw onnx::BadOperand("takes a 'rounding_mode' of 'trunc' or 'floor', or none");
  const DType result = to.PromotedDtype({self, other});
  if (IsNumberBeside(other, result)) {
    const DType wide = AccumulationDtype(result);
    return to.CastTo(DivWithMode(to, to.CastTo(self, wide), to.CastTo(other, wide), rounding_mode), result);
  }
  const auto [dtype, a, b] = Promoted(to, self, other);
  // ONNX has no Trunc; its integer division truncates.
  if (!IsFloating(dtype)) return to.Div(a, IntegerDivisor(to, a, b));
  const Tensor quotient = to.Div(a, b);
  return to.Mul(to.Sign(quotient), to.Floor(to.Abs(quotient)));
}

Tensor Fmod(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, given] = Promoted(to, self, other);
  const Tensor b = IsFloating(dtype) ? given : IntegerDivisor(to, a, given);
  // onnxruntime computes it in float64.
  if ((dtype == DType::kInt64 || dtype == DType::kUint64) && to.widens_for_runtime()) return to.Sub(a, to.Mul(to.Div(a, b), b));
  return to.Mod(a, b, {.fmod = 1});
}

}  // namespace

Tensor FloorDivide(Lowering& to, Tensor self, Tensor other) {
  const DType result = to.PromotedDtype({self, other});
  if (IsNumberBeside(other, result)) {
    const DType wide = AccumulationDtype(result);
    return to.CastTo(FloorDivideFloats(to, to.CastTo(self, wide), to.CastTo(other, wide), other), result);
  }
  const auto [dtype, a, given] = Promoted(to, self, other);
  if (IsFloating(dtype)) return FloorDivideFloats(to, a, given, other);
  const Tensor b = IntegerDivisor(to, a, given);
  // Integer division truncates, which is one too many where there is a rest of the other sign than the divisor's.
  const Tensor quotient = to.Div(a, b);
  if (!IsSigned(dtype) || (IsNonNegative(to, a) && IsNonNegative(to, b))) return quotient;
  const Tensor product = to.Mul(quotient, b);
  if (IsPositive(other) && WrappedInt(dtype, other.number().AsInt()) > 0)
    return to.Sub(quotient, to.CastTo(to.Less(a, product), dtype));
  const Tensor rest = to.Sub(a, product);
  const Tensor above = to.And(IsNot(to, rest, 0), DifferentSigns(to, rest, b));
  return to.Sub(quotient, to.CastTo(above, dtype));
}

Tensor Remainder(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  if (!IsFloating(dtype)) return to.Mod(a, IntegerDivisor(to, a, b));
  // For floats ONNX has only the remainder with the dividend's sign.
  const Tensor rest = to.Mod(a, b, {.fmod = 1});
  const Tensor wrong = IsPositive(other) ? to.Less(rest, to.NumberOf(0, dtype))
                                         : to.And(IsNot(to, rest, 0), DifferentSigns(to, rest, b));
  return to.Where(wrong, to.Add(rest, b), rest);
}

// Of integers, which wrap as they do in PyTorch, by the bits of the exponents, of which none is negative: onnxruntime's
// Pow computes in float64.
Tensor PowByBits(Lowering& to, Tensor base, Tensor power) {
  const DType dtype = base.dtype();
  const Tensor zero = to.ConstantInt(0), two = to.ConstantInt(2);
  auto wide = [&](const Tensor& x) { return to.CastTo(x, DType::kInt64); };
  // Zeros of the sizes to which the two broadcast, which may be known at run time only.
  const Tensor nothing = to.Add(to.Mul(wide(base), zero), to.Mul(wide(power), zero));
  const Tensor bits = to.Add(wide(power), nothing), result = to.Add(nothing, to.ConstantInt(1));
  auto any = [&](const Tensor& rest) {
    const Tensor count = to.ReduceSum(to.CastTo(to.Greater(rest, zero), DType::kInt64), {}, {.keepdims = 0});
    return to.Greater(count, zero);
  };
  const std::vector<Tensor> start = {any(bits), result, to.Add(wide(base), nothing), bits};
  const auto states = RepeatWhile(to, to.ConstantInt(63), start, [&](const Tensor&, const std::vector<Tensor>& states) {
    const Tensor rest = to.Div(states[3], two), is_odd = to.Greater(states[3], to.Mul(rest, two));
    const Tensor product = to.Where(is_odd, to.Mul(states[1], states[2]), states[1]);
    return std::vector<Tensor>{any(rest), product, to.Mul(states[2], states[2]), rest};
  });
  return to.CastTo(states[1], dtype);
}

// Whether onnxruntime's Pow would lose digits. Powers of 2 are exact in any float.
bool NeedsBits(Lowering& to, const Tensor& base, const Tensor& exponent, DType dtype) {
  if (IsFloating(dtype) || IsComplex(dtype) || !to.widens_for_runtime() || !exponent.ranked() || !base.ranked()) return false;
  const bool is_folded = (base.is_number() || base.type().contents) && (exponent.is_number() || exponent.type().contents);
  return !IsPowerOfTwo(base) && !is_folded;
}

// Of a constant power of 2 above 1, which a float64 holds; what passes the bits of the integers is 0 to PyTorch, and no
// number to the cast from float64.
Tensor PowOfTwos(Lowering& to, const Tensor& base, const Tensor& power, int64_t two_to) {
  const DType dtype = base.dtype();
  const int64_t bits = 8 * ByteSize(dtype), limit = (bits + two_to - 1) / two_to;
  const Tensor zero = to.NumberOf(0, dtype);
  Tensor within = to.Less(power, to.NumberOf(limit, dtype));
  if (IsSigned(dtype)) within = to.And(within, to.Not(to.Less(power, zero)));
  return to.Where(within, to.Pow(base, to.Where(within, power, zero)), zero);
}

namespace {

// onnxruntime computes powers of integers in float64.
Tensor PowBySquares(Lowering& to, Tensor base, int64_t exponent) {
  Tensor square = base, power;
  for (int64_t rest = exponent; rest > 0; rest /= 2) {
    if (rest % 2 == 1) power = power ? to.Mul(power, square) : square;
    if (rest > 1) square = to.Mul(square, square);
  }
  return power;
}

// To a number that is known: as eager computes these, and integers stay exact. Invalid for others.
Tensor PowOfNumber(Lowering& to, Tensor base, const Scalar& exponent, DType dtype) {
  if (IsComplex(dtype) && exponent.is_constant() && exponent.AsComplex() == 0.0) return to.Full(base.sizes(), 1, dtype);
  if (exponent.Is(1)) return base;
  if (exponent.Is(2)) return to.Mul(base, base);
  if (exponent.Is(3)) return to.Mul(to.Mul(base, base), base);
  const bool is_integer = exponent.is_constant() && exponent.kind() == Scalar::Kind::kInt;
  if (dtype == DType::kInt64 && is_integer && exponent.AsInt() > 3 && exponent.AsInt() < 64) return PowBySquares(to, base, exponent.AsInt());
  if (exponent.Is(0.5)) return to.Sqrt(base);
  if (exponent.Is(-0.5)) return to.Reciprocal(to.Sqrt(base));
  if (exponent.Is(-1) && (IsFloating(dtype) || IsComplex(dtype))) return to.Reciprocal(base);
  if (exponent.Is(-2) && IsComplex(dtype)) return to.Reciprocal(to.Mul(base, base));
  return {};
}

}  // namespace

Tensor Pow(Lowering& to, Tensor self, Tensor exponent) {
  const auto [dtype, base, power] = Promoted(to, self, exponent);
  if (exponent.is_number() && !self.is_number())
    if (const Tensor known = PowOfNumber(to, base, exponent.number(), dtype)) return known;
  if ((dtype == DType::kInt32 || dtype == DType::kInt64) && IsPowerOfTwo(self) && self.number().AsDouble() > 1)
    return PowOfTwos(to, base, power, std::ilogb(self.number().AsDouble()));
  const bool not_negative = exponent.is_number() && exponent.number().is_constant() && exponent.number().AsDouble() >= 0;
  const bool by_bits = NeedsBits(to, self, exponent, dtype);
  auto pow = [&](const Tensor& exponents) { return by_bits ? PowByBits(to, base, exponents) : to.Pow(base, exponents); };
  if (IsFloating(dtype) || !IsSigned(dtype) || not_negative) return pow(power);
  // Of integers, powers below 0 are cut to 0, but for those of 1 and -1.
  const Tensor zero = to.NumberOf(0, dtype), one = to.NumberOf(1, dtype);
  const Tensor unit = to.Equal(to.Abs(base), one);
  const Tensor parity = to.Where(to.Equal(to.Mod(power, to.NumberOf(2, dtype)), zero), one, base);
  return to.Where(to.Less(power, zero), to.Where(unit, parity, zero), pow(to.Max({power, zero})));
}

namespace {

// Max, Min and Clip of onnxruntime 1.31 compare the lower halves of int64 with a sign: 3000000000 is less than 0 to them.
Tensor Larger(Lowering& to, Tensor a, Tensor b, bool wide) { return wide ? to.Where(to.Less(a, b), b, a) : to.Max({a, b}); }
Tensor Smaller(Lowering& to, Tensor a, Tensor b, bool wide) { return wide ? to.Where(to.Less(b, a), b, a) : to.Min({a, b}); }

bool AnyIsWide(Lowering& to, DType dtype, std::initializer_list<Tensor> operands) {
  return dtype == DType::kInt64 && std::ranges::any_of(operands, [&](const Tensor& x) { return x && MayBeWide(to, x); });
}

}  // namespace

Tensor Maximum(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  return dtype == DType::kBool ? to.Or(a, b) : Larger(to, a, b, AnyIsWide(to, dtype, {self, other}));
}

Tensor Minimum(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  return dtype == DType::kBool ? to.And(a, b) : Smaller(to, a, b, AnyIsWide(to, dtype, {self, other}));
}

Tensor Clamp(Lowering& to, Tensor self, std::optional<Tensor> min, std::optional<Tensor> max) {
  const DType dtype = to.PromotedDtype({self, min.value_or(Tensor()), max.value_or(Tensor())});
  const Tensor x = to.CastTo(self, dtype);
  const Tensor low = min ? to.CastTo(*min, dtype) : Tensor(), high = max ? to.CastTo(*max, dtype) : Tensor();
  auto is_scalar = [](const Tensor& bound) { return !bound || (bound.ranked() && bound.rank() == 0); };
  // A bound that is NaN makes everything NaN; Clip ignores it.
  auto is_number = [&](const std::optional<Tensor>& bound) {
    return !bound || (bound->is_number() && bound->number().is_constant() && !std::isnan(bound->number().AsDouble()));
  };
  // A bound that ONNX's Clip lacks is the type's greatest number, not infinity.
  const auto or_none = [&](const Tensor& bound, double infinity) {
    return bound || !IsFloating(dtype) ? bound : to.NumberOf(infinity, dtype);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool wide = AnyIsWide(to, dtype, {self, min.value_or(Tensor()), max.value_or(Tensor())});
  if (!wide && ((is_number(min) && is_number(max)) || (!IsFloating(dtype) && is_scalar(low) && is_scalar(high))))
    return to.Clip(x, or_none(low, -kInfinity), or_none(high, kInfinity));
  const Tensor raised = low ? Larger(to, x, low, wide) : x;
  return high ? Smaller(to, raised, high, wide) : raised;
}

namespace {

Tensor ClampMin(Lowering& to, Tensor self, Tensor min) { return Clamp(to, self, min, std::nullopt); }
Tensor ClampMax(Lowering& to, Tensor self, Tensor max) { return Clamp(to, self, std::nullopt, max); }

// NaN loses against a number.
Tensor Fmax(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  if (!IsFloating(dtype)) return Maximum(to, a, b);
  return to.Where(to.IsNaN(a), b, to.Where(to.IsNaN(b), a, to.Max({a, b})));
}

Tensor Fmin(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  if (!IsFloating(dtype)) return Minimum(to, a, b);
  return to.Where(to.IsNaN(a), b, to.Where(to.IsNaN(b), a, to.Min({a, b})));
}

Tensor Addcmul(Lowering& to, Tensor self, Tensor tensor1, Tensor tensor2, Scalar value) {
  const DType dtype = to.PromotedDtype({self, tensor1, tensor2}), wide = AccumulationDtype(dtype);
  const Tensor product = to.Mul(to.CastTo(tensor1, wide), to.CastTo(tensor2, wide));
  return to.CastTo(to.Add(to.CastTo(self, wide), to.Scale(product, value)), dtype);
}

Tensor Addcdiv(Lowering& to, Tensor self, Tensor tensor1, Tensor tensor2, Scalar value) {
  const DType dtype = to.FloatDtype({self, tensor1, tensor2}), wide = AccumulationDtype(dtype);
  const Tensor quotient = to.Div(to.CastTo(tensor1, wide), to.CastTo(tensor2, wide));
  return to.CastTo(to.Add(to.CastTo(self, wide), to.Scale(quotient, value)), dtype);
}

// From the nearer end, as PyTorch: at a weight of 1 it is `end` itself, however small that is beside `self`.
constexpr double kHalfWay = 0.5;

Tensor Between(Lowering& to, const Tensor& self, const Tensor& end, const Tensor& weight, DType dtype) {
  const DType wide = AccumulationDtype(dtype);
  const Tensor from = to.CastTo(self, wide), until = to.CastTo(end, wide), part = to.CastTo(weight, wide);
  const Tensor size = to.Abs(part), near = to.Less(size, to.NumberOf(kHalfWay, size.dtype()));
  const Tensor rest = to.Where(near, part, to.Sub(part, to.NumberOf(1.0, wide)));
  return to.CastTo(to.Add(to.Where(near, from, until), to.Mul(rest, to.Sub(until, from))), dtype);
}

// Of tensors of no dimension, PyTorch takes several dtypes.
Tensor Lerp(Lowering& to, Tensor self, Tensor end, Tensor weight) {
  return Between(to, self, end, weight, to.PromotedDtype({self, end, weight}));
}

Tensor LerpByNumber(Lowering& to, Tensor self, Tensor end, Scalar weight) {
  if (!weight.is_constant()) return Between(to, self, end, to.NumberOf(weight, AccumulationDtype(self.dtype())), self.dtype());
  const DType wide = AccumulationDtype(self.dtype());
  const Tensor from = to.CastTo(self, wide), until = to.CastTo(end, wide);
  const bool near = std::abs(weight.AsComplex()) < kHalfWay;
  const Scalar rest = near ? weight : weight.is_complex() ? Scalar(weight.AsComplex() - 1.0) : Scalar(weight.AsDouble() - 1.0);
  return to.CastTo(to.Add(near ? from : until, to.Scale(to.Sub(until, from), rest)), self.dtype());
}

Tensor FloatPower(Lowering& to, Tensor self, Tensor exponent) {
  const DType dtype = self.is_complex() || exponent.is_complex() ? DType::kComplex128 : DType::kFloat64;
  return to.Pow(to.CastTo(self, dtype), to.CastTo(exponent, dtype));
}

// In float64, squares of float32 neither overflow nor vanish.
Tensor Hypot(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  const Tensor x = to.CastTo(a, DType::kFloat64), y = to.CastTo(b, DType::kFloat64);
  const Tensor length = to.Sqrt(to.Add(to.Mul(x, x), to.Mul(y, y)));
  const Tensor infinity = to.NumberOf(std::numeric_limits<double>::infinity(), DType::kFloat64);
  return to.CastTo(to.Where(to.Or(to.IsInf(x), to.IsInf(y)), infinity, length), dtype);  // beside NaN, too
}

Tensor Ldexp(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, x, exponent] = PromotedToFloat(to, self, other);
  return to.Mul(x, to.Pow(to.NumberOf(2.0, dtype), exponent));
}

// |a - b|, and 0 where both are the same infinity.
Tensor Distance(Lowering& to, const Tensor& a, const Tensor& b) {
  return to.Where(to.Equal(a, b), to.NumberOf(0.0, a.dtype()), to.Abs(to.Sub(a, b)));
}

// The number of the larger real part + log(1 + exp(their distance)), that part finite.
Tensor ComplexLogAddExp(Lowering& to, const Tensor& a, const Tensor& b) {
  const Tensor re = RealPart(to, a), other = RealPart(to, b), swapped = to.Less(re, other);
  const Tensor larger = to.Where(swapped, b, a), smaller = to.Where(swapped, a, b);
  const Tensor sum = to.Add(larger, to.Log(to.Add(to.Exp(to.Sub(smaller, larger)), to.NumberOf(1.0, a.dtype()))));
  const Tensor undefined = to.Or(to.IsNaN(re), to.IsNaN(other));
  return to.Where(to.And(to.IsInf(RealPart(to, larger)), to.Not(undefined)), larger, to.Where(undefined, to.Add(a, b), sum));
}

Tensor PromotedLogAddExp(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = PromotedToFloat(to, self, other);
  return LogAddExp(to, a, b);
}

Tensor LogAddExp2(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = PromotedToFloat(to, self, other);
  const Tensor power = to.Pow(to.NumberOf(2.0, dtype), to.Neg(Distance(to, a, b)));
  const Tensor tail = to.Log(to.Add(power, to.NumberOf(1.0, dtype)));
  return to.Add(to.Max({a, b}), to.Mul(tail, to.NumberOf(1 / std::log(2.0), dtype)));
}

// x · f(y), and 0 where x is 0 unless y is NaN.
Tensor Xlogy(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, x, y] = PromotedToFloat(to, self, other);
  const Tensor zero = to.NumberOf(0.0, dtype);
  const Tensor is_zero = to.And(to.Equal(x, zero), to.Not(to.IsNaN(y)));
  return to.Where(is_zero, zero, to.Mul(x, to.Log(y)));
}

Tensor Xlog1py(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, x, y] = PromotedToFloat(to, self, other);
  const Tensor zero = to.NumberOf(0.0, dtype);
  const Tensor is_zero = to.And(to.Equal(x, zero), to.Not(to.IsNaN(y)));
  return to.Where(is_zero, zero, to.Mul(x, Log1p(to, y)));
}

Tensor Heaviside(Lowering& to, Tensor self, Tensor values) {
  const Tensor zero = to.NumberOf(0, self.dtype());
  const Tensor step = to.CastTo(to.Less(zero, self), self.dtype());
  return to.Where(to.Equal(self, zero), to.CastTo(values, self.dtype()), step);
}

Tensor Signbit(Lowering& to, Tensor self) {
  if (self.is_bool() || !IsSigned(self.dtype())) return to.Full(self.sizes(), false, DType::kBool);
  return onnx::HasSign(to, self);
}

}  // namespace

Tensor Copysign(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, magnitude, sign] = PromotedToFloat(to, self, other);
  const Tensor size = to.Abs(magnitude);
  return to.Where(onnx::HasSign(to, sign), to.Neg(size), size);
}

namespace {

Tensor Atan2(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, y, x] = PromotedToFloat(to, self, other);
  return onnx::Angle(to, y, x);
}

Tensor AddRelu(Lowering& to, Tensor self, Tensor other, Scalar alpha) { return Relu(to, Add(to, self, other, alpha)); }

constexpr OpRow kRows[] = {
    Op<AddRelu>("aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    Op<AddRelu>("aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    Op<Add>("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    Op<Add>("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    Op<Addcdiv>("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"),
    Op<Addcmul>("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"),
    Op<Atan2>("aten::arctan2(Tensor self, Tensor other) -> Tensor"),
    Op<Atan2>("aten::atan2(Tensor self, Tensor other) -> Tensor"),
    Op<Clamp>("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"),
    Op<Clamp>("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"),
    Op<ClampMax>("aten::clamp_max(Tensor self, Scalar max) -> Tensor"),
    Op<ClampMax>("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor"),
    Op<ClampMin>("aten::clamp_min(Tensor self, Scalar min) -> Tensor"),
    Op<ClampMin>("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor"),
    Op<Clamp>("aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"),
    Op<Clamp>("aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"),
    Op<Copysign>("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Copysign>("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Div>("aten::div.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<DivWithMode>("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor"),
    Op<Div>("aten::div.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<DivWithMode>("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    Op<Div>("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<DivWithMode>("aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor"),
    Op<Div>("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<DivWithMode>("aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    Op<FloatPower>("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor"),
    Op<FloatPower>("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"),
    Op<FloatPower>("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"),
    Op<FloorDivide>("aten::floor_divide(Tensor self, Tensor other) -> Tensor"),
    Op<FloorDivide>("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Fmax>("aten::fmax(Tensor self, Tensor other) -> Tensor"),
    Op<Fmin>("aten::fmin(Tensor self, Tensor other) -> Tensor"),
    Op<Fmod>("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Fmod>("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Heaviside>("aten::heaviside(Tensor self, Tensor values) -> Tensor"),
    Op<Hypot>("aten::hypot(Tensor self, Tensor other) -> Tensor"),
    Op<Ldexp>("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<LerpByNumber>("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor"),
    Op<Lerp>("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"),
    Op<PromotedLogAddExp>("aten::logaddexp(Tensor self, Tensor other) -> Tensor"),
    Op<LogAddExp2>("aten::logaddexp2(Tensor self, Tensor other) -> Tensor"),
    Op<Maximum>("aten::max.other(Tensor self, Tensor other) -> Tensor"),
    Op<Maximum>("aten::maximum(Tensor self, Tensor other) -> Tensor"),
    Op<Minimum>("aten::min.other(Tensor self, Tensor other) -> Tensor"),
    Op<Minimum>("aten::minimum(Tensor self, Tensor other) -> Tensor"),
    Op<Mul>("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Mul>("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Mul>("aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Mul>("aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Pow>("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor"),
    Op<Pow>("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"),
    Op<Pow>("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"),
    Op<Remainder>("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Remainder>("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    Op<Remainder>("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Rsub>("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    Op<Rsub>("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    Op<Signbit>("aten::signbit(Tensor self) -> Tensor"),
    Op<Xlog1py>("aten::special_xlog1py(Tensor self, Tensor other) -> Tensor"),
    Op<Xlog1py>("aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Xlog1py>("aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor"),
    Op<Xlogy>("aten::special_xlogy(Tensor self, Tensor other) -> Tensor"),
    Op<Xlogy>("aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Xlogy>("aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor"),
    Op<Sub>("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    Op<Sub>("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    Op<Sub>("aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    Op<Sub>("aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    Op<Div>("aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Div>("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Xlogy>("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor"),
    Op<Xlogy>("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor"),
    Op<Xlogy>("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor"),
};

}  // namespace

Tensor LogAddExp(Lowering& to, Tensor a, Tensor b) {
  if (a.is_complex()) return ComplexLogAddExp(to, a, b);
  return to.Add(to.Max({a, b}), to.Log(to.Add(to.Exp(to.Neg(Distance(to, a, b))), to.NumberOf(1.0, a.dtype()))));
}

std::span<const OpRow> Arithmetic() { return kRows; }

}  // namespace flambeau::lower
