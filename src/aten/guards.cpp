#include "aten/guards.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace flambeau::aten {
namespace {

std::string_view Bare(std::string_view number) {
  if (number.starts_with('(') && number.ends_with(')')) number = number.substr(1, number.size() - 2);
  return number;
}

// The guard without the keys of inputs, which are any text, and without ".size()".
std::string WithoutKeys(std::string_view guard) {
  std::string text;
  bool quoted = false;
  for (const char c : guard) {
    if (c == '\'') quoted = !quoted;
    else if (!quoted) text += c;
  }
  for (size_t at; (at = text.find(".size()")) != text.npos;) text.erase(at, 7);
  return text;
}

}  // namespace

// That what is computed from sizes and integers is a number, such as "L['x'].size()[0] // 2 == 3": the
// program holds for these alone. PyTorch itself asks for multiples ("% 8 == 0"; it says "% 8 <= 0" where it chose a way by
// the remainder), and a size that is a number is one in the graph, too.
bool PinsSizes(std::string_view guard) {
  const std::string text = WithoutKeys(guard);
  const bool equation = text.find(" == ") != text.npos;
  const size_t sign = text.find(equation ? " == " : " <= ");
  if (sign == text.npos || text.find_first_of("<>!=", sign + 4) != text.npos) return false;
  const std::string_view left = std::string_view(text).substr(0, sign), right = Bare(std::string_view(text).substr(sign + 4));
  const bool number = !right.empty() && right.find_first_not_of("0123456789.-") == right.npos;
  const bool remainder = left.find('%') != left.npos && right == "0";
  const bool computed = left.find("L[") != left.npos && left.find_first_of("+-*/%(") != left.npos;
  return number && computed && remainder != equation;
}

void WarnOfGuard(std::string_view shown, Location where, Sink& sink) {
  sink.Warning(DiagnosticKind::kFrozenDimension, fmt::format("the captured program is right only where {}", shown), std::move(where),
               "the model makes a size a number: flambeau.export of the module itself may keep it dynamic");
}

}  // namespace flambeau::aten
