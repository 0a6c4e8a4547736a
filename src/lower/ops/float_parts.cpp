// Mantissas, exponents and neighbours of floats, by arithmetic: ONNX sees no bits.
#include "lower/ops/float_parts.h"

#include <cmath>
#include <limits>

#include "lower/op.h"
#include "lower/ops/elementwise.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

// In two steps: 2^-1074 has no reciprocal.
Tensor TimesPowerOfTwo(Lowering& to, Tensor x, Tensor exponent) {
  const Tensor half = to.Floor(to.Mul(exponent, Double(to, 0.5)));
  const Tensor first = to.Pow(Double(to, 2), half), second = to.Pow(Double(to, 2), to.Sub(exponent, half));
  return to.Mul(to.Mul(x, first), second);
}

struct Parts {
  Tensor mantissa;  // 0.5 <= |m| < 1
  Tensor exponent;
};

// Of finite numbers that aren't 0. The logarithm may be off near powers of two, which the mantissa shows.
Parts PartsOf(Lowering& to, Tensor x) {
  const Tensor log2 = to.Mul(to.Log(to.Abs(x)), Double(to, 1 / std::log(2.0)));
  Tensor exponent = to.Add(to.Floor(log2), Double(to, 1));
  const Tensor size = to.Abs(TimesPowerOfTwo(to, x, to.Neg(exponent)));
  const Tensor too_large = to.CastTo(to.GreaterOrEqual(size, Double(to, 1)), DType::kFloat64);
  const Tensor too_small = to.CastTo(to.Less(size, Double(to, 0.5)), DType::kFloat64);
  exponent = to.Sub(to.Add(exponent, too_large), too_small);
  return {TimesPowerOfTwo(to, x, to.Neg(exponent)), exponent};
}

Tensor IsOrdinary(Lowering& to, Tensor x) {
  const Tensor size = to.Abs(x);
  return to.And(to.Greater(size, Double(to, 0)), to.Less(size, Double(to, std::numeric_limits<double>::infinity())));
}

// Zeros, infinities and NaN are their own mantissas.
std::tuple<Tensor, Tensor> Frexp(Lowering& to, Tensor self) {
  const Tensor x = to.CastTo(self, DType::kFloat64), ordinary = IsOrdinary(to, x);
  const auto [mantissa, exponent] = PartsOf(to, to.Where(ordinary, x, Double(to, 1)));
  return {to.CastTo(to.Where(ordinary, mantissa, x), self.dtype()),
          to.CastTo(to.Where(ordinary, exponent, Double(to, 0)), DType::kInt32)};
}

// A sign, a biased exponent, and a fraction; the first of its numbers that is no subnormal is 2^smallest_power.
struct Format {
  DType integer;  // of as many bits
  int fraction_bits, smallest_power;
  double largest;

  int bits() const { return static_cast<int>(8 * ByteSize(integer)); }
  int smallest() const { return smallest_power - fraction_bits; }  // the exponent of the smallest number above 0
  int64_t one() const { return int64_t{1} << fraction_bits; }      // above the fraction
  int64_t largest_exponent() const { return (int64_t{1} << (bits() - 1 - fraction_bits)) - 1; }  // of infinity and NaN
  // The sign alone, as an int64.
  int64_t sign() const { return std::numeric_limits<int64_t>::min() >> (64 - bits()); }
};

std::optional<Format> FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return Format{DType::kInt16, 10, -14, 65504};
    case DType::kBfloat16: return Format{DType::kInt16, 7, -126, 3.3895313892515355e38};
    case DType::kFloat32: return Format{DType::kInt32, 23, -126, std::numeric_limits<float>::max()};
    case DType::kFloat64: return Format{DType::kInt64, 52, -1022, std::numeric_limits<double>::max()};
    default: return std::nullopt;
  }
}

// A step of one unit in the last place of the magnitude below or above; towards zero from a power of two it is half
// of that.
Tensor Nextafter(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  const Format format = FormatOf(dtype).value_or(*FormatOf(DType::kFloat64));
  const Tensor x = to.CastTo(a, DType::kFloat64), goal = to.CastTo(b, DType::kFloat64), zero = Double(to, 0);
  const Tensor ordinary = IsOrdinary(to, x);
  const auto [mantissa, exponent] = PartsOf(to, to.Where(ordinary, x, Double(to, 1)));
  const Tensor up = to.Greater(goal, x), inwards = to.Xor(up, to.Greater(x, zero));
  const Tensor at_power = to.Equal(to.Abs(mantissa), Double(to, 0.5));
  const Tensor half = to.CastTo(to.And(inwards, at_power), DType::kFloat64);
  Tensor place = to.Sub(to.Sub(exponent, Double(to, format.fraction_bits + 1)), half);
  place = to.Where(ordinary, to.Max({place, Double(to, format.smallest())}), Double(to, format.smallest()));
  const Tensor step = TimesPowerOfTwo(to, to.Where(up, Double(to, 1), Double(to, -1)), place);
  Tensor next = to.Add(x, step);
  // Infinity steps to the largest finite number, which steps to infinity.
  next = to.Where(to.IsInf(x), to.Mul(to.Sign(x), Double(to, format.largest)), next);
  next = to.Where(to.Greater(to.Abs(next), Double(to, format.largest)), goal, next);
  next = to.Where(to.Equal(x, goal), goal, next);
  return to.CastTo(to.Where(to.Or(to.IsNaN(x), to.IsNaN(goal)), to.Add(x, goal), next), dtype);
}

}  // namespace

