#include "reader/torchscript/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "container/quote.h"
#include "reader/torchscript/hooks.h"
#include "reader/torchscript/inline.h"
#include "reader/torchscript/objects.h"
#include "reader/torchscript/types.h"
#include "reader/torchscript/upgraders.h"

namespace flambeau {
namespace torchscript {
namespace {

constexpr uint64_t kMaxCodeBytes = uint64_t{1} << 28;
// caffe2/serialize/versions.h: kMaxSupportedFileFormatVersion.
constexpr int64_t kNewestVersion = 10;

std::shared_ptr<const SourceFile> UpgraderFile() {
  static const auto file = std::make_shared<const SourceFile>(
      SourceFile{std::string(kUpgraderModule), std::string(kUpgraderCode), {.entry = std::string(kUpgraderModule)}});
  return file;
}

// "__torch__.torch.nn" is code/__torch__/torch/nn.py.
class ArchiveCode : public CodeSource {
 public:
  ArchiveCode(const ZipArchive& archive, SourceRanges& ranges) : archive_(archive), ranges_(ranges) {}

  Result<std::shared_ptr<const SourceFile>> Load(std::string_view module, Sink& sink) override {
    if (module == kUpgraderModule) return UpgraderFile();
    std::string path(module);
    std::ranges::replace(path, '.', '/');
    path = fmt::format("{}code/{}.py", archive_.root(), path);
    const ZipEntry* entry = archive_.Find(path);
    if (entry == nullptr) return std::shared_ptr<const SourceFile>();
    FLAMBEAU_TRY(std::string text, archive_.Read(*entry, kMaxCodeBytes, sink));
    ReadRanges(path, sink);
    return std::make_shared<const SourceFile>(SourceFile{path, std::move(text), archive_.Where(entry)});
  }

 private:
  // They say where code comes from and not what it means: broken ones are a warning.
  void ReadRanges(const std::string& path, Sink& sink) {
    const ZipEntry* entry = archive_.Find(path + ".debug_pkl");
    if (entry == nullptr) return;
    Sink scratch;
    const Result<std::string> bytes = archive_.Read(*entry, kMaxCodeBytes, scratch);
    const Result<Pickle> pickle = bytes ? Pickle::Parse(*bytes, archive_.Where(entry), scratch) : kFailure;
    if (pickle) return ranges_.Add(path, *pickle);
    sink.Warning(DiagnosticKind::kBadPickle, "the source lines of the code cannot be read: " + scratch.diagnostics()[0].message,
                 archive_.Where(entry));
  }

  const ZipArchive& archive_;
  SourceRanges& ranges_;
};

// One file, "__torch__.py".
class TextCode : public CodeSource {
 public:
  explicit TextCode(std::string text)
      : file_(std::make_shared<const SourceFile>(SourceFile{"code/__torch__.py", std::move(text), {.entry = "code/__torch__.py"}})) {}
  Result<std::shared_ptr<const SourceFile>> Load(std::string_view module, Sink&) override {
    if (module == kUpgraderModule) return UpgraderFile();
    return module == "__torch__" ? file_ : nullptr;
  }

