/// \file
/// The version of the library.
#pragma once

namespace flambeau {

/// "0.1.0"
const char* Version();

}  // namespace flambeau
