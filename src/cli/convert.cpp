#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "flambeau/convert.h"
#include "flambeau/report.h"

namespace flambeau::cli {
namespace {

struct ConvertArguments {
  std::string source, target;
  Options options;
  std::string input_names, output_names;
  std::vector<std::string> dim_names, user_metadata, custom_opsets, inputs;
  std::string report = "text", report_file, profile;
  std::optional<std::string> seed;
  bool no_optimize = false, quiet = false;
  int verbose = 0;
};

template <class T>
using Choices = std::vector<std::pair<std::string, T>>;
const Choices<ExternalData> kExternalData = {{"auto", ExternalData::kAuto}, {"always", ExternalData::kAlways},
                                             {"never", ExternalData::kNever}, {"reference", ExternalData::kReference}};
const Choices<Metadata> kMetadata = {{"release", Metadata::kRelease}, {"namespace", Metadata::kNamespace},
                                     {"default", Metadata::kDefault}, {"debug", Metadata::kDebug}};
const Choices<Target> kTarget = {{"ort", Target::kOnnxRuntime}, {"strict", Target::kStrict}};

template <class T>
std::vector<std::string> Names(const Choices<T>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return names;
}

// Sets `target`, which outlives the parse, to what the chosen name stands for.
template <class T, class Chosen>
std::function<void(const std::string&)> Choose(Chosen& target, const Choices<T>& choices) {
  return [&](const std::string& chosen) {
    for (const auto& [name, value] : choices)
      if (name == chosen) target = value;
  };
}

std::string Shape(const std::vector<std::string>& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

void PrintModel(const Model& model, const std::string& target) {
  fmt::print(stderr, "wrote {}: opset {}, IR {}, {} nodes, {:.1f} MB of weights\n", target, model.opset(), model.ir_version(), model.node_count(),
             static_cast<double>(model.weight_bytes()) / 1e6);
  for (const auto& input : model.inputs()) fmt::print(stderr, "  input  {}: {}{}\n", input.name, input.dtype, Shape(input.sizes));
  for (const auto& output : model.outputs()) fmt::print(stderr, "  output {}: {}{}\n", output.name, output.dtype, Shape(output.sizes));
}

void CheckReportFile(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".html" && ending != ".md" && ending != ".json")
    throw CLI::ValidationError("--report-file", fmt::format("'{}' ends in none of .html, .md and .json", path));
}

// By the ending of the file.
std::string Rendered(const ConversionReport& report, const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".json") return ReportJson(report);
  if (ending == ".md") return ReportMarkdown(report);
  return ReportHtml(report);
}

bool WriteText(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fmt::print(stderr, "error: {} cannot be written: {} [cannot-write]\n", path, errno != 0 ? std::strerror(errno) : "no space is left");
  return static_cast<bool>(file);
}

// The files that were asked for; also of a conversion that failed.
bool WriteReports(const ConvertArguments& arguments, const ConversionReport& report) {
  bool fine = true;
  if (!arguments.report_file.empty()) {
    fine &= WriteText(arguments.report_file, Rendered(report, arguments.report_file));
    if (fine && !arguments.quiet) fmt::print(stderr, "report: {}\n", arguments.report_file);
  }
  if (!arguments.profile.empty()) fine &= WriteText(arguments.profile, ReportTrace(report));
  return fine;
}

std::vector<std::pair<std::string, int>> Versions(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<std::pair<std::string, int>> versions;
  for (const auto& [name, text] : pairs) {
    int version = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (error != std::errc() || end != text.data() + text.size() || version < 1)
      throw CLI::ValidationError("--custom-opset", fmt::format("'{}' is no version of an opset", text));
    versions.emplace_back(name, version);
  }
  return versions;
}

// In decimal, all of it: CLI11 would take the sign, octal and true.
uint64_t Seed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    throw CLI::ValidationError("--seed", fmt::format("'{}' is no integer from 0 to 2^64 - 1", text));
  return seed;
}

