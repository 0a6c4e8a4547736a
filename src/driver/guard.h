// The edge of the engine: what the libraries below it may throw ends here.
#pragma once

#include <exception>
#include <new>
#include <vector>

#include "flambeau/diagnostic.h"

namespace flambeau {

// Nothing leaves the engine but diagnostics.
template <class F>
void Guard(std::vector<Diagnostic>& diagnostics, const Location& location, F body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    diagnostics.push_back({DiagnosticKind::kOutOfMemory, Severity::kError, location, "memory ran out", {}, ""});
  } catch (const std::exception& error) {
    diagnostics.push_back(
        {DiagnosticKind::kInternalError, Severity::kError, location, error.what(), {}, "please report this"});
  }
}

}  // namespace flambeau
