#include "driver/undescribed.h"

#include <fmt/format.h>

#include <string_view>

#include "driver/weight_bytes.h"

namespace flambeau {
namespace {

using torchscript::AttributeRole;

std::string_view KindText(AttributeRole role) {
  switch (role) {
    case AttributeRole::kParameter: return "parameter";
    case AttributeRole::kBuffer: return "buffer";
    case AttributeRole::kAttribute: return "constant";
  }
  return "";
}

// Called as its description calls it; an output that has no name in the source, "output".
ProgramSummary::Tensor SummarizeValue(const torchscript::Value& value, std::string_view kind) {
  const std::string_view name = script::SourceName(value.name);
  return {.name = std::string(!name.empty() ? name : kind == "output" ? kind : std::string_view(value.name)), .kind = std::string(kind), .type = value.type ? torchscript::Text(*value.type) : "Any"};
}

// The tensors of the modules.
void AddWeights(const torchscript::Graph& graph, ProgramSummary& summary) {
  WeightBytes bytes;
  for (const torchscript::Object& object : graph.objects) {
    for (const torchscript::ObjectAttribute& attribute : object.attributes) {
      const auto* data = std::get_if<TensorData>(&attribute.value.value);
      if (data == nullptr) continue;
      std::vector<std::string> sizes;
      for (const int64_t size : data->sizes) sizes.push_back(fmt::to_string(size));
      const std::string name = object.path.empty() ? attribute.name : fmt::format("{}.{}", object.path, attribute.name);
      summary.weights.push_back({name, std::string(Info(data->dtype).torch_name), std::move(sizes), std::string(KindText(attribute.role)), {}});
      bytes.Add(*data);
    }
  }
  summary.weight_bytes = bytes.sum();
}

}  // namespace

ProgramSummary SummarizeUndescribed(const torchscript::Graph& graph, std::span<const script::MissingInput> missing) {
  ProgramSummary summary;
  summary.torch_version = graph.torch_version;
  summary.alternatives = graph.methods;
  for (size_t i = graph.self ? 1 : 0; i < graph.main->inputs.size(); ++i) summary.inputs.push_back(SummarizeValue(*graph.main->inputs[i], "input"));
  for (const torchscript::Value* output : graph.main->outputs) summary.outputs.push_back(SummarizeValue(*output, "output"));
  AddWeights(graph, summary);
  for (const script::MissingInput& input : missing) summary.undescribed.emplace_back(input.name, input.example);
  return summary;
}

}  // namespace flambeau
