// softmax(q·kᵀ/√E + mask) · v. Shared by attention as PyTorch's users call it, and as its kernels are called.
#pragma once

#include <optional>

#include "lower/lowering.h"

namespace flambeau::lower {

// Which keys a query sees: all, those up to its own place, or those that let the last query see the last key.
enum class Causal { kNone, kUpperLeft, kLowerRight };

constexpr Causal UpperLeft(bool is_causal) { return is_causal ? Causal::kUpperLeft : Causal::kNone; }

struct Attended {
  Tensor output, weights, scores;
};

// (…, heads, queries, width), (…, heads, keys, width), (…, heads, keys, width of values). The scale is 1/√width where none
// is given. With `grouped`, keys and values may have fewer heads, each for a group of queries' heads.
Attended Attend(Lowering& to, Tensor query, Tensor key, Tensor value, std::optional<Tensor> mask, double dropout, Causal causal,
                std::optional<double> scale, bool grouped);

// Of scores over the keys, in float32 or float64: (…, queries).
Tensor LogSumExp(Lowering& to, const Tensor& scores);

}  // namespace flambeau::lower
