// Diagnostics as members of a JSON object.
#pragma once

#include <vector>

#include "flambeau/diagnostic.h"
#include "report/json_writer.h"

namespace flambeau {

// "diagnostics", as they were reported, and "unsupported", one entry for each operator that is missing.
void WriteDiagnostics(JsonWriter& to, const std::vector<Diagnostic>& diagnostics);

}  // namespace flambeau
