/// \file
/// What happened in a conversion: diagnostics alone, or all of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flambeau/diagnostic.h"

namespace flambeau {

/// For people: one paragraph a diagnostic; missing operators grouped and counted.
std::string ReportText(const std::vector<Diagnostic>& diagnostics);
/// For programs: {"diagnostics": [{"kind", "severity", "message", "location": {…}, "notes": […], "hint"}],
/// "unsupported": [{"operator", "count", "places": […], "nearest"}]}.
std::string ReportJson(const std::vector<Diagnostic>& diagnostics);

/// A conversion, successful or not, as plain data. Indices point into the lists
/// beside them; kNone stands for nothing.
struct ConversionReport {
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Tensor {
    std::string name, dtype;
    std::vector<std::string> sizes;
  };
  struct Dimension {
    std::string name, range;  ///< "batch", "2 … 1024"
  };
  /// One way to capture the module that was tried.
  struct Attempt {
    std::string strategy;
    double seconds = 0;
    std::string error;  ///< empty: it succeeded
  };
  /// A stage or pass; counts are of nodes.
  struct Stage {
    std::string name, description;
    double start = 0, seconds = 0;  ///< since the conversion began; how long it took
    uint64_t nodes_before = 0, nodes_after = 0;
  };
  struct Module {
    std::string path, class_name;  ///< the root's path is empty
    uint32_t parent = kNone;
    uint64_t captured_nodes = 0, onnx_nodes = 0;  ///< of the module itself
  };
  struct CapturedNode {
    std::string name, op;
    uint32_t module = kNone;
    std::string source, code;  ///< "model.py:17", "y = x + 1"
    bool missing = false;      ///< could not be converted
    std::vector<uint32_t> inputs;  ///< captured nodes whose results it uses
  };
  struct OnnxNode {
    std::string name, op;
    uint32_t module = kNone;
    uint32_t captured = kNone;     ///< from which it comes
    uint32_t stage = kNone;        ///< that made it
    std::vector<uint32_t> inputs;  ///< of `values`; kNone: absent
    std::vector<uint32_t> outputs;
    std::vector<uint32_t> merged;  ///< captured nodes that an optimisation put into it, too
    std::vector<uint32_t> yields;  ///< of `values`: what its bodies give
    uint32_t within = kNone;       ///< the ONNX node in whose body it is
  };
  struct Value {
    std::string name, type;  ///< "float32[batch, 8]"
  };
  /// One tensor compared with PyTorch's.
  struct Comparison {
    std::string name, inputs;  ///< of the output; "example" or the sizes that were used
    std::string module;        ///< that made it; for outputs, empty
    std::string dtype;
    double max_absolute = 0, max_relative = 0;
    double absolute_tolerance = 0, relative_tolerance = 0;
    std::vector<uint64_t> histogram;  ///< of absolute differences: 0, < 1e-7, < 1e-6, …, < 1, more
    bool ok = true;
    std::string cause;  ///< "dtype", "shape", "rounding", "operator", …
  };

  std::string status;  ///< "converted", "failed", "capture-failed", "verification-failed"
  std::string model, target, flambeau_version, torch_version;
  int opset = 0, ir_version = 0;
  std::vector<Tensor> inputs, outputs;
  std::vector<Dimension> dimensions;
  uint64_t weight_count = 0, weight_bytes = 0;
  std::vector<Attempt> attempts;
  std::vector<Stage> stages;
  std::vector<Module> modules;
  std::vector<CapturedNode> captured;
  std::vector<OnnxNode> nodes;
  std::vector<Value> values;
  std::vector<Diagnostic> diagnostics;
  std::vector<Comparison> comparisons;
  std::string failure;  ///< what failed outside the engine, as text
};

/// docs/report.schema.json describes it.
std::string ReportJson(const ConversionReport& report);
std::string ReportMarkdown(const ConversionReport& report);
/// One page that needs nothing else.
std::string ReportHtml(const ConversionReport& report);
/// The stages, for Chrome's trace viewer (chrome://tracing, ui.perfetto.dev).
std::string ReportTrace(const ConversionReport& report);

}  // namespace flambeau
