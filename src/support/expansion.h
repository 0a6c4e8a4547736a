// What headers may claim of tensors that a stride of 0 makes out of few bytes.
#pragma once

#include <cstdint>

namespace flambeau {

// Whether a tensor's elements, which are all written to a model, stay near what
// is stored of it. Both are bytes.
constexpr bool IsCredibleExpansion(uint64_t elements, uint64_t stored) {
  constexpr uint64_t kMostTimes = 16, kAlwaysCredible = uint64_t{64} << 20;
  return elements <= kAlwaysCredible || elements / kMostTimes <= stored;
}

}  // namespace flambeau
