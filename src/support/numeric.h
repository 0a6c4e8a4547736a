// Elements of any dtype as C++ numbers, and back with the dtype's rounding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/dtype.h"

namespace flambeau {

// Round to nearest even, overflow to infinity, NaN kept.
uint16_t FloatToHalf(float value);
float HalfToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);
float Bfloat16ToFloat(uint16_t bits);

// The element at `at`, of a real dtype of at least one byte.
double LoadDouble(DType dtype, const std::byte* at);
int64_t LoadInt(DType dtype, const std::byte* at);
// Stores a number as PyTorch casts it: integers wrap, floats truncate towards
// zero, anything but 0 is true.
void StoreDouble(DType dtype, double value, std::byte* at);
void StoreInt(DType dtype, int64_t value, std::byte* at);
// What an integer is in an integer dtype.
int64_t WrappedInt(DType dtype, int64_t value);

// Of a floating dtype: the greatest finite number, and the least positive one of full precision.
double LargestFinite(DType dtype);
double SmallestNormal(DType dtype);

}  // namespace flambeau