int RunConvert(ConvertArguments& arguments) {
  Options& options = arguments.options;
  options.input_names = SplitList(arguments.input_names);
  options.output_names = SplitList(arguments.output_names);
  options.dim_names = SplitPairs(arguments.dim_names, "--dim-names");
  for (const std::string& item : arguments.user_metadata) options.user_metadata.push_back(SplitPair(item, "--set-metadata"));
  options.custom_opsets = Versions(SplitPairs(arguments.custom_opsets, "--custom-opset"));
  options.inputs = Inputs(arguments.inputs);
  if (arguments.seed) options.seed = Seed(*arguments.seed);
  options.optimize = !arguments.no_optimize;
  options.progress = MakeProgress(arguments.quiet || arguments.report == "json");
  if (arguments.target.empty()) arguments.target = std::filesystem::path(arguments.source).replace_extension(".onnx").string();
  const bool to_file = arguments.report == "html" || arguments.report == "markdown";
  if (to_file && arguments.report_file.empty())
    arguments.report_file = std::filesystem::path(arguments.target).replace_extension(arguments.report == "html" ? ".report.html" : ".report.md").string();
  if (!arguments.report_file.empty()) CheckReportFile(arguments.report_file);
  options.report = !arguments.report_file.empty() || !arguments.profile.empty();
  const Outcome outcome = ConvertFile(arguments.source, arguments.target, options);
  ClearProgress();
  if (outcome.ok() && arguments.verbose > 0) PrintModel(*outcome.model, arguments.target);
  const bool written = !outcome.report || WriteReports(arguments, *outcome.report);
  return Conclude(outcome.ok() && written, outcome.diagnostics, arguments.report == "json", arguments.quiet);
}

}  // namespace

Run AddConvert(CLI::App& app) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand("convert", "Convert an archive to an ONNX model.");
  Options& options = arguments->options;
  command->add_option("model", arguments->source, "the .pt2 or TorchScript archive to read")->required();
  command->add_option("-o,--output", arguments->target, "the file to write; by default the archive's name with .onnx");
  command->add_option("--opset", options.opset, fmt::format("opset of the model, 7 to {}", NewestOpset()))->capture_default_str();
  command->add_option_function<std::string>("--external-data", Choose(options.external_data, kExternalData),
                      "where weights go: auto (beside the model above 2 GB), always (beside it), never, or reference (they stay in the archive, the model points into it)")
      ->check(CLI::IsMember(Names(kExternalData)))->option_text("MODE");
  command->add_option_function<std::string>("--target", Choose(options.target, kTarget),
                      "what runs the model: ort (casts around kernels that onnxruntime lacks) or strict (anything that follows ONNX: no such casts)")
      ->check(CLI::IsMember(Names(kTarget)))->option_text("RUNTIME");
  command->add_option_function<std::string>("--metadata", Choose(options.metadata, kMetadata),
                      "what the model tells of its origin: release (nothing), namespace, default, debug (stack traces, too); below opset 18 release, if not asked for more")
      ->check(CLI::IsMember(Names(kMetadata)))->option_text("LEVEL");
  command->add_flag_callback("--release", [arguments] { arguments->options.metadata = Metadata::kRelease; }, "the same as --metadata release");
  command->add_flag_callback("--debug", [arguments] { arguments->options.metadata = Metadata::kDebug; }, "the same as --metadata debug");
  command->add_option("--set-metadata", arguments->user_metadata, "KEY=VALUE for the model's metadata; may be repeated");
  command->add_option("--input-names", arguments->input_names, "names of the inputs, in order: a,b,c");
  command->add_option("--output-names", arguments->output_names, "names of the outputs, in order: a,b,c");
  command->add_option("--dim-names", arguments->dim_names, "names of dynamic dimensions: x.0=batch,x.1=seq (or s77=batch)");
  command->add_option("--custom-opset", arguments->custom_opsets, "NAMESPACE=VERSION: operators of that namespace that have no translation become custom ONNX operators; may be repeated");
  AddChoiceOptions(*command, options);
  AddInputOption(*command, arguments->inputs);
  command->add_option("--report", arguments->report, "text (diagnostics, on standard error), json (the same, on standard output), html or markdown (all of the conversion, in a file)")->check(CLI::IsMember({"text", "json", "html", "markdown"}))->option_text("FORMAT");
  command->add_option("--report-file", arguments->report_file, "where to write all of the conversion: .html, .md or .json; by default beside the model")->option_text("FILE");
  command->add_option("--profile", arguments->profile, "write the stages as a trace for Chrome's viewer")->option_text("FILE");
  command->add_flag("--no-optimize", arguments->no_optimize, "keep the graph as it was lowered");
  command->add_flag("--state-outputs", options.state_outputs, "new values of mutated buffers and inputs become outputs");
  command->add_option("--seed", arguments->seed, "random numbers are the same whenever the model is loaded; each draw in it gets a seed of its own, made from N (0 to 2^64 - 1)")->option_text("N");
  command->add_flag("-v,--verbose", arguments->verbose, "say what was written");
  command->add_flag("-q,--quiet", arguments->quiet, "no warnings, no progress bar");
  return [arguments] { return RunConvert(*arguments); };
}

}  // namespace flambeau::cli
