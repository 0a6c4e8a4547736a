#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "flambeau/convert.h"

namespace flambeau::cli {
namespace {

struct DumpArguments {
  std::string source, stage = "onnx";
  std::vector<std::string> inputs;
  Options options;
};

int RunDump(DumpArguments& arguments) {
  arguments.options.inputs = Inputs(arguments.inputs);
  std::vector<Diagnostic> diagnostics;
  const std::string text = DumpFile(arguments.source, arguments.stage, arguments.options, diagnostics);
  fmt::print("{}", text);
  return Conclude(!text.empty(), diagnostics, false, false);
}

}  // namespace

Run AddDump(CLI::App& app) {
  auto arguments = std::make_shared<DumpArguments>();
  CLI::App* command = app.add_subcommand("dump", "Print the graph after a stage or pass.");
  command->add_option("model", arguments->source, "the archive")->required();
  command->add_option("--stage", arguments->stage, fmt::format("one of: {}", fmt::join(DumpStages(), ", ")))->capture_default_str()->option_text("STAGE");
  AddChoiceOptions(*command, arguments->options);
  AddInputOption(*command, arguments->inputs);
  command->add_option("--opset", arguments->options.opset, "opset to lower to")->capture_default_str();
  return [arguments] { return RunDump(*arguments); };
}

}  // namespace flambeau::cli
