#include "flambeau/diagnostic.h"

#include <array>

namespace flambeau {
namespace {

struct KindInfo {
  std::string_view slug, summary;
};
constexpr std::array kKinds = {
#define FLAMBEAU_KIND(name, slug, summary) KindInfo{slug, summary},
#include "flambeau/diagnostic_kinds.def"
#undef FLAMBEAU_KIND
};

}  // namespace

std::string_view Slug(DiagnosticKind kind) { return kKinds[static_cast<size_t>(kind)].slug; }
std::string_view Summary(DiagnosticKind kind) { return kKinds[static_cast<size_t>(kind)].summary; }

std::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: break;
  }
  return "error";
}

}  // namespace flambeau
