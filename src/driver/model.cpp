#include "diag/sink.h"
#include "driver/model_impl.h"
#include "driver/size_texts.h"
#include "flambeau/convert.h"
#include "onnx/save.h"
#include "onnx/serialize.h"
#include "onnx/text.h"

namespace flambeau {
namespace {

void AppendTo(std::vector<Diagnostic>& list, Sink& sink) {
  for (Diagnostic& diagnostic : sink.Take()) list.push_back(std::move(diagnostic));
}

Model::NamedType Describe(const Graph& graph, ValueId id, size_t position) {
  const Context& context = graph.context();
  const Type& type = graph.type(id);
  return {std::string(context.Text(graph[id].name)), std::string(Info(type.dtype).torch_name), SizeTexts(context.exprs(), type), position};
}

}  // namespace

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

std::string Model::Serialize(std::vector<Diagnostic>& diagnostics, bool weights) const {
  Sink sink;
  auto bytes = onnx::SerializeModel(impl_->data, weights, sink);
  AppendTo(diagnostics, sink);
  return bytes ? *std::move(bytes) : std::string();
}

bool Model::Save(const std::string& path, ExternalData external_data, std::vector<Diagnostic>& diagnostics,
                 const std::function<bool(const Progress&)>& progress) const {
  Sink sink;
  const bool saved = static_cast<bool>(onnx::SaveModel(impl_->data, path, external_data, progress, sink));
  AppendTo(diagnostics, sink);
  return saved;
}

std::vector<Model::NamedType> Model::inputs() const {
  std::vector<NamedType> list;
  const Graph& graph = impl_->data.graph;
  for (size_t i = 0; i < graph[graph.main()].inputs.size(); ++i)
    list.push_back(Describe(graph, graph[graph.main()].inputs[i], impl_->input_positions[i]));
  return list;
}

std::vector<Model::NamedType> Model::outputs() const {
  std::vector<NamedType> list;
  for (ValueId id : impl_->data.graph.outputs(impl_->data.graph.main())) list.push_back(Describe(impl_->data.graph, id, list.size()));
  return list;
}

uint64_t Model::node_count() const { return impl_->data.graph.live_nodes(); }

uint64_t Model::weight_bytes() const {
  const Graph& graph = impl_->data.graph;
  uint64_t bytes = 0;
  for (ValueId id : onnx::Initializers(graph)) bytes += graph.context()[graph[id].data].byte_size();
  return bytes;
}

int Model::opset() const {
  for (const onnx::OpsetImport& import : impl_->data.opset_imports)
    if (import.domain.empty()) return import.version;
  return 0;
}

int Model::ir_version() const { return impl_->data.ir_version; }
std::string Model::Text() const { return onnx::ModelText(impl_->data); }

}  // namespace flambeau
