#include "diag/sink.h"

#include <set>
#include <string_view>
#include <tuple>

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

std::vector<Diagnostic> Sink::Take() {
  std::vector<Diagnostic> taken = std::move(diagnostics_);
  std::set<std::tuple<DiagnosticKind, std::string_view, std::string_view, std::string_view, std::string_view, std::string_view, std::string_view>> said;
  std::vector<bool> repeated;
  for (const Diagnostic& each : taken) {
    const Location& at = each.location;
    repeated.push_back(each.severity == Severity::kWarning &&
                       !said.emplace(each.kind, each.message, at.file, at.entry, at.module, at.source, at.operation).second);
  }
  size_t place = 0;
  std::erase_if(taken, [&](const Diagnostic&) { return repeated[place++]; });
  return taken;
}

}  // namespace flambeau
