// One subcommand of `flambeau`: it declares its options, and runs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flambeau/diagnostic.h"
#include "flambeau/options.h"

namespace flambeau::cli {

// Exit codes; `flambeau --help` lists them.
enum ExitCode : int {
  kSuccess = 0,
  kFailed = 1,        // the input is damaged, or the target cannot be written
  kUsage = 2,         // the command line makes no sense
  kUnsupported = 3,   // operators or forms that cannot be converted; the report lists them
  kInterrupted = 130, // Ctrl-C
};

// Each adds itself to `app` and returns what to run if it was chosen.
using Run = std::function<int()>;
Run AddConvert(CLI::App& app);
Run AddInspect(CLI::App& app);
Run AddDump(CLI::App& app);
Run AddOps(CLI::App& app);
Run AddCompletion(CLI::App& app);
Run AddMan(CLI::App& app);
// A command that `python -m flambeau` runs.
Run AddPython(CLI::App& app, const std::string& name, const std::string& description);

// The commands that help shows.
std::vector<const CLI::App*> ShownCommands(const CLI::App& app);
// What the help and the man page end with: a command line or exit code, and what it does or means.
using HelpRow = std::pair<std::string_view, std::string_view>;
std::span<const HelpRow> Examples();
std::span<const HelpRow> ExitCodes();
// Help in two columns, of lines that fit a terminal, with the examples of the command.
std::shared_ptr<CLI::FormatterBase> MakeFormatter();
// The first word of a command line that means nothing, and the nearest that does.
std::string DescribeUnknown(const CLI::App& app, const std::vector<std::string>& words);
// What a command that Python runs takes: ("model", "the archive"), ("--nodes", "…"). Nothing for the other commands.
std::vector<HelpRow> PythonArguments(std::string_view command);

// Prints the report on standard error as text, or on standard output as JSON,
// and says how to exit.
int Conclude(bool ok, const std::vector<Diagnostic>& diagnostics, bool json, bool quiet);
// Splits "a,b,c".
std::vector<std::string> SplitList(const std::string& text);
// "x=float32[1,3]", of which the value may hold commas; throws CLI::ValidationError on anything else.
std::pair<std::string, std::string> SplitPair(const std::string& item, const std::string& option);
// The option --input of commands that read archives, and what it was given.
CLI::Option* AddInputOption(CLI::App& command, std::vector<std::string>& inputs);
std::vector<std::pair<std::string, std::string>> Inputs(const std::vector<std::string>& inputs);
// The options --model and --method, of the same commands.
void AddChoiceOptions(CLI::App& command, Options& options);
// "x.0=batch" pairs; throws CLI::ValidationError on anything else.
std::vector<std::pair<std::string, std::string>> SplitPairs(const std::vector<std::string>& items, const std::string& option);

}  // namespace flambeau::cli