 private:
  std::shared_ptr<const SourceFile> file_;
};

// Zip archives without the entry are of the oldest version.
Result<int64_t> ReadVersion(const ZipArchive& archive, Sink& sink) {
  const ZipEntry* entry = archive.Find(std::string(archive.root()) + "version");
  if (entry == nullptr) entry = archive.Find(std::string(archive.root()) + ".data/version");
  if (entry == nullptr) return 1;
  FLAMBEAU_TRY(const std::string text, archive.Read(*entry, 64, sink));
  int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || version < 1)
    return sink.Error(DiagnosticKind::kBadArchive, fmt::format("the version of the archive is {}, which is no number", Quote(text)), archive.Where(entry));
  if (version > kNewestVersion)
    return sink.Error(DiagnosticKind::kUnsupportedVersion,
                      fmt::format("the archive has version {}; versions to {} are read", version, kNewestVersion),
                      archive.Where(entry), "use a newer Flambeau");
  return version;
}

// Types that say more than the code does, where they agree with it.
void RecordTraced(Graph& graph, const std::vector<TypePtr>& traced) {
  for (size_t i = 0; i < traced.size() && i + 1 < graph.main->inputs.size(); ++i) {
    TypePtr& type = graph.main->inputs[i + 1]->type;
    if (traced[i] && IsSubtype(*traced[i], *type)) type = traced[i];
  }
}

// The function as one graph; what the function itself says of its inputs is kept. `hooked` is the class whose forward it
// is, if calls of that run hooks as well.
Result<Graph> InlineEntry(const FunctionInfo& entry, const ClassInfo* hooked, ObjectId self, std::vector<Object> objects,
                          std::span<const ObjectId> unrestored, Program& program) {
  FunctionTable functions(program);
  FunctionInfo called = entry;
  if (hooked != nullptr) {
    called.name = hooked->name + ".__call__";
    FLAMBEAU_TRY(std::unique_ptr<Graph> call, EmitHookedCall(*hooked, program.library));
    functions.Add(called.name, std::move(call));
  }
  FLAMBEAU_TRY(Graph graph, Inline(called, self, std::move(objects), unrestored, functions));
  FLAMBEAU_TRY(const Signature* signature, program.library.SignatureOf(entry));
  for (const FormalArgument& argument : signature->arguments) graph.defaults.push_back(argument.default_value);
  return graph;
}

Failure NoMethod(const ZipArchive& archive, const std::vector<std::string>& methods, const std::string& method, Sink& sink) {
  if (methods.empty())
    return sink.Error(DiagnosticKind::kBadProgram, "the module has no methods: the archive holds state alone, as LibTorch's torch::save writes it",
                      archive.Where(nullptr), "load it into the model's class in Python or C++, and save a traced or scripted module");
  return sink.Error(DiagnosticKind::kBadProgram, fmt::format("the module has no method {}", Quote(method)), archive.Where(nullptr),
                    fmt::format("choose one of its methods, by --method or method: {}", fmt::join(methods, ", ")));
}

}  // namespace

Result<Graph> ReadArchive(const ZipArchive& archive, Sink& sink, const std::string& wanted) {
  SourceRanges ranges;
  ArchiveCode code(archive, ranges);
  Library library(code, sink);
  Program program = {library, ranges, 0};
  FLAMBEAU_TRY(program.operator_version, ReadVersion(archive, sink));
  std::vector<Object> objects;
  ObjectReader reader(archive, library, &objects);
  FLAMBEAU_TRY(std::vector<TypedConstant> constants, reader.ReadConstants());
  library.SetConstants(std::move(constants));
  FLAMBEAU_TRY(const ObjectId root, reader.ReadModule());
  const std::string class_name = objects[root.index].class_name;
  FLAMBEAU_TRY(const ClassInfo* info, library.FindClass(class_name));
  std::vector<std::string> methods;
  if (info != nullptr)
    for (const auto& [name, definition] : info->methods) methods.push_back(name);
  constexpr std::string_view kDefaultMethod = "forward";
  const bool has_default = std::ranges::find(methods, kDefaultMethod) != methods.end();
  const std::string method = !wanted.empty()                            ? wanted
                             : !has_default && methods.size() == 1 ? methods.front()
                                                                        : std::string(kDefaultMethod);
  FLAMBEAU_TRY(const FunctionInfo* entry, library.FindMethod(class_name, method));
  if (entry == nullptr) {  // the first of the overloads that nn.LSTM and its like have
    FLAMBEAU_TRY(entry, library.FindMethod(class_name, method + "__0"));
  }
  if (entry == nullptr) return NoMethod(archive, methods, method, sink);
  FLAMBEAU_TRY(const std::vector<TypePtr> traced, reader.ReadTracedTypes(method));
  const bool hooked = method == kDefaultMethod && has_default && !(info->forward_hooks.empty() && info->forward_pre_hooks.empty());
  FLAMBEAU_TRY(Graph graph, InlineEntry(*entry, hooked ? info : nullptr, root, std::move(objects), reader.unrestored(), program));
  RecordTraced(graph, traced);
  graph.methods = std::move(methods);
  graph.device = reader.device();
  return graph;
}

Result<Graph> ReadCode(std::string text, const std::string& name, Sink& sink, int64_t version) {
  SourceRanges ranges;
  TextCode code(std::move(text));
  Library library(code, sink);
  Program program = {library, ranges, version};
  FLAMBEAU_TRY(const FunctionInfo* function, library.FindFunction("__torch__." + name));
  if (function == nullptr) {
    const size_t dot = name.rfind('.');
    FLAMBEAU_TRY(function, library.FindMethod("__torch__." + name.substr(0, dot), dot == name.npos ? "" : name.substr(dot + 1)));
  }
  if (function == nullptr) return sink.Error(DiagnosticKind::kBadProgram, fmt::format("there is no function {}", Quote(name)));
  return InlineEntry(*function, nullptr, {}, {}, {}, program);
}

}  // namespace torchscript

bool LooksLikeTorchScript(const ZipArchive& archive) {
  const std::string root(archive.root());
  return archive.Find(root + "data.pkl") != nullptr &&
         (archive.Find(root + "constants.pkl") != nullptr ||
          std::ranges::any_of(archive.entries(), [&](const ZipEntry& entry) {
            return entry.name.starts_with(root + "code/") && entry.name.ends_with(".py");
          }));
}

}  // namespace flambeau
