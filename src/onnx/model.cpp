#include "onnx/model.h"

namespace flambeau::onnx {

namespace {
constexpr std::string_view kOnnxsDomain = "ai.onnx";
}

std::vector<ValueId> Initializers(const Graph& graph) {
  std::vector<ValueId> found;
  for (ValueId id{0}; id.index < graph.value_capacity(); ++id.index) {
    if (graph[id].kind == ValueKind::kConstant && graph.HasUses(id)) found.push_back(id);
  }
  return found;
}

std::pair<std::string_view, std::string_view> SplitOperator(std::string_view op) {
  const size_t colons = op.rfind("::");
  if (colons == std::string_view::npos) return {{}, op};
  const std::string_view domain = op.substr(0, colons);
  return {domain == kOnnxsDomain ? std::string_view() : domain, op.substr(colons + 2)};
}

std::string InOnnxsDomain(std::string_view name) { return std::string(kOnnxsDomain) + "::" + std::string(name); }

}  // namespace flambeau::onnx
