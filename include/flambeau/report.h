/// \file
/// Diagnostics as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "flambeau/diagnostic.h"

namespace flambeau {

/// For people: one paragraph a diagnostic; missing operators grouped and counted.
std::string ReportText(const std::vector<Diagnostic>& diagnostics);
/// For programs: {"diagnostics": [{"kind", "severity", "message", "location": {…}, "notes": […], "hint"}],
/// "unsupported": [{"operator", "count", "places": […], "nearest"}]}.
std::string ReportJson(const std::vector<Diagnostic>& diagnostics);

}  // namespace flambeau
