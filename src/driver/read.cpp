#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "container/zip.h"
#include "diag/sink.h"
#include "driver/file_kind.h"
#include "driver/guard.h"
#include "driver/read.h"
#include "flambeau/convert.h"
#include "reader/pt2/reader.h"
#include "reader/torchscript/reader.h"
#include "script/inputs.h"
#include "script/specialize.h"
#include "support/file.h"

namespace flambeau {
namespace {

Result<Program> ReadArchive(const ZipArchive& archive, const Options& options, Sink& sink) {
  if (LooksLikePt2(archive)) return ReadPt2(archive, sink);
  if (LooksLikeTorchScript(archive)) {
    FLAMBEAU_TRY(const torchscript::Graph graph, torchscript::ReadArchive(archive, sink));
    FLAMBEAU_TRY(const std::vector<ScriptInput> inputs, script::DescribeInputs(graph, options.inputs, sink));
    return script::Specialize(graph, inputs, options, sink);
  }
  FileKind kind = DescribeArchive(archive);
  return sink.Error(DiagnosticKind::kUnknownFormat, std::move(kind.what), archive.Where(nullptr), std::move(kind.hint));
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

}  // namespace

std::optional<Program> ReadProgram(const std::string& path, std::vector<Diagnostic>& diagnostics, const Options& options) {
  std::optional<Program> program;
  Guard(diagnostics, {.file = path}, [&] {
    Sink sink;
    const Result<ZipArchive> archive = OpenArchive(path, sink);
    Result<Program> read = archive ? ReadArchive(*archive, options, sink) : kFailure;
    for (Diagnostic& diagnostic : sink.Take()) diagnostics.push_back(std::move(diagnostic));
    if (read) program.emplace(*std::move(read));
  });
  return program;
}

std::string DumpTorchScript(const std::string& path, std::vector<Diagnostic>& diagnostics) {
  std::string text;
  Guard(diagnostics, {.file = path}, [&] {
    Sink sink;
    if (const Result<ZipArchive> archive = OpenArchive(path, sink)) {
      if (!LooksLikeTorchScript(*archive)) {
        (void)sink.Error(DiagnosticKind::kUnknownFormat, "the file is no TorchScript archive", archive->Where(nullptr),
                         "save the model with torch.jit.save");
      } else if (const auto graph = torchscript::ReadArchive(*archive, sink)) {
        text = torchscript::Print(*graph);
      }
    }
    for (Diagnostic& diagnostic : sink.Take()) diagnostics.push_back(std::move(diagnostic));
  });
  return text;
}

}  // namespace flambeau
