// Diagnostics for programs.
#include "flambeau/report.h"
#include "report/diagnostics_json.h"
#include "report/grouped.h"

namespace flambeau {

void WriteDiagnostics(JsonWriter& to, const std::vector<Diagnostic>& diagnostics) {
  to.Objects("diagnostics", diagnostics, [&](const Diagnostic& diagnostic) {
    to.Field("kind", Slug(diagnostic.kind));
    to.Field("severity", Name(diagnostic.severity));
    to.Field("message", diagnostic.message);
    to.Key("location");
    to.BeginObject();
    to.Field("file", diagnostic.location.file);
    to.Field("entry", diagnostic.location.entry);
    to.Field("module", diagnostic.location.module);
    to.Field("source", diagnostic.location.source);
    to.Field("operation", diagnostic.location.operation);
    to.EndObject();
    to.Each("notes", diagnostic.notes, [&](const std::string& note) { to.Value(note); });
    to.Field("hint", diagnostic.hint);
  });
  to.Objects("unsupported", GroupMissingOperators(diagnostics), [&](const MissingOperator& group) {
    to.Field("operator", group.name);
    to.Field("message", group.message);
    to.Field("count", group.places.size());
    to.Objects("places", group.places, [&](const Location* at) {
      to.Field("module", at->module);
      to.Field("source", at->source);
    });
    to.Field("nearest", group.hint);
    to.Field("recipe", Recipe(group.name));
  });
}

std::string ReportJson(const std::vector<Diagnostic>& diagnostics) {
  JsonWriter to;
  to.BeginObject();
  WriteDiagnostics(to, diagnostics);
  to.EndObject();
  return to.Take() + '\n';
}

}  // namespace flambeau
