// A progress bar on a terminal, for work that takes more than a second; and
// Ctrl-C as a polite request to stop.
#pragma once

#include <functional>

#include "flambeau/options.h"

namespace flambeau::cli {

// The callback returns false after SIGINT or SIGTERM. Nothing is drawn if
// `quiet` or standard error is no terminal.
std::function<bool(const Progress&)> MakeProgress(bool quiet);
// Removes what the bar has drawn.
void ClearProgress();

}  // namespace flambeau::cli
