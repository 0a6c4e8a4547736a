#include "script/equivalents.h"

#include <fmt/format.h>

namespace flambeau::script {
namespace {

Val ConstantOf(Evaluator& evaluator, const Attribute& constant) {
  if (const auto* flag = std::get_if<bool>(&constant)) return *flag;
  if (const auto* whole = std::get_if<int64_t>(&constant)) return *whole;
  if (const auto* real = std::get_if<double>(&constant)) return *real;
  if (const auto* text = std::get_if<std::string>(&constant)) return *text;
  if (const auto* numbers = std::get_if<Ints>(&constant)) return evaluator.List(Vals(numbers->begin(), numbers->end()));
  return Nothing{};
}

// As PyTorch passes it to a parameter.
Val Passed(Val value, const aten::SchemaArgument& formal) {
  const auto* whole = value.As<int64_t>();
  return whole != nullptr && formal.type.base == aten::BaseType::kFloat ? Val(static_cast<double>(*whole)) : value;
}

}  // namespace

Result<Vals> CallEquivalent(Evaluator& evaluator, const aten::Equivalent& equivalent, std::string_view op, std::span<const Val> arguments) {
  const aten::Schema& schema = *equivalent.schema;
  const aten::Schema& replaced = *aten::FindSchema(op);
  if (arguments.size() != replaced.arguments.size())
    return evaluator.sink().Error(DiagnosticKind::kBadProgram,
                                  fmt::format("{} takes {} arguments, {} are given", op, replaced.arguments.size(), arguments.size()));
  std::vector<std::optional<Vals>> taken_apart(schema.arguments.size());
  std::optional<size_t> count = equivalent.each ? std::nullopt : std::optional<size_t>(1);
  for (size_t i = 0; i < taken_apart.size(); ++i) {
    const int source = equivalent.arguments[i].argument;
    if (source < 0 || schema.arguments[i].type.list || !replaced.arguments[source].type.list) continue;
    const auto* list = arguments[source].As<ListVal>();
    const Vals* elements = list != nullptr && evaluator.heap()[list->cell].sequence ? nullptr : ElementsOf(arguments[source], evaluator.heap());
    if (elements == nullptr) return evaluator.Unsupported(fmt::format("{} takes a list whose length only the run knows", op));
    if (count.value_or(elements->size()) != elements->size())
      return evaluator.sink().Error(DiagnosticKind::kBadProgram, "the lists that it takes differ in length", {.operation = std::string(op)});
    count = elements->size();
    taken_apart[i] = *elements;
  }
  std::vector<Vals> calls(count.value_or(0));
  for (size_t element = 0; element < calls.size(); ++element)
    for (size_t i = 0; i < taken_apart.size(); ++i) {
      const aten::Equivalent::Source& source = equivalent.arguments[i];
      const aten::SchemaArgument& formal = schema.arguments[i];
      Val value = source.argument < 0 ? Val(Nothing{}) : taken_apart[i] ? (*taken_apart[i])[element] : arguments[source.argument];
      if (value.Is<Nothing>() && !(source.argument >= 0 && formal.type.optional)) value = ConstantOf(evaluator, source.constant);
      calls[element].push_back(Passed(std::move(value), formal));
    }
  if (!equivalent.each) return evaluator.emit().Call(schema.name, calls.front());
  Vals results;
  for (const Vals& call : calls) {
    FLAMBEAU_TRY(Val result, evaluator.emit().Call1(schema.name, call));
    results.push_back(std::move(result));
  }
  return replaced.returns.empty() ? Vals{} : Vals{evaluator.List(std::move(results))};
}

}  // namespace flambeau::script
