#include "support/numeric.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace flambeau {
namespace {

// A small float format: exponent and mantissa bits, bias, and what its all-ones
// codes mean.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;     // IEEE-like
  bool unsigned_zero;    // "uz": the code of -0 is the only NaN
};
constexpr SmallFloat kE5M2{5, 2, 15, true, false}, kE4M3FN{4, 3, 7, false, false};
constexpr SmallFloat kE5M2FNUZ{5, 2, 16, false, true}, kE4M3FNUZ{4, 3, 8, false, true};

double DecodeSmall(uint8_t bits, const SmallFloat& format) {
  const int mantissa_mask = (1 << format.mantissa_bits) - 1;
  const int exponent_mask = (1 << format.exponent_bits) - 1;
  const int exponent = (bits >> format.mantissa_bits) & exponent_mask, mantissa = bits & mantissa_mask;
  const bool negative = (bits & 0x80) != 0;
  if (format.unsigned_zero) {
    if (bits == 0x80) return std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == exponent_mask) {
    if (format.has_infinity) {
      if (mantissa != 0) return std::numeric_limits<double>::quiet_NaN();
      return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    }
    if (mantissa == mantissa_mask) return std::numeric_limits<double>::quiet_NaN();
  }
  const double fraction = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  const double value = std::ldexp(fraction, (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits);
  return negative ? -value : value;
}

// The nearest code, ties to even; by search over the 128 magnitudes.
uint8_t EncodeSmall(double value, const SmallFloat& format) {
  const uint8_t nan = format.unsigned_zero ? 0x80 : 0x7F;
  if (std::isnan(value)) return nan;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::fabs(value);
  int low = 0, high = 127;
  while (high > 0 && !std::isfinite(DecodeSmall(static_cast<uint8_t>(high), format))) --high;
  const int largest = high;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (DecodeSmall(static_cast<uint8_t>(middle), format) <= magnitude ? low : high) = middle;
  }
  const double below = DecodeSmall(static_cast<uint8_t>(low), format), above = DecodeSmall(static_cast<uint8_t>(high), format);
  int code;
  if (magnitude >= above) {
    // Past the largest number: half a step further rounds to infinity or NaN.
    const double step = above - below;
    if (magnitude < above + step / 2 || (magnitude == above + step / 2 && largest % 2 == 0)) {
      code = largest;
    } else if (format.has_infinity) {
      code = largest + 1;
    } else {
      return static_cast<uint8_t>(format.unsigned_zero ? 0x80 : sign | 0x7F);
    }
  } else if (magnitude - below == above - magnitude) {
    code = low % 2 == 0 ? low : high;
  } else {
    code = magnitude - below < above - magnitude ? low : high;
  }
  if (format.unsigned_zero && code == 0) return 0;
  return static_cast<uint8_t>(sign | code);
}

// Sign and zero are lost, infinity is NaN; ties go to the even neighbour of the
// fraction 1.5, which is the greater one, save below the least normal number.
uint8_t EncodeE8M0(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF;
  if (exponent == 0xFF) return 0xFF;
  const bool up = fraction > 0x400000 || (fraction == 0x400000 && exponent > 0);
  return static_cast<uint8_t>(exponent + up);
}

// Out of range (and NaN) is undefined in C++; PyTorch gives the minimum on x86.
int64_t Truncate(double value) {
  const bool fits = value >= -9223372036854775808.0 && value < 9223372036854775808.0;
  return fits ? static_cast<int64_t>(value) : INT64_MIN;
}

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void Store(T value, std::byte* at) { std::memcpy(at, &value, sizeof value); }

}  // namespace

uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) {
    // Subnormal: let the FPU round by adding a power of two.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000));
  }
  const uint32_t odd = (magnitude >> 13) & 1;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + odd) >> 13));
}

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (mantissa << 13));
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float Bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

namespace {

// Each of these functions leaves to another what that one knows; complex numbers and text are no single numbers to any.
void CheckIs(DType dtype, bool known) {
  if (!known) throw std::logic_error(fmt::format("an element of dtype {} is no real number", Info(dtype).text));
}
void CheckIsFloating(DType dtype) { CheckIs(dtype, IsFloating(dtype)); }
void CheckIsWhole(DType dtype) { CheckIs(dtype, IsInteger(dtype) || dtype == DType::kBool); }

}  // namespace

