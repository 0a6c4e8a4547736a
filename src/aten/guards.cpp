#include "aten/guards.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace flambeau::aten {
namespace {

// Whether a guard says that what is computed from sizes is a number, such as "L['x'].size()[0] // 2 == 3": the program
// holds for these sizes alone. PyTorch itself asks for multiples, and a size that is a number is one in the graph, too.
bool PinsSizes(std::string_view guard) {
  const size_t equals = guard.find(" == ");
  if (equals == guard.npos || guard.find_first_of("<>!=", equals + 4) != guard.npos) return false;
  std::string left;  // without the keys of inputs
  bool quoted = false;
  for (const char c : guard.substr(0, equals)) {
    if (c == '\'') quoted = !quoted;
    if (!quoted) left += c;
  }
  const std::string_view right = guard.substr(equals + 4);
  const bool number = !right.empty() && right.find_first_not_of("0123456789.-") == right.npos;
  const bool multiple = left.find('%') != left.npos && right == "0";
  return number && !multiple && left.find(".size()") != left.npos && left.find_first_of("+-*/%") != left.npos;
}

}  // namespace

void WarnOfGuard(std::string_view guard, std::string_view shown, Location where, Sink& sink) {
  if (!PinsSizes(guard)) return;
  sink.Warning(DiagnosticKind::kFrozenDimension, fmt::format("the captured program is right only where {}", shown), std::move(where),
               "the model makes a size a number: flambeau.export of the module itself may keep it dynamic");
}

}  // namespace flambeau::aten
