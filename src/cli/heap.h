#pragma once

namespace flambeau::cli {

// Asks Linux for huge pages under the beginning of the heap: a graph is many small objects, and a fifth of the time of a
// conversion went into the first touch of the pages that they lie on. Does nothing elsewhere.
void AskForHugePages();

}  // namespace flambeau::cli
