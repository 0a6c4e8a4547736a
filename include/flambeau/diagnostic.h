/// \file
/// What the engine says when something is wrong, or worth knowing.
///
/// A conversion never throws and never prints: it fills a list of these. Text
/// and JSON renderings are in flambeau/report.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flambeau {

enum class Severity : uint8_t { kNote, kWarning, kError };

/// The closed list of things that the engine can say; one line each in
/// diagnostic_kinds.def. `Slug` gives the stable, printable identifier.
enum class DiagnosticKind : uint16_t {
#define FLAMBEAU_KIND(name, slug, summary) name,
#include "flambeau/diagnostic_kinds.def"
#undef FLAMBEAU_KIND
};

/// "unsupported-operator", "truncated-file", … Stable across versions.
std::string_view Slug(DiagnosticKind kind);
/// One sentence that says what the kind means; for documentation.
std::string_view Summary(DiagnosticKind kind);
std::string_view Name(Severity severity);

/// Where in the user's model something happened. Each part may be empty.
struct Location {
  std::string file;       ///< archive or target path as the user gave it
  std::string entry;      ///< entry of the archive, or JSON pointer within it
  std::string module;     ///< module path: "layers.3.attn"
  std::string source;     ///< Python source line: "model.py:17"
  std::string operation;  ///< "aten::foo.bar", or the text of a node
};

struct Diagnostic {
  DiagnosticKind kind;
  Severity severity = Severity::kError;
  Location location;
  std::string message;             ///< what happened; lower case, no full stop
  std::vector<std::string> notes;  ///< "while …", further places
  std::string hint;                ///< what to do about it
};

}  // namespace flambeau
