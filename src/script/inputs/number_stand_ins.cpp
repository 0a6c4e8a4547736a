#include "script/inputs/number_stand_ins.h"

#include <algorithm>
#include <complex>

#include "script/evaluator.h"

namespace flambeau::script {
namespace {

// Of numbers, these give numbers; with a tensor, they promote. In order, as the others are.
constexpr std::string_view kArithmetic[] = {
    "aten::__and__", "aten::__lshift__", "aten::__or__", "aten::__rshift__", "aten::__xor__",      "aten::abs",  "aten::add",
    "aten::ceil",    "aten::div",        "aten::floor",  "aten::floor_divide", "aten::fmod",       "aten::mul",  "aten::neg",
    "aten::pow",     "aten::reciprocal", "aten::remainder", "aten::round",   "aten::rsub",         "aten::sub",  "aten::true_divide"};
// What a trace has of Python's functions of numbers, which give numbers, too.
constexpr std::string_view kFunctions[] = {
    "aten::acos", "aten::acosh", "aten::asin", "aten::asinh", "aten::atan", "aten::atan2", "aten::atanh", "aten::clamp",
    "aten::copysign", "aten::cos", "aten::cosh", "aten::deg2rad", "aten::erf", "aten::erfc", "aten::exp", "aten::exp2",
    "aten::expm1", "aten::gcd", "aten::lcm", "aten::lgamma", "aten::log", "aten::log10", "aten::log1p", "aten::log2",
    "aten::maximum", "aten::minimum", "aten::rad2deg", "aten::sin", "aten::sinh", "aten::sqrt", "aten::tan", "aten::tanh",
    "aten::trunc"};
// With a tensor these promote, too.
constexpr std::string_view kPromoting[] = {"aten::clamp", "aten::clamp_max", "aten::clamp_min", "aten::clip", "aten::eq",
                                           "aten::ge",    "aten::gt",        "aten::le",        "aten::lt",   "aten::ne",
                                           "aten::where"};
static_assert(std::ranges::is_sorted(kArithmetic) && std::ranges::is_sorted(kFunctions) && std::ranges::is_sorted(kPromoting));

bool IsArithmetic(std::string_view kind) { return std::ranges::binary_search(kArithmetic, kind); }

}  // namespace

bool NumberStandIns::GivesNumbers(std::string_view kind) { return IsArithmetic(kind) || std::ranges::binary_search(kFunctions, kind); }

bool NumberStandIns::Promotes(std::string_view kind) { return IsArithmetic(kind) || std::ranges::binary_search(kPromoting, kind); }

bool NumberStandIns::Contains(const Val& val) const {
  const auto* tensor = val.As<TensorVal>();
  return tensor != nullptr && whole_.contains(tensor->id);
}

void NumberStandIns::Note(const Val& val, const Val& whole) {
  if (const auto* tensor = val.As<TensorVal>()) whole_.insert_or_assign(tensor->id, whole);
}

Val NumberStandIns::Whole(const Val& val) const {
  const auto* tensor = val.As<TensorVal>();
  const auto found = tensor != nullptr ? whole_.find(tensor->id) : whole_.end();
  return found != whole_.end() ? found->second : val;
}

const TensorData* ConstantNumber(const torchscript::Node& node) {
  const bool with_factor = node.kind == "aten::add" || node.kind == "aten::sub";
  if (!with_factor && node.kind != "aten::mul" && node.kind != "aten::div") return nullptr;
  if (node.inputs.size() != (with_factor ? 3 : 2)) return nullptr;
  const torchscript::Node* made_by = node.inputs[1]->node;
  const torchscript::Constant* constant = made_by != nullptr && made_by->kind == "prim::Constant" ? made_by->Find("value") : nullptr;
  const auto* tensor = constant != nullptr ? std::get_if<TensorData>(&constant->value) : nullptr;
  return tensor != nullptr && tensor->sizes.empty() ? tensor : nullptr;
}

Result<Val> Evaluator::NumberOf(const TensorData& constant, const Val& tensor) {
  if (!IsComplex(constant.dtype)) return emitter_.Call1("aten::item", {tensor});
  std::complex<double> number;  // `item` gives none
  const bool is_number = constant.dtype == DType::kComplex128 && constant.Read(0, std::as_writable_bytes(std::span(&number, 1)));
  return is_number ? Val(number) : tensor;
}

Result<Vals> Evaluator::CallOnStandIns(const Node& node, std::span<const Val> arguments) {
  const bool tensors = std::ranges::any_of(arguments, [&](const Val& each) { return each.Is<TensorVal>() && !number_stand_ins_.Contains(each); });
  if (!tensors) {
    FLAMBEAU_TRY(Vals results, CallOnValues(node, arguments));
    const auto is_float64 = [&](const Val& each) {
      const auto* tensor = each.As<TensorVal>();
      return tensor != nullptr && TypeOf(*tensor).dtype == DType::kFloat64;
    };
    // torch.as_tensor(number) is a `to`: of a float, as which dtype the trace does not say. One
    // without blocking is what Python's functions of numbers are recorded with.
    const bool casts = node.kind == "aten::to" && arguments.size() == 5 && KnownBool(arguments[2]).value_or(false);
    const bool rounds = casts && is_float64(arguments[0]);
    for (const Val& each : results)
      if (NumberStandIns::GivesNumbers(node.kind) || casts || (node.kind == "aten::to" && is_float64(each))) {
        number_stand_ins_.Note(each);
        const auto* tensor = each.As<TensorVal>();
        if (rounds && tensor != nullptr && IsFloating(TypeOf(*tensor).dtype))
          number_stand_ins_.Note(each, number_stand_ins_.Whole(arguments[0]));
      }
    return results;
  }
  Vals operands(arguments.begin(), arguments.end());
  if (NumberStandIns::Promotes(node.kind))
    for (Val& operand : operands)
      if (number_stand_ins_.Contains(operand)) {
        FLAMBEAU_TRY(operand, emitter_.Call1("aten::item", {number_stand_ins_.Whole(operand)}));
      }
  return CallOnValues(node, operands);
}

}  // namespace flambeau::script
