#include "reader/pt2/archive_text_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "aten/program.h"
#include "container/archive_builder_test.h"
#include "container/memory_file.h"
#include "ir/print.h"
#include "reader/pt2/reader.h"

namespace flambeau::testing {
namespace {

std::string DoubleQuoted(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

}  // namespace

std::string TensorMetaText(const std::vector<int64_t>& sizes, int serde_code) {
  std::vector<std::string> size_texts, stride_texts(sizes.size());
  for (const int64_t size : sizes) size_texts.push_back(fmt::format("{{'as_int': {}}}", size));
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) stride_texts[i] = fmt::format("{{'as_int': {}}}", stride);
  return fmt::format(
      "{{'dtype': {}, 'sizes': [{}], 'requires_grad': false, 'device': {{'type': 'cpu', 'index': null}}, "
      "'strides': [{}], 'storage_offset': {{'as_int': 0}}, 'layout': 7}}",
      serde_code, fmt::join(size_texts, ", "), fmt::join(stride_texts, ", "));
}

std::string NodeText(std::string_view target, std::string_view inputs, std::string_view outputs,
                     std::string_view metadata) {
  return fmt::format("{{'target': '{}', 'inputs': [{}], 'outputs': [{}], 'metadata': {}}}", target, inputs, outputs,
                     metadata);
}

std::string PayloadText(std::string_view name, std::string_view path, std::string_view meta) {
  return fmt::format("'{}': {{'path_name': '{}', 'is_param': true, 'use_pickle': false, 'tensor_meta': {}}}", name,
                     path, meta);
}

std::string ProgramText::Json() const {
  const std::string meta = TensorMetaText({2, 3});
  return DoubleQuoted(fmt::format(
      "{{'graph_module': {{'graph': {{'inputs': [{}], 'outputs': [{}], 'nodes': [{}], 'tensor_values': "
      "{{'x': {}, 'y': {}, 'z': {}{}{}}}, 'sym_int_values': {{{}}}, 'sym_bool_values': {{{}}}, 'sym_float_values': "
      "{{{}}}}}, "
      "'signature': {{'input_specs': [{}], 'output_specs': [{}]}}, 'module_call_graph': []}}, "
      "'opset_version': {{'aten': 10}}, 'range_constraints': {{{}}}, 'schema_version': {}, {} 'torch_version': "
      "'2.99.0'}}",
      inputs, outputs, nodes, meta, meta, meta, tensor_values.empty() ? "" : ", ", tensor_values, sym_int_values,
      sym_bool_values, sym_float_values, input_specs, output_specs, range_constraints, schema_version, others));
}

std::string PackArchive(const ProgramText& program, std::string_view weights, std::string_view constants,
                        const Entries& others) {
  Entries entries = {
      {"archive_format", "pt2"},
      {"archive_version", "0"},
      {"byteorder", "little"},
      {"data/weights/model_weights_config.json", DoubleQuoted(fmt::format("{{'config': {{{}}}}}", weights))},
      {"data/constants/model_constants_config.json", DoubleQuoted(fmt::format("{{'config': {{{}}}}}", constants))},
      {"models/model.json", program.Json()},
  };
  for (const auto& [name, data] : others) {
    std::erase_if(entries, [&](const auto& entry) { return entry.first == name; });
    if (!data.empty()) entries.emplace_back(name, data);
  }
  std::vector<ZipItem> items;
  for (auto& [name, data] : entries) items.push_back(Stored("m/" + name, std::move(data)));
  return Pack(std::move(items));
}

Result<Program> ReadBytes(std::string_view bytes, Sink& sink) { return ReadPt2(MemoryFile(bytes), sink); }

std::string ReadText(std::string_view bytes) {
  Sink sink;
  const auto program = ReadBytes(bytes, sink);
  return program ? PrintGraph(program->impl().graph) : FirstError(sink);
}

}  // namespace flambeau::testing
