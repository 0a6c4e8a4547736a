#include "driver/pipeline.h"

#include "pass/aten/passes.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

constexpr AtenPass kAtenPipeline[] = {
    {"inline-regions", "bodies of wrappers join their parent; autocast becomes casts", &InlineRegions},
    {"expand-functionalized", "users' operators that write do so again, so that one pass makes all pure", &ExpandFunctionalized},
    {"functionalize", "turn in-place writes, also through views, into pure operators", &Functionalize},
    {"drop-state-outputs", "a model keeps no state, unless its state is asked for", &DropStateOutputs},
    {"drop-guards", "assertions are not part of an ONNX graph", &DropGuards},
    {"drop-dead-nodes", "what only guards and mutations used goes", &DropDeadNodes},
};

constexpr OnnxPass kOnnxPipeline[] = {
    {"drop-unused-nodes", "what lowering made and nobody used", &DropDeadOnnxNodes},
    {"share-constants", "tied weights and equal numbers are one, so that equal nodes are seen", &ShareConstants},
    {"share-nodes", "sizes are often computed more than once", &ShareNodes},
    {"simplify", "fold constants and batch norms, drop what does nothing, merge neighbours (rules.h)", &Simplify},
    {"share-folded-constants", "folding makes equal constants again", &ShareConstants},
    {"share-merged-nodes", "and merging equal nodes", &ShareNodes},
};

constexpr OnnxPass kOnnxRuntimePipeline[] = {
    {"guard-products", "onnxruntime takes products of what may turn out to be nothing", &GuardProducts},
    {"guard-ranges", "onnxruntime takes places that count down for ends of a slice", &GuardRanges},
    {"guard-resizes", "onnxruntime moves a Transpose behind a Resize, which it then cannot compute", &GuardResizes},
    {"hide-sizes", "onnxruntime takes results of one declared size for interchangeable", &HideSizes},
    {"name-sizes", "before opset 11, it takes the sizes of one branch for those of both", &NameSizes},
};

constexpr OnnxPass kSeedPipeline[] = {
    {"seed-draws", "each draw of random numbers gets a seed", &SeedDraws},
};

}  // namespace

std::span<const AtenPass> AtenPipeline() { return kAtenPipeline; }
std::span<const OnnxPass> OnnxPipeline(bool optimize) {
  return optimize ? std::span<const OnnxPass>(kOnnxPipeline) : std::span(kOnnxPipeline).first(1);
}
std::span<const OnnxPass> OnnxRuntimePipeline() { return kOnnxRuntimePipeline; }
std::span<const OnnxPass> SeedPipeline() { return kSeedPipeline; }

}  // namespace flambeau
