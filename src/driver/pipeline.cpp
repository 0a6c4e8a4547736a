#include "driver/pipeline.h"

#include "pass/aten/passes.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

constexpr AtenPass kAtenPipeline[] = {
    {"inline-regions", "merge the bodies of wrappers into their parent; turn autocast into casts", &InlineRegions},
    {"expand-functionalized", "undo torch's own functionalization of users' operators, so that the next pass sees every write", &ExpandFunctionalized},
    {"functionalize", "turn in-place writes, also through views, into pure operators", &Functionalize},
    {"drop-state-outputs", "drop new values of buffers, unless state outputs are asked for", &DropStateOutputs},
    {"drop-guards", "drop assertions, which ONNX does not have", &DropGuards},
    {"drop-dead-nodes", "drop what only assertions and writes used", &DropDeadNodes},
};

constexpr OnnxPass kOnnxPipeline[] = {
    {"drop-unused-nodes", "drop what lowering made and nothing uses", &DropDeadOnnxNodes},
    {"share-constants", "merge tied weights and equal numbers, so that nodes on them compare equal", &ShareConstants},
    {"share-nodes", "merge equal nodes: sizes are often computed more than once", &ShareNodes},
    {"simplify", "fold constants and batch norms, drop what does nothing, merge neighbours (rules.h)", &Simplify},
    {"share-folded-constants", "the same for constants that folding made", &ShareConstants},
    {"share-merged-nodes", "the same for nodes that simplify made equal", &ShareNodes},
};

constexpr OnnxPass kOnnxRuntimePipeline[] = {
    {"guard-products", "avoid matrix products of empty tensors, which onnxruntime gets wrong", &GuardProducts},
    {"guard-ranges", "avoid ranges that count down to 0 as indices, which onnxruntime turns into empty slices", &GuardRanges},
    {"guard-resizes", "keep onnxruntime from moving a Transpose behind a Resize, which it then cannot compute", &GuardResizes},
    {"guard-weights", "keep onnxruntime from rounding weights to 8 bits between quantized tensors", &GuardWeights},
    {"hide-sizes", "hide declared sizes that a path may not have: onnxruntime reuses memory by them", &HideSizes},
    {"name-sizes", "name declared sizes that differ between branches: before opset 11, onnxruntime takes one branch's for both", &NameSizes},
};

constexpr OnnxPass kSeedPipeline[] = {
    {"seed-draws", "give each draw of random numbers a seed", &SeedDraws},
};

}  // namespace

std::span<const AtenPass> AtenPipeline() { return kAtenPipeline; }
std::span<const OnnxPass> OnnxPipeline(bool optimize) {
  return optimize ? std::span<const OnnxPass>(kOnnxPipeline) : std::span(kOnnxPipeline).first(1);
}
std::span<const OnnxPass> OnnxRuntimePipeline() { return kOnnxRuntimePipeline; }
std::span<const OnnxPass> SeedPipeline() { return kSeedPipeline; }

}  // namespace flambeau
