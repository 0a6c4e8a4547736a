#include "pass/onnx/passes.h"
#include "pass/onnx/rules.h"

namespace flambeau {

Result<Changed> Simplify(Graph& graph, PassContext& context) {
  return ApplyRewrites(graph, context,
                       {NoOpRules(), LayoutRules(), GemmRules(), ClipRules(), FactorRules(), ByteWeightRules(), BatchNormRules(), FoldingRules()});
}

Result<Changed> DropDeadOnnxNodes(Graph& graph, PassContext& context) { return ApplyRewrites(graph, context, {}); }

}  // namespace flambeau
