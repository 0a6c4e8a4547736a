#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "container/zip.h"
#include "diag/sink.h"
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

constexpr std::string_view kWhatIsRead =
    "save the model with torch.export.save(torch.export.export(model, inputs), \"model.pt2\")";

// What a file is that is no zip archive, by its first bytes.
std::string_view DescribeBytes(const File& file) {
  char start[16] = {};
  const uint64_t size = std::min<uint64_t>(file.size(), sizeof start);
  if (size == 0) return "the file is empty";
  if (!file.Read(0, std::as_writable_bytes(std::span(start)).first(size))) return "the file cannot be read";
  const std::string_view text(start, size);
  if (text.starts_with("\x80\x02") || text.starts_with("\x80\x04"))
    return "the file is a pickle, perhaps of PyTorch's format before 1.6";
  if (text.starts_with("\x89HDF")) return "the file is an HDF5 archive";
  if (text.starts_with("\x08")) return "the file looks like an ONNX model";
  return "the file is no zip archive";
}

Result<Program> ReadArchive(const ZipArchive& archive, const Options& options, Sink& sink) {
  if (LooksLikePt2(archive)) return ReadPt2(archive, sink);
  if (LooksLikeTorchScript(archive)) {
    FLAMBEAU_TRY(const torchscript::Graph graph, torchscript::ReadArchive(archive, sink));
    FLAMBEAU_TRY(const std::vector<ScriptInput> inputs, script::DescribeInputs(graph, options.inputs, sink));
    return script::Specialize(graph, inputs, options, sink);
  }
  const bool pickled = archive.Find(std::string(archive.root()) + "data.pkl") != nullptr;
  return sink.Error(DiagnosticKind::kUnknownFormat,
                    pickled ? "the file holds pickled objects, as torch.save writes them, and no program"
                            : "the file is a zip archive, but not one of PyTorch's",
                    archive.Where(nullptr), std::string(kWhatIsRead));
}

Result<ZipArchive> OpenArchive(const std::string& path, Sink& sink) {
  std::string error;
  const std::shared_ptr<const File> file = File::Open(path, &error);
  if (!file)
    return sink.Error(DiagnosticKind::kCannotOpen, fmt::format("the file cannot be opened: {}", error), {.file = path});
  char start[2] = {};
  const bool is_zip = file->Read(0, std::as_writable_bytes(std::span(start))) && std::string_view(start, 2) == "PK";
  if (!is_zip)
    return sink.Error(DiagnosticKind::kUnknownFormat, std::string(DescribeBytes(*file)), {.file = path},
                      std::string(kWhatIsRead));
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
