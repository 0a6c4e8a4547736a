// Diagnostics for programs.
#include <fmt/format.h>

#include "flambeau/report.h"
#include "report/grouped.h"

namespace flambeau {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", c);
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string LocationJson(const Location& at) {
  return fmt::format(R"({{"file": {}, "entry": {}, "module": {}, "source": {}, "operation": {}}})", Quoted(at.file), Quoted(at.entry),
                     Quoted(at.module), Quoted(at.source), Quoted(at.operation));
}

}  // namespace

std::string ReportJson(const std::vector<Diagnostic>& diagnostics) {
  std::string text = "{\"diagnostics\": [";
  bool first = true;
  for (const Diagnostic& diagnostic : diagnostics) {
    std::string notes;
    for (const std::string& note : diagnostic.notes) notes += (notes.empty() ? "" : ", ") + Quoted(note);
    text += fmt::format("{}\n  {{\"kind\": {}, \"severity\": {}, \"message\": {}, \"location\": {}, \"notes\": [{}], \"hint\": {}}}", first ? "" : ",",
                        Quoted(Slug(diagnostic.kind)), Quoted(Name(diagnostic.severity)), Quoted(diagnostic.message), LocationJson(diagnostic.location), notes,
                        Quoted(diagnostic.hint));
    first = false;
  }
  text += "\n], \"unsupported\": [";
  first = true;
  for (const MissingOperator& group : GroupMissingOperators(diagnostics)) {
    std::string places;
    for (const Location* at : group.places)
      places += fmt::format("{}{{\"module\": {}, \"source\": {}}}", places.empty() ? "" : ", ", Quoted(at->module), Quoted(at->source));
    text += fmt::format("{}\n  {{\"operator\": {}, \"message\": {}, \"count\": {}, \"places\": [{}], \"nearest\": {}}}", first ? "" : ",", Quoted(group.name),
                        Quoted(group.message), group.places.size(), places, Quoted(group.hint));
    first = false;
  }
  return text + "\n]}\n";
}

}  // namespace flambeau
