// How help is laid out, and what is said of words that mean nothing.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "cli/command.h"

namespace flambeau::cli {
namespace {

constexpr size_t kNames = 30, kWidth = 100;  // columns

// "name", then the description from a column on, in lines of whole words.
std::string Row(std::string_view name, const std::string& description) {
  std::string line(name);
  std::string text;
  if (line.size() >= kNames) {
    text = line + "\n";
    line.clear();
  }
  line.resize(kNames, ' ');
  std::istringstream words(description);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && line.size() + 1 + word.size() > kWidth) {
      text += line + "\n";
      line.assign(kNames, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
  }
  return text + line + "\n";
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = make_option_name(option, is_positional);
    if (const size_t comma = name.find(','); comma != name.npos) name.insert(comma + 1, " ");
    return Row("  " + name + make_option_opts(option), make_option_desc(option));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_option_text().empty()) return " " + option->get_option_text();
    if (option->get_type_size() == 0 || option->get_positional()) return "";
    const std::string type = option->get_type_name();
    return " " + type.substr(0, type.find(':')) + (option->get_default_str().empty() ? "" : "=" + option->get_default_str());
  }
  std::string make_subcommand(const CLI::App* command) const override { return Row("  " + command->get_name(), command->get_description()); }
  std::string make_footer(const CLI::App* app) const override {
    const bool main = app->get_parent() == nullptr;
    const std::string own = fmt::format("flambeau {}", app->get_name());
    std::string examples, before;
    for (const auto& [line, meaning] : Examples()) {
      const std::string command(line.substr(0, line.find(' ', line.find("flambeau ") + 9)));
      if (main ? command == before : !command.ends_with(own)) continue;  // of each command the first
      examples += meaning.empty() ? fmt::format("  {}\n", line) : fmt::format("  {:<52}{}\n", line, meaning);
      before = command;
    }
    std::string text = examples.empty() ? "" : "Examples:\n" + examples;
    if (!main) return text;
    text += "\nExit codes:\n";
    for (const auto& [code, meaning] : ExitCodes()) text += fmt::format("  {}  {}\n", code, meaning);
    return text;
  }
};

// How many letters must be put in, taken out or changed.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  const auto nearest = std::ranges::min_element(known, {}, [&](const std::string& each) { return Distance(word, each); });
  if (nearest == known.end() || Distance(word, *nearest) > word.size() / 3) return "";
  return fmt::format("; did you mean '{}'?", *nearest);
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeFormatter() { return std::make_shared<Formatter>(); }

std::string DescribeUnknown(const CLI::App& app, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::vector<std::string> options, commands;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  for (const CLI::App* each : ShownCommands(app)) commands.push_back(each->get_name());
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (chosen.empty() && !word.starts_with('-')) return fmt::format("there is no command '{}'{}", word, Nearest(word, commands));
    if (name.size() > 1 && name.starts_with('-') && command.get_option_no_throw(name) == nullptr)
      return fmt::format("'{}' has no option {}{}", chosen.empty() ? "flambeau" : "flambeau " + command.get_name(), name, Nearest(name, options));
  }
  const std::vector<std::string> rest = command.remaining();
  const bool is_target = rest.size() == 1 && command.get_option_no_throw("--output") != nullptr;
  return fmt::format("there are too many words: {}{}", fmt::join(rest, " "),
                     is_target ? fmt::format("; the file to write is given as -o {}", rest[0]) : "");
}

}  // namespace flambeau::cli
