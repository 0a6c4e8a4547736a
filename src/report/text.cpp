// Diagnostics for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "flambeau/report.h"
#include "report/grouped.h"

namespace flambeau {
namespace {

std::string Where(const Location& at) {
  std::string text;
  auto add = [&](std::string_view label, const std::string& part) {
    if (!part.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : ", ", label, part);
  };
  add("", at.file.empty() || at.entry.empty() ? at.file + at.entry : at.file + ": " + at.entry);
  add("", at.operation);
  add("in module ", at.module);
  add("at ", at.source);
  return text;
}

void Append(std::string* out, const Diagnostic& diagnostic) {
  *out += fmt::format("{}: {} [{}]\n", Name(diagnostic.severity), diagnostic.message, Slug(diagnostic.kind));
  if (const std::string where = Where(diagnostic.location); !where.empty()) *out += fmt::format("  at: {}\n", where);
  for (const std::string& note : diagnostic.notes) *out += fmt::format("  {}\n", note);
  if (!diagnostic.hint.empty()) *out += fmt::format("  hint: {}\n", diagnostic.hint);
}

// What a user can do about operators that have no translation; nothing if all have one, which lacks a form.
std::string Advice(const std::vector<MissingOperator>& groups) {
  bool any = false;
  std::set<std::string> spaces;
  for (const MissingOperator& group : groups) {
    if (group.kind != DiagnosticKind::kUnsupportedOperator) continue;
    any = true;
    const size_t colons = group.name.find("::");
    const std::string space(group.name.substr(0, colons));
    if (colons != group.name.npos && !IsOfPyTorch(space)) spaces.insert(space);
  }
  if (!any) return {};
  std::string text = "  hint: translate what is missing yourself, by custom_translation_table in Python or Options::translations in C++";
  if (!spaces.empty()) {
    const std::string& first = *spaces.begin();
    text += fmt::format("; or keep the operators of {} for a runtime that has them: --custom-opset {}=1, or custom_opsets={{\"{}\": 1}}",
                        fmt::join(spaces, ", "), first, first);
  }
  return text + "\n";
}

}  // namespace

std::string ReportText(const std::vector<Diagnostic>& diagnostics) {
  constexpr size_t kPlacesShown = 4;
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics)
    if (!IsMissingOperator(diagnostic)) Append(&text, diagnostic);
  const auto groups = GroupMissingOperators(diagnostics);
  if (groups.empty()) return text;
  text += fmt::format("error: {} operator form{} cannot be converted; no model was written [{}]\n", groups.size(), groups.size() == 1 ? "" : "s",
                      Slug(DiagnosticKind::kUnsupportedOperator));
  for (const MissingOperator& group : groups) {
    text += fmt::format("  {} ({}×): {}\n", group.name, group.places.size(), group.message);
    for (size_t i = 0; i < group.places.size() && i < kPlacesShown; ++i) {
      const Location& at = *group.places[i];
      text += fmt::format("    in {}{}{}\n", at.module.empty() ? "the model" : at.module, at.source.empty() ? "" : ", ", at.source);
    }
    if (group.places.size() > kPlacesShown) text += fmt::format("    and {} more\n", group.places.size() - kPlacesShown);
    if (!group.hint.empty()) text += fmt::format("    hint: {}\n", group.hint);
  }
  return text + Advice(groups);
}

}  // namespace flambeau
