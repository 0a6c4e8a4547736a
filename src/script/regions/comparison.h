// Conditions that compare a size, or what is made of sizes, with a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/graph.h"

namespace flambeau::script {

// The operator that computes the value, if one does.
std::string_view OpOf(const Graph& graph, ValueId value);

// `size < number`, with an integer that is known.
struct Comparison {
  std::string_view op;  // eq, ne, lt, le, gt, ge
  Expr size;
  int64_t number;
};

std::optional<Comparison> ComparisonOf(const Graph& graph, ValueId condition);

// Whether it says that the size is not 0, and no more.
bool AsksForOne(const Comparison& asked);

}  // namespace flambeau::script
