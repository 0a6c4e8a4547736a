// Python's range().
#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

Result<Vals> RangeLength(Evaluator& evaluator, const Node&, Arguments arguments) {
  // max(0, ceil((high - low) / step)), for steps of either sign.
  Emitter& emit = evaluator.emit();
  if (arguments[2].AsInt() == 0) return evaluator.Unsupported("counts by steps of 0");
  FLAMBEAU_TRY(const Val span, emit.Call1("_operator::sub", {arguments[0], arguments[1]}));
  FLAMBEAU_TRY(const Val below, emit.Call1("_operator::floordiv", {span, arguments[2]}));
  FLAMBEAU_TRY(const Val count, emit.Call1("_operator::neg", {below}));
  FLAMBEAU_TRY(Val length, emit.Call1("torch::sym_max", {count, int64_t{0}}));
  return Vals{std::move(length)};
}
Result<Vals> DeriveIndex(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(Val offset, evaluator.emit().Call1("_operator::mul", {arguments[0], arguments[2]}));
  FLAMBEAU_TRY(Val index, evaluator.emit().Call1("_operator::add", {arguments[1], offset}));
  // Negative ones might be positions that others are too.
  const auto *trip = arguments[0].As<NumberVal>(), *number = index.As<NumberVal>();
  if (trip != nullptr && number != nullptr && arguments[1].AsInt().value_or(-1) >= 0 && arguments[2].AsInt().value_or(0) > 0) {
    Storages& storages = evaluator.emit().storages();
    if (const auto round = storages.RoundOf(trip->id)) storages.AddRoundNumber(number->id, *round, UINT32_MAX);
  }
  return Vals{std::move(index)};
}

// The numbers below one that only a run knows.
constexpr std::string_view kCode = R"py(def rangelist(n: int) -> List[int]:
  numbers = annotate(List[int], [])
  for i in range(n):
    _0 = torch.append(numbers, i)
  return numbers
)py";

Result<Vals> RangeList(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto count = arguments[0].AsInt();
  if (!count) return evaluator.CallLibrary(kCode, "rangelist", arguments.first(1));
  if (*count < 0) return evaluator.Raise(node, "makes a list of a negative number of integers");
  if (*count > static_cast<int64_t>(Evaluator::kMaxLength)) return evaluator.TooLong();
  Vals numbers;
  for (int64_t i = 0; i < *count; ++i) numbers.emplace_back(i);
  return Vals{evaluator.List(std::move(numbers))};
}

constexpr BuiltinRow kRows[] = {
    {"aten::__derive_index", &DeriveIndex},
    {"aten::__range_length", &RangeLength},
    {"prim::rangelist", &RangeList},
};

}  // namespace

std::span<const BuiltinRow> RangeBuiltins() { return kRows; }

}  // namespace flambeau::script