double LoadDouble(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kFloat64: return Load<double>(at);
    case DType::kFloat32: return Load<float>(at);
    case DType::kFloat16: return HalfToFloat(Load<uint16_t>(at));
    case DType::kBfloat16: return Bfloat16ToFloat(Load<uint16_t>(at));
    case DType::kFloat8E5M2: return DecodeSmall(Load<uint8_t>(at), kE5M2);
    case DType::kFloat8E4M3FN: return DecodeSmall(Load<uint8_t>(at), kE4M3FN);
    case DType::kFloat8E5M2FNUZ: return DecodeSmall(Load<uint8_t>(at), kE5M2FNUZ);
    case DType::kFloat8E4M3FNUZ: return DecodeSmall(Load<uint8_t>(at), kE4M3FNUZ);
    case DType::kFloat8E8M0: {
      const auto code = Load<uint8_t>(at);
      return code == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
    }
    case DType::kUint64: return static_cast<double>(Load<uint64_t>(at));
    default: CheckIsWhole(dtype); return static_cast<double>(LoadInt(dtype, at));
  }
}

int64_t LoadInt(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8: return Load<uint8_t>(at);
    case DType::kInt8: return Load<int8_t>(at);
    case DType::kInt16: return Load<int16_t>(at);
    case DType::kUint16: return Load<uint16_t>(at);
    case DType::kInt32: return Load<int32_t>(at);
    case DType::kUint32: return Load<uint32_t>(at);
    case DType::kInt64:
    case DType::kUint64: return Load<int64_t>(at);
    default: CheckIsFloating(dtype); return Truncate(LoadDouble(dtype, at));
  }
}

void StoreInt(DType dtype, int64_t value, std::byte* at) {
  switch (dtype) {
    case DType::kBool: return Store<uint8_t>(value != 0, at);
    case DType::kUint8:
    case DType::kInt8: return Store(static_cast<uint8_t>(value), at);
    case DType::kInt16:
    case DType::kUint16: return Store(static_cast<uint16_t>(value), at);
    case DType::kInt32:
    case DType::kUint32: return Store(static_cast<uint32_t>(value), at);
    case DType::kInt64:
    case DType::kUint64: return Store(value, at);
    default: CheckIsFloating(dtype); return StoreDouble(dtype, static_cast<double>(value), at);
  }
}

int64_t WrappedInt(DType dtype, int64_t value) {
  std::byte bytes[sizeof(int64_t)] = {};
  StoreInt(dtype, value, bytes);
  return LoadInt(dtype, bytes);
}

void StoreDouble(DType dtype, double value, std::byte* at) {
  switch (dtype) {
    case DType::kFloat64: return Store(value, at);
    case DType::kFloat32: return Store(static_cast<float>(value), at);
    case DType::kFloat16: return Store(FloatToHalf(static_cast<float>(value)), at);
    case DType::kBfloat16: return Store(FloatToBfloat16(static_cast<float>(value)), at);
    case DType::kFloat8E5M2: return Store(EncodeSmall(value, kE5M2), at);
    case DType::kFloat8E4M3FN: return Store(EncodeSmall(value, kE4M3FN), at);
    case DType::kFloat8E5M2FNUZ: return Store(EncodeSmall(value, kE5M2FNUZ), at);
    case DType::kFloat8E4M3FNUZ: return Store(EncodeSmall(value, kE4M3FNUZ), at);
    case DType::kBool: return Store<uint8_t>(value != 0 || std::isnan(value), at);
    case DType::kFloat8E8M0: return Store(EncodeE8M0(static_cast<float>(value)), at);
    default: CheckIsWhole(dtype); return StoreInt(dtype, Truncate(value), at);
  }
}

double LargestFinite(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN: return 448;
    case DType::kFloat8E4M3FNUZ: return 240;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ: return 57344;
    case DType::kFloat16: return 65504;
    case DType::kBfloat16: return 3.3895313892515355e38;
    case DType::kFloat64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

double SmallestNormal(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return 6.103515625e-05;
    case DType::kFloat64: return std::numeric_limits<double>::min();
    default: return std::numeric_limits<float>::min();  // bfloat16 has the exponents of float32
  }
}

}  // namespace flambeau
