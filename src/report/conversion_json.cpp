// A conversion for programs: docs/report.schema.json.
#include <string>

#include "flambeau/report.h"
#include "report/diagnostics_json.h"
#include "report/json_writer.h"

namespace flambeau {
namespace {

using Report = ConversionReport;

void WriteIndex(JsonWriter& to, std::string_view key, uint32_t index) {
  to.Key(key);
  index == Report::kNone ? to.Null() : to.Value(index);
}

void WriteTensors(JsonWriter& to, std::string_view key, const std::vector<Report::Tensor>& tensors) {
  to.Objects(key, tensors, [&](const Report::Tensor& tensor) {
    to.Field("name", tensor.name);
    to.Field("dtype", tensor.dtype);
    to.Each("sizes", tensor.sizes, [&](const std::string& size) { to.Value(size); });
  });
}

void WriteIndices(JsonWriter& to, std::string_view key, const std::vector<uint32_t>& indices) {
  to.Each(key, indices, [&](uint32_t index) { index == Report::kNone ? to.Null() : to.Value(index); });
}

void WriteGraph(JsonWriter& to, const Report& report) {
  to.Objects("modules", report.modules, [&](const Report::Module& module) {
    to.Field("path", module.path);
    to.Field("class", module.class_name);
    WriteIndex(to, "parent", module.parent);
    to.Field("captured_nodes", module.captured_nodes);
    to.Field("onnx_nodes", module.onnx_nodes);
  });
  to.Objects("captured", report.captured, [&](const Report::CapturedNode& node) {
    to.Field("name", node.name);
    to.Field("op", node.op);
    WriteIndex(to, "module", node.module);
    to.Field("source", node.source);
    to.Field("code", node.code);
    to.Field("missing", node.missing);
    WriteIndices(to, "inputs", node.inputs);
  });
  to.Objects("nodes", report.nodes, [&](const Report::OnnxNode& node) {
    to.Field("name", node.name);
    to.Field("op", node.op);
    WriteIndex(to, "module", node.module);
    WriteIndex(to, "captured", node.captured);
    WriteIndices(to, "merged", node.merged);
    WriteIndex(to, "stage", node.stage);
    WriteIndices(to, "inputs", node.inputs);
    WriteIndices(to, "outputs", node.outputs);
    WriteIndices(to, "yields", node.yields);
    WriteIndex(to, "within", node.within);
  });
  to.Objects("values", report.values, [&](const Report::Value& value) {
    to.Field("name", value.name);
    to.Field("type", value.type);
  });
}

}  // namespace

std::string ReportJson(const ConversionReport& report) {
  JsonWriter to;
  to.BeginObject();
  to.Field("schema", "flambeau-report/1");
  to.Field("status", report.status);
  to.Field("model", report.model);
  to.Field("target", report.target);
  to.Field("flambeau_version", report.flambeau_version);
  to.Field("torch_version", report.torch_version);
  to.Field("opset", report.opset);
  to.Field("ir_version", report.ir_version);
  to.Field("failure", report.failure);
  WriteTensors(to, "inputs", report.inputs);
  WriteTensors(to, "outputs", report.outputs);
  to.Objects("dimensions", report.dimensions, [&](const Report::Dimension& dimension) {
    to.Field("name", dimension.name);
    to.Field("range", dimension.range);
  });
  to.Key("weights");
  to.BeginObject();
  to.Field("count", report.weight_count);
  to.Field("bytes", report.weight_bytes);
  to.EndObject();
  to.Objects("attempts", report.attempts, [&](const Report::Attempt& attempt) {
    to.Field("strategy", attempt.strategy);
    to.Field("seconds", attempt.seconds);
    to.Field("error", attempt.error);
  });
  to.Objects("stages", report.stages, [&](const Report::Stage& stage) {
    to.Field("name", stage.name);
    to.Field("description", stage.description);
    to.Field("start", stage.start);
    to.Field("seconds", stage.seconds);
    to.Field("nodes_before", stage.nodes_before);
    to.Field("nodes_after", stage.nodes_after);
  });
  WriteDiagnostics(to, report.diagnostics);
  to.Objects("comparisons", report.comparisons, [&](const Report::Comparison& comparison) {
    to.Field("name", comparison.name);
    to.Field("inputs", comparison.inputs);
    to.Field("module", comparison.module);
    to.Field("dtype", comparison.dtype);
    to.Field("max_absolute", comparison.max_absolute);
    to.Field("max_relative", comparison.max_relative);
    to.Field("absolute_tolerance", comparison.absolute_tolerance);
    to.Field("relative_tolerance", comparison.relative_tolerance);
    to.Each("histogram", comparison.histogram, [&](uint64_t count) { to.Value(count); });
    to.Field("ok", comparison.ok);
    to.Field("cause", comparison.cause);
  });
  WriteGraph(to, report);
  to.EndObject();
  return to.Take() + "\n";
}

std::string ReportTrace(const ConversionReport& report) {
  constexpr double kMicroseconds = 1e6;
  JsonWriter to;
  to.BeginObject();
  to.Objects("traceEvents", report.stages, [&](const Report::Stage& stage) {
    to.Field("name", stage.name);
    to.Field("cat", "flambeau");
    to.Field("ph", "X");
    to.Field("pid", 1);
    to.Field("tid", 1);
    to.Field("ts", stage.start * kMicroseconds);
    to.Field("dur", stage.seconds * kMicroseconds);
    to.Key("args");
    to.BeginObject();
    to.Field("description", stage.description);
    to.Field("nodes_before", stage.nodes_before);
    to.Field("nodes_after", stage.nodes_after);
    to.EndObject();
  });
  to.Field("displayTimeUnit", "ms");
  to.EndObject();
  return to.Take() + "\n";
}

}  // namespace flambeau
