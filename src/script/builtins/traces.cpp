// What the record of a run says besides its operators: where Python, or a parameter of an operator, made a number of a size.
#include <fmt/format.h>

#include "script/builtins/builtins.h"

namespace flambeau::script {
namespace {

// (number): what was taken as the number that it is in the example.
Result<Vals> Frozen(Evaluator& evaluator, const torchscript::Node& node, Arguments arguments) {
  const torchscript::Constant* example = node.Find("example");
  const auto* number = example != nullptr ? std::get_if<int64_t>(&example->value) : nullptr;
  if (number == nullptr) return evaluator.Unsupported("says nothing of the example's number");
  if (!evaluator.emit().Settled(arguments[0]).AsInt())
    WarnOfExample(evaluator, fmt::format("holds the number {}, which Python counted by or an operator took as it is", *number), "that number is the same");
  return Vals{};
}

}  // namespace

void WarnOfExample(Evaluator& evaluator, std::string_view holds, std::string_view where) {
  evaluator.sink().Warning(DiagnosticKind::kFrozenDimension, fmt::format("the trace {}: it is right only where {}", holds, where), {},
                           "the default capture and torch.jit.script keep what follows from a size");
}

std::span<const BuiltinRow> TraceBuiltins() {
  static constexpr BuiltinRow kRows[] = {{"flambeau::frozen", &Frozen}};
  return kRows;
}

}  // namespace flambeau::script
