// The passes over ONNX graphs. They change nothing that a runtime's results
// show, and keep the names and types of inputs and outputs.
#pragma once

#include <cstdint>

#include "pass/pass.h"

namespace flambeau {

// Constants of at most this many bytes are compared by what they hold; larger
// ones by where they lie.
inline constexpr uint64_t kSmallConstant = 4 << 10;

// Drops nodes whose results nobody uses, also in bodies.
Result<Changed> DropDeadOnnxNodes(Graph& graph, PassContext& context);

// Equal constants, tied weights among them, become one.
Result<Changed> ShareConstants(Graph& graph, PassContext& context);

// Nodes that compute the same become one; bodies use what is around them.
Result<Changed> ShareNodes(Graph& graph, PassContext& context);

// Applies the local rewrites (rules.h) until none is left: folds constants,
// drops what does nothing, merges neighbours.
Result<Changed> Simplify(Graph& graph, PassContext& context);

// Products that onnxruntime gets wrong where data leaves nothing of an operand
// are kept from that. It adds nodes that Simplify would take away again: the
// driver runs it after that, optimised or not, for models that onnxruntime runs.
Result<Changed> GuardProducts(Graph& graph, PassContext& context);

// So are elements at places that a Range counts.
Result<Changed> GuardRanges(Graph& graph, PassContext& context);

// And images that are resized behind a Transpose.
Result<Changed> GuardResizes(Graph& graph, PassContext& context);

// And weights between quantized tensors that are not quantized themselves.
Result<Changed> GuardWeights(Graph& graph, PassContext& context);

// Sizes are not declared of results that have others on some paths.
Result<Changed> HideSizes(Graph& graph, PassContext& context);

// Before opset 11, results of branches that differ in a size get a name for it.
Result<Changed> NameSizes(Graph& graph, PassContext& context);

// With PassContext::seed, each node that draws numbers gets a seed of its own
// that follows from it. Nothing may copy nodes afterwards: the driver runs it
// last, optimised or not.
Result<Changed> SeedDraws(Graph& graph, PassContext& context);

// Before opset 13, lists that regions take or give become tensors where all
// their elements are of one shape; others are reported. Not optional: the
// driver runs it on what lowering made.
Result<Changed> StackSequences(Graph& graph, PassContext& context);

}  // namespace flambeau
