// The rewrites of Simplify, a table a subject.
#pragma once

#include "pass/onnx/rewrite.h"

namespace flambeau {

// Constants take the place of what can be computed now (fold_constants.cpp).
RewriteTable FoldingRules();
// Nodes that change nothing go (drop_no_ops.cpp).
RewriteTable NoOpRules();
// Reshape, Transpose, Slice, Concat, Expand in a row become one (merge_layouts.cpp).
RewriteTable LayoutRules();
// Products with biases and transposed operands become Gemm (merge_gemm.cpp).
RewriteTable GemmRules();
// Relu and Clip in front of Clip become one Clip (merge_clips.cpp).
RewriteTable ClipRules();
// Constant factors in a row in front of a product become one (merge_factors.cpp).
RewriteTable FactorRules();
// Weights of bytes that are cast and scaled are quantized ones (dequantize_weights.cpp).
RewriteTable ByteWeightRules();
// BatchNormalization goes into the weights in front of it (fold_batch_norm.cpp).
RewriteTable BatchNormRules();

// For merge_layouts.cpp and others: the shape operand of a Reshape of `from`
// to `sizes`, as a constant with at most one -1; nullopt where one constant
// can't say it for all values of the sizes.
std::optional<Ints> ReshapeOperand(ExprPool& exprs, const Type& from, std::span<const Expr> sizes);

// What a Transpose moves where: its `perm`, or the axes reversed.
Ints PermutationOf(const Editor& to, NodeId transpose);

}  // namespace flambeau