bool HasBits(DType dtype) { return FormatOf(dtype).has_value(); }

Tensor BitsOf(Lowering& to, Tensor floats) {
  const Format format = *FormatOf(floats.dtype());
  if (to.Has("BitCast")) return to.CastTo(to.BitCast(floats, {.to = Info(format.integer).onnx_code}), DType::kInt64);
  const Tensor x = to.CastTo(floats, DType::kFloat64), ordinary = IsOrdinary(to, x), zero = Double(to, 0);
  const auto [mantissa, exponent] = PartsOf(to, to.Where(ordinary, to.Abs(x), Double(to, 1)));
  // 1 <= size < 2 times 2^power; what is smaller than the smallest power has a fraction alone.
  const Tensor size = to.Mul(mantissa, Double(to, 2)), power = to.Sub(exponent, Double(to, 1));
  const Tensor is_normal = to.GreaterOrEqual(power, Double(to, format.smallest_power));
  const Tensor fraction = to.Where(is_normal, to.Mul(to.Sub(size, Double(to, 1)), Double(to, static_cast<double>(format.one()))),
                                   TimesPowerOfTwo(to, to.Abs(x), Double(to, -format.smallest())));
  const Tensor biased = to.Where(is_normal, to.Sub(power, Double(to, format.smallest_power - 1)), zero);
  auto integer = [&](const Tensor& value) { return to.CastTo(value, DType::kInt64); };
  Tensor bits = to.Add(to.Mul(integer(biased), to.ConstantInt(format.one())), integer(to.Where(ordinary, fraction, zero)));
  bits = to.Where(ordinary, bits, to.ConstantInt(0));
  const int64_t infinity = format.largest_exponent() * format.one();
  bits = to.Where(to.IsInf(x), to.ConstantInt(infinity), bits);
  bits = to.Where(to.IsNaN(x), to.ConstantInt(infinity + format.one() / 2), bits);
  // 1/-0 is negative too.
  const Tensor is_negative = to.Less(to.Where(to.Equal(x, zero), to.Reciprocal(x), x), zero);
  return to.Add(bits, to.Where(is_negative, to.ConstantInt(format.sign()), to.ConstantInt(0)));
}

Tensor FromBits(Lowering& to, Tensor bits, DType dtype) {
  const Format format = *FormatOf(dtype);
  if (to.Has("BitCast")) return to.BitCast(to.CastTo(bits, format.integer), {.to = Info(dtype).onnx_code});
  const Tensor zero = to.ConstantInt(0), is_negative = to.Less(bits, zero);
  const Tensor size = to.Sub(bits, to.Where(is_negative, to.ConstantInt(format.sign()), zero));
  const Tensor biased = to.Div(size, to.ConstantInt(format.one()));
  const Tensor fraction = to.Sub(size, to.Mul(biased, to.ConstantInt(format.one())));
  const Tensor is_normal = to.Greater(biased, zero);
  auto real = [&](const Tensor& value) { return to.CastTo(value, DType::kFloat64); };
  const Tensor digits = real(to.Where(is_normal, to.Add(fraction, to.ConstantInt(format.one())), fraction));
  const Tensor power = to.Add(to.Where(is_normal, biased, to.ConstantInt(1)), to.ConstantInt(format.smallest_power - 1 - format.fraction_bits));
  Tensor x = TimesPowerOfTwo(to, digits, real(power));
  const Tensor special = to.Where(to.Greater(fraction, zero), Double(to, std::numeric_limits<double>::quiet_NaN()),
                                  Double(to, std::numeric_limits<double>::infinity()));
  x = to.Where(to.Equal(biased, to.ConstantInt(format.largest_exponent())), special, x);
  return to.CastTo(to.Mul(x, real(to.Where(is_negative, to.ConstantInt(-1), to.ConstantInt(1)))), dtype);
}

namespace {

constexpr OpRow kRows[] = {
    Op<Frexp>("aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)"),
    Op<Nextafter>("aten::nextafter(Tensor self, Tensor other) -> Tensor"),
};

}  // namespace

std::span<const OpRow> FloatParts() { return kRows; }

}  // namespace flambeau::lower
