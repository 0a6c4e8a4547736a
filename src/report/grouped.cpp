#include "report/grouped.h"

#include <map>

namespace flambeau {

bool IsMissingOperator(const Diagnostic& diagnostic) {
  return diagnostic.kind == DiagnosticKind::kUnsupportedOperator || diagnostic.kind == DiagnosticKind::kUnsupportedForm;
}

std::vector<MissingOperator> GroupMissingOperators(const std::vector<Diagnostic>& diagnostics) {
  std::vector<MissingOperator> groups;
  std::map<std::pair<std::string, std::string>, size_t> index;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!IsMissingOperator(diagnostic)) continue;
    const auto [it, is_new] = index.try_emplace({diagnostic.location.operation, diagnostic.message}, groups.size());
    if (is_new) groups.push_back({diagnostic.kind, diagnostic.location.operation, diagnostic.message, diagnostic.hint, {}});
    groups[it->second].places.push_back(&diagnostic.location);
  }
  return groups;
}

}  // namespace flambeau
