/// \file
/// PyTorch programs to ONNX models.
///
///   flambeau::Outcome outcome = flambeau::ConvertFile("model.pt2", "model.onnx");
///   if (!outcome.ok()) std::cerr << flambeau::ReportText(outcome.diagnostics);
///
/// Nothing here throws. A failed or interrupted call leaves its target as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flambeau/diagnostic.h"
#include "flambeau/options.h"
#include "flambeau/program.h"
#include "flambeau/report.h"

namespace flambeau {

/// A finished ONNX model; its weights are still where they were.
class Model {
 public:
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// The serialized ModelProto. With `weights` false, tensors of 64 KB and more
  /// are left out (their entries name no data).
  /// Empty, with a diagnostic, above the 2 GB that protobuf allows.
  std::string Serialize(std::vector<Diagnostic>& diagnostics, bool weights = true) const;
  /// Writes PATH and, if asked for or needed, PATH.data beside it.
  bool Save(const std::string& path, ExternalData external_data, std::vector<Diagnostic>& diagnostics,
            const std::function<bool(const Progress&)>& progress = {}) const;

  struct NamedType {
    std::string name;
    std::string dtype;               ///< PyTorch's word: "float32"
    std::vector<std::string> sizes;  ///< "3", "batch", "2*batch + 1", "?"
    size_t position = 0;             ///< among the program's inputs or outputs
  };
  std::vector<NamedType> inputs() const;
  std::vector<NamedType> outputs() const;
  uint64_t node_count() const;    ///< over all nested graphs
  uint64_t weight_bytes() const;
  int opset() const;
  int ir_version() const;
  /// The graph in ONNX's textual syntax.
  std::string Text() const;

  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

struct Outcome {
  std::optional<Model> model;
  std::vector<Diagnostic> diagnostics;
  std::optional<ConversionReport> report;  ///< if Options::report asks, also of a failure
  bool ok() const { return model.has_value(); }
};

/// Reads `options.model` of a `.pt2` archive, or `options.method` of one of
/// TorchScript, whose inputs are as `options.inputs` says.
std::optional<Program> ReadProgram(const std::string& path, std::vector<Diagnostic>& diagnostics,
                                   const Options& options = {});
/// Writes no file. Without a model, `diagnostics` of the outcome say why: every operator that is missing at once.
Outcome Convert(Program program, const Options& options = {});
/// Reads, converts and saves. The model of the outcome is the one that was saved.
Outcome ConvertFile(const std::string& source, const std::string& target, const Options& options = {});

/// The textual IR of a program after a stage or pass ("aten", "functional",
/// "onnx", or a pass's name); empty, with a diagnostic, if there is no such stage.
std::string Dump(Program program, std::string_view stage, const Options& options, std::vector<Diagnostic>& diagnostics);
/// As Dump, from a file; "torchscript" is the graph of a TorchScript archive as
/// it was read.
std::string DumpFile(const std::string& path, std::string_view stage, const Options& options, std::vector<Diagnostic>& diagnostics);
std::vector<std::string> DumpStages();

/// What an archive holds.
struct ProgramSummary {
  struct Tensor {
    std::string name, dtype;
    std::vector<std::string> sizes;
    std::string kind;  ///< "input", "parameter", "buffer", "constant", "output"
    std::string type;  ///< in place of dtype and sizes while these are not known: "List[Tensor]"
  };
  struct Operator {
    std::string name;  ///< "aten::add.Tensor"
    uint64_t count = 0;
    bool supported = false;
  };
  std::string torch_version;
  std::vector<Tensor> inputs, outputs, weights;
  std::vector<std::pair<std::string, std::string>> dims;  ///< symbol, "2 … 1024"
  std::vector<Operator> operators;                        ///< by count
  uint64_t weight_bytes = 0;
  std::vector<std::string> alternatives;  ///< the archive's models or methods, this one included
  std::vector<std::pair<std::string, uint64_t>> extra_files;  ///< name, bytes
  /// Inputs of a TorchScript archive of which too little is known, and how each may be described in Options::inputs.
  /// Where there are any, `dims` and `operators` are not known.
  std::vector<std::pair<std::string, std::string>> undescribed;
};
ProgramSummary Summarize(const Program& program);
/// As Summarize, from a file; also of a TorchScript archive whose inputs nobody has described.
std::optional<ProgramSummary> SummarizeFile(const std::string& path, std::vector<Diagnostic>& diagnostics,
                                            const Options& options = {});

/// One row of the table of operators.
struct OperatorInfo {
  std::string schema;
  std::string read_as;  ///< of an operator that is replaced as it is read, the call that says the same: "aten::abs(self)"
  std::vector<std::string> restrictions;
};
std::vector<OperatorInfo> SupportedOperators();
/// What is known of operators beside their rows.
enum class NotesOf {
  kNoOnnxForm,  ///< why there is "no ONNX form because …"
  kOpenResults,  ///< what PyTorch leaves open of a result, in which a model may differ from it
};
struct OperatorNote {
  std::string names;  ///< "aten::linalg_svd", or a pattern: "aten::*_backward"
  std::string text;
};
std::vector<OperatorNote> OperatorNotes(NotesOf kind);
/// The newest opset that the engine writes.
int NewestOpset();

}  // namespace flambeau
