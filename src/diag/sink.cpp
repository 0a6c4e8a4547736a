#include "diag/sink.h"

namespace flambeau {

Failure Sink::Error(DiagnosticKind kind, std::string message, Location location, std::string hint) {
  Add({kind, Severity::kError, std::move(location), std::move(message), {}, std::move(hint)});
  return kFailure;
}

void Sink::Warning(DiagnosticKind kind, std::string message, Location location, std::string hint) {
  Add({kind, Severity::kWarning, std::move(location), std::move(message), {}, std::move(hint)});
}

void Sink::Add(Diagnostic diagnostic) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) (**scope)(diagnostic);
  if (diagnostic.severity == Severity::kError) ++errors_;
  diagnostics_.push_back(std::move(diagnostic));
}

void Sink::Truncate(size_t count) {
  for (; diagnostics_.size() > count; diagnostics_.pop_back())
    if (diagnostics_.back().severity == Severity::kError) --errors_;
}

}  // namespace flambeau
