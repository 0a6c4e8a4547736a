// Completion scripts for shells, made from the options that are declared.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"

namespace flambeau::cli {
namespace {

std::vector<std::string> OptionsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

int RunCompletion(const CLI::App& app, const std::string& shell) {
  std::vector<std::string> commands;
  for (const CLI::App* command : ShownCommands(app)) commands.push_back(command->get_name());
  if (shell == "fish") {
    fmt::print("complete -c flambeau -n __fish_use_subcommand -a '{}'\n", fmt::join(commands, " "));
    for (const CLI::App* command : ShownCommands(app))
      for (const CLI::Option* option : command->get_options())
        for (const std::string& name : option->get_lnames())
          fmt::print("complete -c flambeau -n '__fish_seen_subcommand_from {}' -l {}\n", command->get_name(), name);
    return kSuccess;
  }
  if (shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  fmt::print("_flambeau() {{\n  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words=\"{}\"\n  case \"${{COMP_WORDS[1]}}\" in\n", fmt::join(commands, " "));
  for (const CLI::App* command : ShownCommands(app))
    fmt::print("    {}) words=\"{}\" ;;\n", command->get_name(), fmt::join(OptionsOf(*command), " "));
  fmt::print("  esac\n  [ \"$COMP_CWORD\" -eq 1 ] && words=\"{}\"\n  COMPREPLY=($(compgen -W \"$words\" -- \"$current\") $(compgen -f -- \"$current\"))\n}}\n"
             "complete -o filenames -F _flambeau flambeau\n", fmt::join(commands, " "));
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
