// Archives of torch.export for tests: described as text, packed here, so that a
// test changes one thing and sees what the reader says. In the JSON of the
// tests ' stands for ".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diag/sink.h"
#include "flambeau/program.h"

namespace flambeau::testing {

// What one program's JSON consists of; members of lists and objects come
// without the brackets. The default takes and returns x, float32[2, 3].
struct ProgramText {
  std::string inputs = "{'as_tensor': {'name': 'x'}}";
  std::string input_specs = "{'user_input': {'arg': {'as_tensor': {'name': 'x'}}}}";
  std::string nodes;
  std::string outputs = "{'as_tensor': {'name': 'x'}}";
  std::string output_specs = "{'user_output': {'arg': {'as_tensor': {'name': 'x'}}}}";
  std::string tensor_values;  // beside those of x, y and z, all float32[2, 3]
  std::string sym_int_values, sym_float_values, sym_bool_values;
  std::string range_constraints;
  std::string schema_version = "{'major': 8, 'minor': 20}";
  std::string others;  // further members, each followed by a comma

  std::string Json() const;
};

// "{'dtype': 7, 'sizes': [{'as_int': 2}, {'as_int': 3}], …}", contiguous.
std::string TensorMetaText(const std::vector<int64_t>& sizes, int serde_code = 7);
std::string NodeText(std::string_view target, std::string_view inputs, std::string_view outputs,
                     std::string_view metadata = "{}");
// A weight, buffer or constant in a configuration.
std::string PayloadText(std::string_view name, std::string_view path, std::string_view meta);

using Entries = std::vector<std::pair<std::string, std::string>>;
// Today's layout: the program, two configurations, further entries. An entry
// replaces the one of the same name; without contents it removes it.
std::string PackArchive(const ProgramText& program, std::string_view weights = {}, std::string_view constants = {},
                        const Entries& others = {});

Result<Program> ReadBytes(std::string_view bytes, Sink& sink);
// The graph as text, or the first error.
std::string ReadText(std::string_view bytes);

}  // namespace flambeau::testing
