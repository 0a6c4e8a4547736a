#include "reader/pt2/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>

#include "aten/builder_access.h"
#include "aten/guards.h"
#include "container/json.h"
#include "container/quote.h"
#include "reader/pt2/graph_reader.h"
#include "reader/pt2/tensor_table.h"

namespace flambeau {
namespace pt2 {
namespace {

// SCHEMA_VERSION of torch/_export/serde/schema.py.
constexpr int64_t kOldestMajor = 1, kNewestMajor = 8;
constexpr uint64_t kMaxMarkerBytes = 64;

// Paths are relative to the archive's root folder.
const ZipEntry* FindEntry(const ZipArchive& archive, std::string_view path) {
  return archive.Find(std::string(archive.root()) + std::string(path));
}

Result<const ZipEntry*> RequireEntry(const ZipArchive& archive, std::string_view path, Sink& sink) {
  return archive.Require(std::string(archive.root()) + std::string(path), sink);
}

constexpr std::string_view kOldProgram = "serialized_exported_program.json";

bool IsOldLayout(const ZipArchive& archive) { return FindEntry(archive, kOldProgram) != nullptr; }

// Small text entries that say what the archive is. Absence is not an error.
Status CheckMarker(const ZipArchive& archive, std::string_view path, std::string_view expected, std::string_view what,
                   Sink& sink) {
  const ZipEntry* entry = FindEntry(archive, path);
  if (entry == nullptr) return {};
  FLAMBEAU_TRY(std::string text, archive.Read(*entry, kMaxMarkerBytes, sink));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text == expected) return {};
  return sink.Error(DiagnosticKind::kUnsupportedVersion,
                    fmt::format("the {} is {}, not '{}'", what, Quote(text), expected), archive.Where(entry));
}

constexpr std::string_view kDefaultModel = "model";

// Of "models/NAME.json".
std::vector<std::string> ModelNames(const ZipArchive& archive) {
  const std::string prefix = std::string(archive.root()) + "models/";
  constexpr std::string_view kSuffix = ".json";
  std::vector<std::string> names;
  for (const ZipEntry& entry : archive.entries()) {
    std::string_view name = entry.name;
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
    name.remove_prefix(prefix.size());
    if (name.size() > kSuffix.size()) names.emplace_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return names;
}

Failure NoModels(const ZipArchive& archive, Sink& sink) {
  const std::string compiled = std::string(archive.root()) + "data/aotinductor/";
  if (std::ranges::any_of(archive.entries(), [&](const ZipEntry& entry) { return entry.name.starts_with(compiled); }))
    return sink.Error(DiagnosticKind::kMissingEntry, "the archive holds code that AOTInductor compiled, and no exported program",
                      archive.Where(nullptr), "save the program from which it was compiled with torch.export.save");
  return sink.Error(DiagnosticKind::kMissingEntry, "the archive holds no exported program", archive.Where(nullptr),
                    "torch.export.save leaves such a file behind where it fails: save the program again, and see what it says");
}

// The name of the model to read.
Result<std::string> ChooseModel(const ZipArchive& archive, std::string_view wanted, Sink& sink) {
  const std::vector<std::string> names = ModelNames(archive);
  if (names.empty()) return NoModels(archive, sink);
  const std::string_view chosen = wanted.empty() ? kDefaultModel : wanted;
  if (std::ranges::find(names, chosen) != names.end()) return std::string(chosen);
  if (wanted.empty() && names.size() == 1) return names.front();
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(Quote(name));
  if (wanted.empty())
    return sink.Error(DiagnosticKind::kMissingInformation, fmt::format("the archive holds {} models, none of them named 'model'", names.size()),
                      archive.Where(nullptr), fmt::format("choose one, by --model or model_name: {}", fmt::join(quoted, ", ")));
  return sink.Error(DiagnosticKind::kBadOption, fmt::format("the archive holds no model {}", Quote(wanted)), archive.Where(nullptr),
                    fmt::format("it holds {}", fmt::join(quoted, ", ")));
}

// PyTorch 2.8 wrote `data/KIND/MODEL.pt` by torch.save; later ones a
// configuration beside raw payloads.
Status AddPayloads(const ZipArchive& archive, std::string_view kind, std::string_view model, TensorTable* tensors,
                   Sink& sink) {
  if (const ZipEntry* saved = FindEntry(archive, fmt::format("data/{}/{}.pt", kind, model)))
    return tensors->AddStateDict(*saved);
  FLAMBEAU_TRY(const ZipEntry* config,
               RequireEntry(archive, fmt::format("data/{}/{}_{}_config.json", kind, model, kind), sink));
  return tensors->AddConfig(*config);
}

// What torch.save wrote of the old layout; PyTorch before 2.3 called it JSON all the same.
const ZipEntry* FindOldPayload(const ZipArchive& archive, std::string_view name) {
  const ZipEntry* entry = FindEntry(archive, fmt::format("{}.pt", name));
  return entry != nullptr ? entry : FindEntry(archive, fmt::format("{}.json", name));
}

// Finds the program's JSON and fills the table of tensors.
Result<const ZipEntry*> OpenLayout(const ZipArchive& archive, std::string_view wanted, TensorTable* tensors, Sink& sink) {
  if (IsOldLayout(archive)) {
    if (!wanted.empty() && wanted != kDefaultModel)
      return sink.Error(DiagnosticKind::kBadOption, fmt::format("the archive holds no model {}", Quote(wanted)), archive.Where(nullptr),
                        "it holds one, which has no name");
    const ZipEntry* weights = FindOldPayload(archive, "serialized_state_dict");
    if (weights == nullptr) {
      FLAMBEAU_TRY(weights, RequireEntry(archive, "serialized_state_dict.pt", sink));
    }
    FLAMBEAU_CHECK_OK(tensors->AddStateDict(*weights));
    if (const ZipEntry* constants = FindOldPayload(archive, "serialized_constants"))
      FLAMBEAU_CHECK_OK(tensors->AddStateDict(*constants));
    return RequireEntry(archive, kOldProgram, sink);
  }
  FLAMBEAU_CHECK_OK(CheckMarker(archive, "archive_version", "0", "version of the archive", sink));
  FLAMBEAU_TRY(const std::string model, ChooseModel(archive, wanted, sink));
  FLAMBEAU_CHECK_OK(AddPayloads(archive, "weights", model, tensors, sink));
  FLAMBEAU_CHECK_OK(AddPayloads(archive, "constants", model, tensors, sink));
  return RequireEntry(archive, fmt::format("models/{}.json", model), sink);
}

Status CheckVersion(const JsonReader& program, std::string_view torch_version) {
  FLAMBEAU_TRY(const JsonReader version, program.Member("schema_version"));
  int64_t major = 0;
  std::optional<int64_t> minor;
  if (const auto number = version.value().AsInt()) {  // before 2.3
    major = *number;
  } else {
    FLAMBEAU_TRY(major, version.Int("major"));
    FLAMBEAU_TRY(minor, version.OptionalInt("minor"));
  }
  if (major >= kOldestMajor && major <= kNewestMajor) return {};
  return version.Error(
      DiagnosticKind::kUnsupportedVersion,
      fmt::format("the program was saved by torch {} in version {}.{} of the schema; versions {} to {} are read",
                  torch_version, major, minor.value_or(0), kOldestMajor, kNewestMajor),
      major < kOldestMajor ? "export it again with PyTorch 2.5 or newer" : "use a newer Flambeau");
}

// A bound: a number, or null for none; older writers spell infinity, or write the largest numbers for it.
Result<std::optional<int64_t>> ReadBound(const JsonReader& range, std::string_view key) {
  FLAMBEAU_TRY(const std::optional<JsonReader> bound, range.OptionalMember(key));
  if (!bound || bound->value().kind() == JsonKind::kNull) return std::optional<int64_t>();
  if (const auto number = bound->value().AsDouble(); number && std::isinf(*number)) return std::optional<int64_t>();
  FLAMBEAU_TRY(const int64_t value, bound->AsInt());
  constexpr int64_t kInfinity = INT64_MAX - 1;  // sys.maxsize - 1
  if (value >= kInfinity || value <= -kInfinity) return std::optional<int64_t>();
  return std::optional<int64_t>(value);
}

// Declares the ranges of symbols; gives them as text.
Result<std::string> ReadRanges(const JsonReader& program, ProgramBuilder* builder) {
  FLAMBEAU_TRY(const std::optional<JsonReader> ranges, program.OptionalObject("range_constraints"));
  std::string text = "{";  // as Python prints the dictionary
  if (ranges) {
    for (const auto [symbol, json] : ranges->members()) {
      FLAMBEAU_TRY(const JsonReader range, json.AsObject());
      FLAMBEAU_TRY(const std::optional<int64_t> min, ReadBound(range, "min_val"));
      FLAMBEAU_TRY(const std::optional<int64_t> max, ReadBound(range, "max_val"));
      builder->SetRange(symbol, min, max);
      fmt::format_to(std::back_inserter(text), "{}{}: VR[{}, {}]", text.size() > 1 ? ", " : "", symbol,
                     min ? fmt::to_string(*min) : "-int_oo", max ? fmt::to_string(*max) : "int_oo");
    }
  }
  return text + "}";
}

Status ReadGuards(const JsonReader& program) {
  FLAMBEAU_TRY(const std::optional<JsonReader> guards, program.OptionalArray("guards_code"));
  if (!guards) return {};
  std::unordered_set<std::string_view> seen;  // decompositions ask again
  for (const JsonReader json : guards->elements()) {
    FLAMBEAU_TRY(const std::string_view guard, json.AsString());
    if (seen.insert(guard).second && aten::PinsSizes(guard)) aten::WarnOfGuard(Quote(guard), json.Where(), json.sink());
  }
  return {};
}

// What flambeau.save adds: schemas of the user's operators, and names of dimensions.
Status ReadExtra(const ZipArchive& archive, ProgramBuilder* builder, Sink& sink) {
  const ZipEntry* entry = FindEntry(archive, "extra/flambeau.json");
  if (entry == nullptr) return {};
  FLAMBEAU_TRY(const JsonDocument document, ReadJson(archive, *entry, sink));
  const JsonReader extra(document.root(), sink);
  FLAMBEAU_TRY(const std::optional<JsonReader> schemas, extra.OptionalArray("operator_schemas"));
  if (schemas)
    for (const JsonReader json : schemas->elements()) {
      FLAMBEAU_TRY(const std::string_view schema, json.AsString());
      builder->DeclareOperator(schema);
    }
  FLAMBEAU_TRY(const std::optional<JsonReader> names, extra.OptionalArray("dimension_names"));
  if (!names) return {};
  for (const JsonReader json : names->elements()) {
    FLAMBEAU_TRY(const int64_t input, json.Int("input"));
    FLAMBEAU_TRY(const int64_t dim, json.Int("dim"));
    FLAMBEAU_TRY(const std::string_view name, json.String("name"));
    if (input < 0 || dim < 0) return json.Error("positions count from 0");
    builder->NameDimension(static_cast<size_t>(input), static_cast<size_t>(dim), name);
  }
  return {};
}

Status Read(const ZipArchive& archive, std::string_view model, ProgramBuilder* builder, Sink& sink) {
  FLAMBEAU_TRY(const bool big_endian, IsBigEndian(archive, sink));
  TensorTable tensors(archive, big_endian, sink);
  FLAMBEAU_TRY(const ZipEntry* entry, OpenLayout(archive, model, &tensors, sink));
  FLAMBEAU_TRY(const JsonDocument document, ReadJson(archive, *entry, sink));
  const JsonReader program(document.root(), sink);
  FLAMBEAU_TRY(const std::optional<std::string_view> torch_version, program.OptionalString("torch_version"));
  FLAMBEAU_CHECK_OK(CheckVersion(program, torch_version.value_or("<=2.4")));
  builder->SetTorchVersion(torch_version.value_or("<=2.4"));
  FLAMBEAU_CHECK_OK(ReadExtra(archive, builder, sink));
  BuilderAccess::UseFile(*builder, archive.file());
  FLAMBEAU_TRY(const JsonReader graph_module, program.Object("graph_module"));
  GraphReader reader(*builder, tensors, torch_version.has_value(), sink);
  FLAMBEAU_TRY(const std::string ranges, ReadRanges(program, builder));  // before the sizes that are made of the symbols
  FLAMBEAU_CHECK_OK(reader.Read(graph_module));
  builder->SetMetadata("pkg.torch.export.ExportedProgram.range_constraints", ranges);
  FLAMBEAU_CHECK_OK(ReadGuards(program));
  return {};
}

}  // namespace
}  // namespace pt2

bool LooksLikePt2(const ZipArchive& archive) {
  if (pt2::IsOldLayout(archive)) return true;
  if (pt2::FindEntry(archive, "archive_format") == nullptr) return false;
  return pt2::FindEntry(archive, "archive_version") != nullptr;
}

std::vector<std::string> ModelsOfPt2(const ZipArchive& archive) {
  return pt2::IsOldLayout(archive) ? std::vector{std::string(pt2::kDefaultModel)} : pt2::ModelNames(archive);
}

Result<Program> ReadPt2(const ZipArchive& archive, Sink& sink, std::string_view model, std::span<const std::string> operator_schemas) {
  ProgramBuilder builder;
  for (const std::string& schema : operator_schemas) builder.DeclareOperator(schema);
  const Status read = pt2::Read(archive, model, &builder, sink);
  std::optional<Program> program;
  std::vector<Diagnostic> diagnostics;
  if (read) {
    program = builder.Finish(diagnostics);
  } else {  // what is unfinished then was not left so by the archive
    diagnostics = BuilderAccess::SinkOf(builder).Take();
  }
  for (Diagnostic& diagnostic : diagnostics) sink.Add(std::move(diagnostic));
  if (!program) return kFailure;
  return *std::move(program);
}

Result<Program> ReadPt2(std::shared_ptr<const File> file, Sink& sink) {
  FLAMBEAU_TRY(const ZipArchive archive, ZipArchive::Open(std::move(file), sink));
  return ReadPt2(archive, sink);
}

}  // namespace flambeau
