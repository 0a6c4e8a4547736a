#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "aten/declarations.h"
#include "container/quote.h"
#include "container/zip.h"
#include "diag/sink.h"
#include "driver/file_kind.h"
#include "driver/guard.h"
#include "driver/read.h"
#include "driver/undescribed.h"
#include "flambeau/convert.h"
#include "reader/pt2/reader.h"
#include "reader/torchscript/long_chains.h"
#include "reader/torchscript/reader.h"
#include "script/inputs/inputs.h"
#include "script/specialize.h"
#include "support/file.h"

namespace flambeau {
namespace {

// What users put beside a program, by torch.export.save's and torch.jit.save's extra files.
std::vector<std::pair<std::string, uint64_t>> ExtraFiles(const ZipArchive& archive) {
  const std::string folder = std::string(archive.root()) + "extra/";
  std::vector<std::pair<std::string, uint64_t>> files;
  for (const ZipEntry& entry : archive.entries())
    if (entry.name.starts_with(folder) && entry.name.size() > folder.size()) files.emplace_back(entry.name.substr(folder.size()), entry.size);
  return files;
}

Result<torchscript::Graph> ReadMethod(const ZipArchive& archive, const Options& options, Sink& sink) {
  if (!options.model.empty())
    return sink.Error(DiagnosticKind::kBadOption, fmt::format("the model {} is asked for, but a TorchScript archive holds one, without a name", Quote(options.model)),
                      archive.Where(nullptr), "choose among its methods by the method's name");
  FLAMBEAU_TRY(torchscript::Graph graph, torchscript::ReadArchive(archive, sink, options.method));
  graph.operator_schemas = options.operator_schemas;
  torchscript::CutLongChains(graph);
  return graph;
}

Result<Program> ReadModel(const ZipArchive& archive, const Options& options, Sink& sink) {
  if (!options.method.empty())
    return sink.Error(DiagnosticKind::kBadOption, fmt::format("the method {} is asked for, but a .pt2 archive holds models, which have none", Quote(options.method)),
                      archive.Where(nullptr), "choose a model by its name");
  if (!options.inputs.empty())
    return sink.Error(DiagnosticKind::kBadOption, fmt::format("input {} is described, but a .pt2 archive says its inputs by itself", Quote(options.inputs.front().first)),
                      archive.Where(nullptr), "only TorchScript archives need descriptions; dimension names name dynamic sizes");
  FLAMBEAU_TRY(Program program, ReadPt2(archive, sink, options.model, options.operator_schemas));
  program.impl().alternatives = ModelsOfPt2(archive);
  return program;
}

Result<Program> Specialized(const torchscript::Graph& graph, std::span<const ScriptInput> inputs, const Options& options, Sink& sink) {
  FLAMBEAU_TRY(Program program, script::Specialize(graph, inputs, options, sink));
  program.impl().alternatives = graph.methods;
  return program;
}

Result<Program> ReadScript(const ZipArchive& archive, const Options& options, Sink& sink) {
  FLAMBEAU_TRY(const torchscript::Graph graph, ReadMethod(archive, options, sink));
  FLAMBEAU_TRY(const script::DescribedInputs described, script::DescribeInputs(graph, options.inputs, sink));
  if (!described.missing.empty()) return script::ReportMissing(described.missing, archive.Where(nullptr), sink);
  return Specialized(graph, described.inputs, options, sink);
}

// What is known of a TorchScript program, which is little where its inputs are not described.
Result<ProgramSummary> SummarizeScript(const ZipArchive& archive, const Options& options, Sink& sink) {
  FLAMBEAU_TRY(const torchscript::Graph graph, ReadMethod(archive, options, sink));
  FLAMBEAU_TRY(const script::DescribedInputs described, script::DescribeInputs(graph, options.inputs, sink));
  if (!described.missing.empty()) return SummarizeUndescribed(graph, described.missing);
  FLAMBEAU_TRY(const Program program, Specialized(graph, described.inputs, options, sink));
  return Summarize(program);
}

Result<Program> ReadArchive(const ZipArchive& archive, const Options& options, Sink& sink) {
  const bool is_pt2 = LooksLikePt2(archive);
  if (is_pt2 || LooksLikeTorchScript(archive)) {
    FLAMBEAU_TRY(Program program, is_pt2 ? ReadModel(archive, options, sink) : ReadScript(archive, options, sink));
    program.impl().extra_files = ExtraFiles(archive);
    return program;
  }
  FileKind kind = DescribeArchive(archive);
  return sink.Error(DiagnosticKind::kUnknownFormat, std::move(kind.what), archive.Where(nullptr), std::move(kind.hint));
}

Result<ProgramSummary> SummarizeArchive(const ZipArchive& archive, const Options& options, Sink& sink) {
  if (!LooksLikePt2(archive) && LooksLikeTorchScript(archive)) {
    FLAMBEAU_TRY(ProgramSummary summary, SummarizeScript(archive, options, sink));
    summary.extra_files = ExtraFiles(archive);
    return summary;
  }
  FLAMBEAU_TRY(const Program program, ReadArchive(archive, options, sink));
  return Summarize(program);
}

Result<std::string> PrintArchive(const ZipArchive& archive, const Options& options, Sink& sink) {
  if (!LooksLikeTorchScript(archive))
    return sink.Error(DiagnosticKind::kUnknownFormat, "the file is no TorchScript archive", archive.Where(nullptr),
                      "save the model with torch.jit.save");
  FLAMBEAU_TRY(const torchscript::Graph graph, ReadMethod(archive, options, sink));
  return torchscript::Print(graph);
}

Result<ZipArchive> OpenArchive(const std::string& path, Sink& sink) {
  std::string error;
  const std::shared_ptr<const File> file = File::Open(path, &error);
  if (!file)
    return sink.Error(DiagnosticKind::kCannotOpen, fmt::format("the file cannot be opened: {}", error), {.file = path});
  char start[2] = {};
  const bool is_zip = file->Read(0, std::as_writable_bytes(std::span(start))) && std::string_view(start, 2) == "PK";
  if (!is_zip) {
    FileKind kind = DescribeBytes(*file);
    return sink.Error(DiagnosticKind::kUnknownFormat, std::move(kind.what), {.file = path}, std::move(kind.hint));
  }
  return ZipArchive::Open(file, sink);
}

Status CheckSchemas(const Options& options, Sink& sink) {
  aten::Declarations declared;
  for (const std::string& schema : options.operator_schemas)
    if (!declared.Declare(schema))
      return sink.Error(DiagnosticKind::kBadOption, fmt::format("{} is no schema of an operator of one's own", Quote(schema)), {},
                        "write it as torch does: 'mylib::foo(Tensor(a!) x, float by) -> Tensor'");
  return {};
}

// What `read` makes of the archive of that path.
template <class T>
std::optional<T> FromArchive(const std::string& path, std::vector<Diagnostic>& diagnostics, const Options& options,
                             Result<T> (*read)(const ZipArchive&, const Options&, Sink&)) {
  std::optional<T> made;
  Guard(diagnostics, {.file = path}, [&] {
    Sink sink;
    const bool schemas_ok = static_cast<bool>(CheckSchemas(options, sink));
    const Result<ZipArchive> archive = schemas_ok ? OpenArchive(path, sink) : kFailure;
    Result<T> result = archive ? read(*archive, options, sink) : kFailure;
    for (Diagnostic& diagnostic : sink.Take()) diagnostics.push_back(std::move(diagnostic));
    if (result) made.emplace(*std::move(result));
  });
  return made;
}

}  // namespace

std::optional<Program> ReadProgram(const std::string& path, std::vector<Diagnostic>& diagnostics, const Options& options) {
  return FromArchive<Program>(path, diagnostics, options, ReadArchive);
}

std::optional<ProgramSummary> SummarizeFile(const std::string& path, std::vector<Diagnostic>& diagnostics, const Options& options) {
  return FromArchive<ProgramSummary>(path, diagnostics, options, SummarizeArchive);
}

std::string DumpTorchScript(const std::string& path, const Options& options, std::vector<Diagnostic>& diagnostics) {
  return FromArchive<std::string>(path, diagnostics, options, PrintArchive).value_or("");
}

}  // namespace flambeau
