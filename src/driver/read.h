// Files, opened and told apart.
#pragma once

#include <string>
#include <vector>

#include "flambeau/diagnostic.h"
#include "flambeau/options.h"

namespace flambeau {

// The inlined graph of a TorchScript archive, as text; empty, with a
// diagnostic, if the file is none or cannot be read.
std::string DumpTorchScript(const std::string& path, const Options& options, std::vector<Diagnostic>& diagnostics);

}  // namespace flambeau
