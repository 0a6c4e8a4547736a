// Man pages, made from the options that are declared: flambeau(1), and a page for each command.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "cli/command.h"
#include "flambeau/version.h"

namespace flambeau::cli {
namespace {

// Text as roff takes it literally. No line of ours starts with text that roff could take for a request,
// but a description may be put at the start of one.
std::string Literal(std::string_view text) {
  std::string out;
  if (!text.empty() && (text[0] == '.' || text[0] == '\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\n') out += ' ';
    else out += c;
  }
  return out;
}

std::string Bold(std::string_view text) { return "\\fB" + Literal(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + Literal(text) + "\\fR"; }

bool IsPositional(const CLI::Option& option) { return option.get_positional(); }

// What an option takes; empty for a flag.
std::string ValueOf(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  std::string value = option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
  return value.substr(0, value.find(':'));  // without the choices, which the description names
}

// "-o, --output FILE"
std::string Heading(const CLI::Option& option) {
  if (IsPositional(option)) return Italic(option.get_name(true));
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "" : ", ") + Bold("-" + name);
  for (const std::string& name : option.get_lnames()) names += (names.empty() ? "" : ", ") + Bold("--" + name);
  const std::string value = ValueOf(option);
  return value.empty() ? names : names + " " + Italic(value);
}

std::string Described(const CLI::Option& option) {
  std::string text = Literal(option.get_description());
  if (!option.get_default_str().empty()) text += Literal(fmt::format(" (default: {})", option.get_default_str()));
  return text;
}

std::string Title(std::string_view name, std::string_view description) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH \"{}\" 1 \"\" \"flambeau {}\" \"Flambeau\"\n.SH NAME\n{} \\- {}\n", Literal(upper), Version(), Literal(name), Literal(description));
}

std::string Options(const CLI::App& app) {
  std::string text;
  for (const bool positional : {true, false})
    for (const CLI::Option* option : app.get_options())
      if (IsPositional(*option) == positional) text += fmt::format(".TP\n{}\n{}\n", Heading(*option), Described(*option));
  return text.empty() ? text : ".SH OPTIONS\n" + text;
}

std::string PageName(const CLI::App& command) { return "flambeau-" + command.get_name(); }

std::string CommandPage(const CLI::App& command) {
  std::string page = Title(PageName(command), command.get_description());
  page += fmt::format(".SH SYNOPSIS\n{} [\\fIoptions\\fR]", Bold("flambeau " + command.get_name()));
  for (const CLI::Option* option : command.get_options())
    if (IsPositional(*option)) page += " " + Italic(option->get_name(true));
  const auto arguments = PythonArguments(command.get_name());
  for (const auto& [name, description] : arguments)
    if (!name.starts_with('-')) page += " " + Italic(name);
  page += "\n" + Options(command);
  if (command.get_options().empty()) page += ".SH OPTIONS\n";
  for (const auto& [name, description] : arguments)
    page += fmt::format(".TP\n{}\n{}\n", name.starts_with('-') ? Bold(name) : Italic(name), Literal(description));
  if (command.get_options().empty()) page += fmt::format(".TP\n{}\nshow this help message and exit\n", Bold("-h") + ", " + Bold("--help"));
  return page + ".SH SEE ALSO\n\\fBflambeau\\fR(1)\n";
}

std::string MainPage(const CLI::App& app) {
  std::string page = Title("flambeau", app.get_description());
  page += fmt::format(".SH SYNOPSIS\n{} \\fIcommand\\fR [\\fIoptions\\fR]\n.SH COMMANDS\n", Bold("flambeau"));
  for (const CLI::App* command : ShownCommands(app))
    page += fmt::format(".TP\n{}(1)\n{}\n", Bold(PageName(*command)), Literal(command->get_description()));
  page += Options(app) + ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : ExitCodes()) page += fmt::format(".TP\n{}\n{}\n", Bold(code), Literal(meaning));
  page += ".SH EXAMPLES\n";
  for (const auto& [line, meaning] : Examples()) page += fmt::format(".TP\n{}\n{}\n", Bold(line), Literal(meaning));
  return page;
}

bool WritePage(const std::filesystem::path& folder, const std::string& name, const std::string& text) {
  const std::filesystem::path path = folder / (name + ".1");
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) fmt::print(stderr, "flambeau: cannot write {}\n", path.string());
  return static_cast<bool>(file);
}

int RunMan(const CLI::App& app, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    fmt::print(stderr, "flambeau: cannot make the folder {}: {}\n", folder, error.message());
    return kFailed;
  }
  bool fine = WritePage(folder, "flambeau", MainPage(app));
  for (const CLI::App* command : ShownCommands(app)) fine &= WritePage(folder, PageName(*command), CommandPage(*command));
  return fine ? kSuccess : kFailed;
}

}  // namespace

Run AddMan(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("man", "Write the man pages into a folder.")->group("");  // for the build alone
  command->add_option("folder", *folder, "the folder")->required();
  return [&app, folder] { return RunMan(app, *folder); };
}

}  // namespace flambeau::cli
