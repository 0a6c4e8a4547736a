// Completion scripts for shells, made from the options that are declared.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"

namespace flambeau::cli {
namespace {

std::vector<std::string> OptionsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const auto& [name, description] : PythonArguments(command.get_name()))
    if (name.starts_with("--")) names.emplace_back(name.substr(0, name.find(' ')));
  return names;
}

// "ort strict", of an option that takes one of a few words; CLI11 has them in the type's name: "TEXT:{ort,strict}".
std::string ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.find('}');
  if (open == type.npos || close == type.npos) return "";
  std::string words = type.substr(open + 1, close - open - 1);
  std::ranges::replace(words, ',', ' ');
  return words;
}

void PrintFish(const CLI::App& app) {
  for (const CLI::App* command : ShownCommands(app))
    fmt::print("complete -c flambeau -n __fish_use_subcommand -a {} -d '{}'\n", command->get_name(), command->get_description());
  for (const CLI::App* command : ShownCommands(app)) {
    for (const std::string& name : OptionsOf(*command)) {
      const CLI::Option* option = command->get_option_no_throw(name);
      const std::string choices = option ? ChoicesOf(*option) : "";
      fmt::print("complete -c flambeau -n '__fish_seen_subcommand_from {}' -l {}{}\n", command->get_name(), name.substr(2),
                 choices.empty() ? "" : fmt::format(" -x -a '{}'", choices));
    }
  }
}

void PrintBash(const CLI::App& app) {
  std::vector<std::string> commands;
  for (const CLI::App* command : ShownCommands(app)) commands.push_back(command->get_name());
  fmt::print("_flambeau() {{\n  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words files=1\n  case \"${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}\" in\n");
  for (const CLI::App* command : ShownCommands(app))
    for (const CLI::Option* option : command->get_options())
      if (const std::string choices = ChoicesOf(*option); !choices.empty())
        fmt::print("    \"{} {}\") words=\"{}\" files= ;;\n", command->get_name(), option->get_lnames().empty() ? command->get_name() : "--" + option->get_lnames()[0], choices);
  for (const CLI::App* command : ShownCommands(app)) fmt::print("    \"{} \"*) words=\"{}\" ;;\n", command->get_name(), fmt::join(OptionsOf(*command), " "));
  fmt::print("  esac\n  [ \"$COMP_CWORD\" -eq 1 ] && words=\"{}\" files=\n"
             "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\") ${{files:+$(compgen -f -- \"$current\")}})\n}}\n"
             "complete -o filenames -F _flambeau flambeau\n", fmt::join(commands, " "));
}

int RunCompletion(const CLI::App& app, const std::string& shell) {
  if (shell == "fish") {
    PrintFish(app);
    return kSuccess;
  }
  if (shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  PrintBash(app);
  return kSuccess;
}

}  // namespace

Run AddCompletion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a completion script: source <(flambeau completion bash)");
  command->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [&app, shell] { return RunCompletion(app, *shell); };
}

}  // namespace flambeau::cli
