// What torch.export took for granted of sizes, as it writes it down beside a program.
#pragma once

#include <string_view>

#include "diag/sink.h"

namespace flambeau::aten {

// Whether the guard says that a program is right for some sizes only.
bool PinsSizes(std::string_view guard);

// Of one that does. A captured program's guards are no nodes; such a model must not pass for one of all sizes.
// `shown`: the guard, fit for a terminal.
void WarnOfGuard(std::string_view shown, Location where, Sink& sink);

}  // namespace flambeau::aten
