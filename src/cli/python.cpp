// Commands that need PyTorch or onnxruntime: Python's side of Flambeau runs them.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cli/command.h"

namespace flambeau::cli {
namespace {

// `python -m flambeau`, but for what is said where it is not installed.
constexpr char kStart[] =
    "import sys\n"
    "try:\n"
    "    from flambeau.__main__ import main\n"
    "except ModuleNotFoundError as error:\n"
    "    if error.name != 'flambeau': raise\n"
    "    sys.exit(f'flambeau: {sys.argv[1]} needs the Python package flambeau, which {sys.executable} does not have\\n"
    "  install it there, or set PYTHON to an interpreter that has it')\n"
    "sys.exit(main(sys.argv[1:]))\n";

// Does not return, but where Python cannot be started.
int RunPython(const std::string& name, const std::vector<std::string>& rest) {
  const char* chosen = std::getenv("PYTHON");
  const std::string python = chosen != nullptr && *chosen != 0 ? chosen : "python3";
  std::vector<std::string> words = {python, "-c", kStart, name};
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  ::execvp(argv[0], argv.data());
  fmt::print(stderr, "flambeau: {} needs Python, and {} cannot be started: {}\n  set PYTHON to an interpreter that has flambeau\n", name, python, std::strerror(errno));
  return kFailed;
}

struct PythonArgument {
  std::string_view command, name, description;
};

// As python/flambeau/__main__.py declares them; tests/cli/test_man.py compares.
constexpr PythonArgument kArguments[] = {
    {"diff", "a", "an ONNX model"},
    {"diff", "b", "the other one"},
    {"verify", "archive", "the .pt2 or TorchScript archive"},
    {"verify", "onnx", "the converted model"},
    {"verify", "--model NAME", "which of the models of a .pt2 archive that holds several"},
    {"verify", "--method NAME", "which method of a TorchScript archive's module, instead of forward"},
    {"verify", "--input NAME=VALUE", "what the model was converted with in place of an input: n=3; may be repeated"},
    {"verify", "--nodes", "also find the first captured node that differs"},
};

}  // namespace

std::vector<HelpRow> PythonArguments(std::string_view command) {
  std::vector<HelpRow> arguments;
  for (const PythonArgument& each : kArguments)
    if (each.command == command) arguments.emplace_back(each.name, each.description);
  return arguments;
}

Run AddPython(CLI::App& app, const std::string& name, const std::string& description) {
  CLI::App* command = app.add_subcommand(name, description);
  command->prefix_command();
  command->set_help_flag();  // Python's own
  return [command, name] { return RunPython(name, command->remaining()); };
}

}  // namespace flambeau::cli
