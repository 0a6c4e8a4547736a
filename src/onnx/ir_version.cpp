#include "onnx/ir_version.h"

#include <algorithm>

namespace flambeau::onnx {
namespace {

struct Requirement {
  int opset;  // of ai.onnx, from here on
  int ir_version;
};
// The releases of ONNX; a test compares with onnx.helper.OP_SET_ID_VERSION_MAP.
constexpr Requirement kByOpset[] = {{1, 3},  {9, 4},   {10, 5},  {11, 6},  {12, 7},  {15, 8},
                                    {19, 9}, {21, 10}, {23, 11}, {24, 12}, {25, 13}, {28, 14}};
constexpr int kMetadataIrVersion = 10;
// Until then each initializer had to be an input, too.
constexpr int kInitializersAloneIrVersion = 4;

int IrVersionOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ: return 9;
    case DType::kInt4:
    case DType::kUint4: return 10;
    case DType::kFloat4E2M1: return 11;
    case DType::kFloat8E8M0: return 12;
    case DType::kBfloat16: return 4;
    default: return 3;
  }
}

}  // namespace

int LeastIrVersion(const ModelData& model) {
  int least = 3;
  for (const OpsetImport& import : model.opset_imports) {
    if (!import.domain.empty()) continue;
    for (const Requirement& row : kByOpset)
      if (import.version >= row.opset) least = std::max(least, row.ir_version);
  }
  const Graph& graph = model.graph;
  const auto consider = [&](ValueId value) { least = std::max(least, IrVersionOf(graph.type(value).dtype)); };
  for (ValueId initializer : Initializers(graph)) {
    consider(initializer);
    if (!model.initializers_are_inputs) least = std::max(least, kInitializersAloneIrVersion);
  }
  for (BlockId block : graph.AllBlocks()) {
    for (ValueId input : graph[block].inputs) consider(input);
    graph.ForEachNode(block, [&](NodeId node) {
      for (uint32_t i = 0; i < graph[node].result_count; ++i) consider(graph.result(node, i));
    });
  }
  if (model.has_inner_metadata() || !model.graph_metadata.empty()) least = std::max(least, kMetadataIrVersion);
  return least;
}

}  // namespace flambeau::onnx
