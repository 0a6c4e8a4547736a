// What torch.export took for granted of sizes, as it writes it down beside a program.
#pragma once

#include <string_view>

#include "diag/sink.h"

namespace flambeau::aten {

// A captured program's guards are no nodes; a model that is right for some sizes only must not pass for one of all.
// `shown`: the guard, fit for a terminal.
void WarnOfGuard(std::string_view guard, std::string_view shown, Location where, Sink& sink);

}  // namespace flambeau::aten
