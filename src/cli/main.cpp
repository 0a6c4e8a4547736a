// The command `flambeau`: a thin skin over the public library.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <system_error>

#include "cli/command.h"
#include "cli/heap.h"
#include "flambeau/report.h"
#include "flambeau/version.h"

namespace flambeau::cli {

int Conclude(bool ok, const std::vector<Diagnostic>& diagnostics, bool json, bool quiet) {
  if (json) {
    fmt::print("{}", ReportJson(diagnostics));
  } else if (!quiet || !ok) {
    fmt::print(stderr, "{}", ReportText(diagnostics));
  }
  if (ok) return kSuccess;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.kind == DiagnosticKind::kInterrupted) return kInterrupted;
    if (diagnostic.kind == DiagnosticKind::kBadOption) return kUsage;
    if (diagnostic.kind == DiagnosticKind::kUnsupportedOperator || diagnostic.kind == DiagnosticKind::kUnsupportedForm ||
        diagnostic.kind == DiagnosticKind::kUnsupportedOpset || diagnostic.kind == DiagnosticKind::kUnsupportedDtype)
      return kUnsupported;
  }
  return kFailed;
}

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  for (size_t begin = 0;;) {
    const size_t comma = text.find(',', begin);
    items.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return items;
    begin = comma + 1;
  }
}

std::pair<std::string, std::string> SplitPair(const std::string& item, const std::string& option) {
  const size_t equals = item.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == item.size())
    throw CLI::ValidationError(option, fmt::format("'{}' is not NAME=VALUE", item));
  return {item.substr(0, equals), item.substr(equals + 1)};
}

std::vector<std::pair<std::string, std::string>> SplitPairs(const std::vector<std::string>& items, const std::string& option) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& list : items)
    for (const std::string& item : SplitList(list)) pairs.push_back(SplitPair(item, option));
  return pairs;
}

CLI::Option* AddInputOption(CLI::App& command, std::vector<std::string>& inputs) {
  return command
      .add_option("--input", inputs, "what a TorchScript archive gets as an input: x=float32[batch,3,224,224], n=3, \"images=[float32[3,h,w]]\"; may be repeated")
      ->option_text("NAME=VALUE");
}

void AddChoiceOptions(CLI::App& command, Options& options) {
  command.add_option("--model", options.model, "which of the models of a .pt2 archive that holds several")->option_text("NAME");
  command.add_option("--method", options.method, "which method of a TorchScript archive's module, instead of forward")->option_text("NAME");
  command
      .add_option("--operator-schema", options.operator_schemas,
                  "the schema of an operator of one's own, where the archive does not have it: 'mylib::foo(Tensor(a!) x) -> ()'; may be repeated")
      ->option_text("SCHEMA");
}

std::vector<std::pair<std::string, std::string>> Inputs(const std::vector<std::string>& inputs) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& input : inputs) pairs.push_back(SplitPair(input, "--input"));
  return pairs;
}

namespace {

constexpr HelpRow kExamples[] = {
    {"flambeau convert model.pt2", "writes model.onnx beside it"},
    {"flambeau convert model.pt2 -o out.onnx --opset 21", ""},
    {"flambeau convert model.pt2 --dim-names x.0=batch", "names a dynamic dimension"},
    {"flambeau convert big.pt2 --external-data reference", "copies no weight"},
    {"flambeau convert model.pt --input x=float32[n,3]", "TorchScript says no types"},
    {"flambeau convert model.pt2 --report html", "what became of each node"},
    {"flambeau inspect model.pt2", "what it takes, holds and calls"},
    {"flambeau inspect --weights model.pt2", "and each parameter and buffer"},
    {"flambeau dump model.pt2 --stage functional", "the graph after a pass"},
    {"flambeau ops --format markdown", "what can be converted"},
    {"flambeau verify model.pt2 model.onnx", "runs both, and compares the numbers"},
    {"flambeau diff a.onnx b.onnx", "what differs between two models"},
    {"flambeau doctor", "what this installation can do"},
    {"source <(flambeau completion bash)", "completes words from now on"},
};

constexpr HelpRow kExitCodes[] = {
    {"0", "done"},
    {"1", "the input is damaged, or the target cannot be written"},
    {"2", "the command line makes no sense"},
    {"3", "the model uses operators that cannot be converted; the report lists all"},
    {"4", "verify, diff: the models differ"},
    {"130", "interrupted; the target is as it was"},
};

// A closed pipe or a file-size limit is an error of the write that meets it.
void ReportFailedWrites() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

// What was printed may still be in a buffer, and the disk full.
int Flushed(int code) {
  if (std::fflush(stdout) == 0) return code;
  std::perror("flambeau: standard output cannot be written");
  return code == kSuccess ? kFailed : code;
}

}  // namespace

std::vector<const CLI::App*> ShownCommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::span<const HelpRow> Examples() { return kExamples; }
std::span<const HelpRow> ExitCodes() { return kExitCodes; }

int Main(int argc, char** argv) {
  AskForHugePages();
  ReportFailedWrites();
  CLI::App app("Converts PyTorch models to ONNX.", "flambeau");
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", std::string("flambeau ") + Version(), "print the version");
  app.require_subcommand(0, 1);
  app.formatter(MakeFormatter());
  const std::pair<const char*, Run> commands[] = {{"convert", AddConvert(app)}, {"inspect", AddInspect(app)}, {"dump", AddDump(app)},
                                                  {"ops", AddOps(app)},
                                                  {"verify", AddPython(app, "verify", "Compare an ONNX model with the archive that it came from (with PyTorch).")},
                                                  {"diff", AddPython(app, "diff", "Compare two ONNX models (with Python).")},
                                                  {"doctor", AddPython(app, "doctor", "Say what this installation can do (with Python).")},
                                                  {"completion", AddCompletion(app)},
                                                  {"man", AddMan(app)}};
  try {
    app.parse(argc, argv);
    for (const auto& [name, run] : commands)
      if (app.got_subcommand(name)) return Flushed(run());
  } catch (const CLI::ExtrasError&) {
    fmt::print(stderr, "error: {}\nRun with --help for more information.\n", DescribeUnknown(app, {argv + 1, argv + argc}));
    return kUsage;
  } catch (const CLI::ConversionError& error) {  // "Could not convert: --opset = abc", in CLI11's words
    const std::string_view said = error.what();
    const size_t option = said.find("--");
    fmt::print(stderr, "error: {} is no such value as the option takes\nRun with --help for more information.\n",
               option == std::string_view::npos ? said : said.substr(option));
    return kUsage;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return Flushed(app.exit(error));  // --help, --version
    fmt::print(stderr, "error: {}\nRun with --help for more information.\n", error.what());
    return kUsage;
  } catch (const std::system_error& error) {  // of a print
    std::fprintf(stderr, "flambeau: standard output cannot be written: %s\n", error.code().message().c_str());
    return kFailed;
  }
  std::fputs("error: a command is missing\nRun with --help for more information.\n", stderr);
  return kUsage;
}

}  // namespace flambeau::cli

int main(int argc, char** argv) { return flambeau::cli::Main(argc, argv); }
