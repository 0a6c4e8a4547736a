// What the record of a run made numbers of: a size where Python, or a parameter of an operator, took it; strides.
#include <fmt/format.h>

#include <algorithm>

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

// (tensor, sizes, strides, offset): strides that are numbers, of a tensor whose own depend on its sizes, are those of an example. torch's tracer
// says nothing of them.
Result<Vals> AsStrided(Evaluator& evaluator, const torchscript::Node& node, Arguments arguments) {
  const auto* tensor = arguments[0].As<TensorVal>();
  const auto* list = arguments[2].As<ListVal>();
  if (tensor == nullptr || list == nullptr) return evaluator.CallOperator(node, arguments);
  const Type& type = evaluator.TypeOf(*tensor);
  const ExprPool& exprs = evaluator.context().exprs();
  bool by_size = false;
  for (size_t i = 0; i < type.strides.size(); ++i)
    by_size = by_size || (!exprs.IsConstant(type.sizes[i], 1) && !exprs.AsConstant(type.strides[i]));
  int64_t farthest = 0;
  std::string shown;
  for (const Val& stride : evaluator.heap()[list->cell].elements) {
    const std::optional<int64_t> number = stride.AsInt();
    if (!number) return evaluator.CallOperator(node, arguments);
    farthest = std::max(farthest, *number);
    shown += fmt::format("{}{}", shown.empty() ? "" : ", ", *number);
  }
  if (by_size && farthest > 1)
    evaluator.sink().Warning(DiagnosticKind::kFrozenDimension,
                             fmt::format("takes the strides [{}] of a tensor whose own depend on its sizes: it is right only where these are the same", shown), {},
                             "in place of numbers use x.stride(), which the default capture, capture=\"trace\" and torch.jit.script follow");
  return evaluator.CallOperator(node, arguments);
}

}  // namespace

void WarnOfExample(Evaluator& evaluator, std::string_view holds, std::string_view where) {
  evaluator.sink().Warning(DiagnosticKind::kFrozenDimension, fmt::format("the trace {}: it is right only where {}", holds, where), {},
                           "the default capture and torch.jit.script keep what follows from a size");
}

std::span<const BuiltinRow> TraceBuiltins() {
  static constexpr BuiltinRow kRows[] = {{"aten::as_strided", &AsStrided}, {"flambeau::frozen", &Frozen}};
  return kRows;
}

}  // namespace flambeau::script
