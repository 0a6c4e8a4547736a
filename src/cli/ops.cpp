#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "flambeau/convert.h"

namespace flambeau::cli {
namespace {

std::string Escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void PrintNotes(NotesOf kind, std::string_view title, std::string_view names, std::string_view text) {
  fmt::print("\n## {}\n\n| {} | {} |\n|---|---|\n", title, names, text);
  for (const OperatorNote& note : OperatorNotes(kind)) fmt::print("| `{}` | {} |\n", note.names, note.text);
}

int RunOps(const std::string& format) {
  const std::vector<OperatorInfo> operators = SupportedOperators();
  if (format == "markdown") fmt::print("| operator | not translated |\n|---|---|\n");
  if (format == "json") fmt::print("[\n");
  for (size_t i = 0; i < operators.size(); ++i) {
    const OperatorInfo& op = operators[i];
    if (format == "json") {
      std::string restrictions;
      for (const std::string& text : op.restrictions) restrictions += fmt::format("{}\"{}\"", restrictions.empty() ? "" : ", ", Escaped(text, "\"\\"));
      const std::string read_as = op.read_as.empty() ? "null" : fmt::format("\"{}\"", op.read_as);
      fmt::print("  {{\"schema\": \"{}\", \"read_as\": {}, \"restrictions\": [{}]}}{}\n", Escaped(op.schema, "\"\\"), read_as, restrictions, i + 1 < operators.size() ? "," : "");
    } else if (format == "markdown") {
      const std::string read_as = op.read_as.empty() ? "" : fmt::format(", read as `{}`", op.read_as);
      fmt::print("| `{}`{} | {} |\n", Escaped(op.schema, "|"), read_as, Escaped(fmt::format("{}", fmt::join(op.restrictions, "; ")), "|"));
    } else {
      fmt::print("{}{}{}\n", op.schema, op.read_as.empty() ? "" : ", read as ", op.read_as);
      for (const std::string& text : op.restrictions) fmt::print("    not translated: {}\n", text);
    }
  }
  if (format == "json") fmt::print("]\n");
  if (format == "markdown") {
    PrintNotes(NotesOf::kNoOnnxForm, "Without an ONNX form", "operators without a row above", "no ONNX form because");
    PrintNotes(NotesOf::kOpenResults, "What PyTorch leaves open", "operator", "a model may differ in");
  }
  return kSuccess;
}

}  // namespace

Run AddOps(CLI::App& app) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* command = app.add_subcommand("ops", "List the operators that can be converted.");
  command->add_option("--format", *format, "text, markdown or json")->check(CLI::IsMember({"text", "markdown", "json"}))->option_text("FORMAT");
  return [format] { return RunOps(*format); };
}

}  // namespace flambeau::cli
