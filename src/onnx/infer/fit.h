// Whether the operands of an ONNX node in its newest form fit each other, as far as their types say. Lowering asks before it
// emits: a node that cannot run comes from a program that PyTorch itself would refuse.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "onnx/infer/infer.h"

namespace flambeau::onnx {

// What does not fit, as the rest of a sentence ("multiplies …"); nullopt where nothing is known to be wrong.
std::optional<std::string> MisfitOf(std::string_view op, InferContext& context);

// Whether two sizes are known, and not one.
inline bool Differ(const ExprPool& exprs, Expr a, Expr b) {
  return a != b && exprs.AsConstant(a) && exprs.AsConstant(b);
}

// Whether two lists of sizes surely cannot be broadcast to each other.
bool NeverBroadcast(const ExprPool& exprs, std::span<const Expr> a, std::span<const Expr> b);

}  // namespace flambeau::onnx
