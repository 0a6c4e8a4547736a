// Operators that are written out step by step, as often as an argument says.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>

namespace flambeau::lower {

// What PyTorch takes, but is more than a model is made of.
class TooMuch : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The number of steps, which an archive may claim: the graph must not grow beyond all measure of the file.
inline int64_t WrittenOut(int64_t steps) {
  constexpr int64_t kMost = 1 << 16;
  if (steps > kMost) throw TooMuch(fmt::format("asks for {} steps, of which at most {} are written out", steps, kMost));
  return steps;
}

}  // namespace flambeau::lower
