// Operators that are written out step by step, as often as an argument says.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "onnx/tensor.h"

namespace flambeau::lower {

// The number of steps, which an archive may claim: the graph must not grow beyond all measure of the file.
inline int64_t WrittenOut(int64_t steps) {
  constexpr int64_t kMost = 1 << 16;
  if (steps > kMost) throw onnx::BadOperand(fmt::format("asks for {} steps, of which at most {} are written out", steps, kMost));
  return steps;
}

}  // namespace flambeau::lower
