// Tensors of a trace that stand for Python's numbers: torch's tracer makes 0-d tensors of sizes, and torch.onnx of numbers
// among the arguments. PyTorch computes with a number, which promotes less than a 0-d tensor does: a float16 tensor times a
// size stays float16.
#include <algorithm>

#include "script/evaluator.h"

namespace flambeau::script {
namespace {

// Of numbers, these give numbers; with a tensor, they promote. In order, as the others are.
constexpr std::string_view kArithmetic[] = {
    "aten::__and__", "aten::__lshift__", "aten::__or__", "aten::__rshift__", "aten::__xor__",      "aten::abs",  "aten::add",
    "aten::ceil",    "aten::div",        "aten::floor",  "aten::floor_divide", "aten::fmod",       "aten::mul",  "aten::neg",
    "aten::pow",     "aten::reciprocal", "aten::remainder", "aten::round",   "aten::rsub",         "aten::sub",  "aten::true_divide"};
// With a tensor these promote, too.
constexpr std::string_view kPromoting[] = {"aten::clamp", "aten::clamp_max", "aten::clamp_min", "aten::clip", "aten::eq",
                                           "aten::ge",    "aten::gt",        "aten::le",        "aten::lt",   "aten::ne",
                                           "aten::where"};
static_assert(std::ranges::is_sorted(kArithmetic) && std::ranges::is_sorted(kPromoting));

bool IsArithmetic(std::string_view kind) { return std::ranges::binary_search(kArithmetic, kind); }
bool Promotes(std::string_view kind) { return IsArithmetic(kind) || std::ranges::binary_search(kPromoting, kind); }

}  // namespace

bool Evaluator::StandsForNumber(const Val& val) const {
  const auto* tensor = val.As<TensorVal>();
  return tensor != nullptr && number_stand_ins_.contains(tensor->id);
}

void Evaluator::NoteStandIn(const Val& val) {
  if (const auto* tensor = val.As<TensorVal>()) number_stand_ins_.insert(tensor->id);
}

Result<Vals> Evaluator::CallOnStandIns(const Node& node, std::span<const Val> arguments) {
  const bool tensors = std::ranges::any_of(arguments, [&](const Val& each) { return each.Is<TensorVal>() && !StandsForNumber(each); });
  if (!tensors) {
    FLAMBEAU_TRY(Vals results, CallOnValues(node, arguments));
    // torch.as_tensor(number) is a `to`: of a float, as which dtype the trace does not say.
    const auto stays = [&](const Val& each) {
      const auto* tensor = each.As<TensorVal>();
      return IsArithmetic(node.kind) || (node.kind == "aten::to" && tensor != nullptr && TypeOf(*tensor).dtype == DType::kFloat64);
    };
    for (const Val& each : results)
      if (stays(each)) NoteStandIn(each);
    return results;
  }
  Vals operands(arguments.begin(), arguments.end());
  if (Promotes(node.kind))
    for (Val& operand : operands)
      if (StandsForNumber(operand)) {
        FLAMBEAU_TRY(operand, emitter_.Call1("aten::item", {operand}));
      }
  return CallOnValues(node, operands);
}

}  // namespace flambeau::script
