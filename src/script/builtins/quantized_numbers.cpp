// quantized::add and mul of a quantized tensor and a number: the result's grid follows from both.
#include <cmath>

#include "script/builtins/builtins.h"
#include "script/quantized.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// Each gives the grid, and what is added or multiplied, of numbers that may be known at run time only. A sum's grid is moved,
// and wider where the zero point would leave the range; a product's is stretched, and a negative number turns the range around.
constexpr std::string_view kCode = R"py(def sum(scale: float, zero_point: int, number: float, low: int, high: int) -> Tuple[float, int, float]:
  shift = int(torch.round(torch.div(number, scale)))
  moved = torch.sub(zero_point, shift)
  all = torch.sub(high, low)
  if torch.lt(moved, low):
    steps, place = torch.sub(high, moved), low
  else:
    if torch.gt(moved, high):
      steps, place = torch.sub(moved, low), high
    else:
      steps, place = all, moved
  return (torch.mul(torch.div(steps, all), scale), place, torch.mul(shift, scale))
def product(scale: float, zero_point: int, number: float, low: int, high: int) -> Tuple[float, int, float]:
  if torch.eq(number, 0.):
    stretched, place = 1., 0
  else:
    if torch.lt(number, 0.):
      stretched, place = torch.neg(torch.mul(number, scale)), torch.sub(torch.add(low, high), zero_point)
    else:
      stretched, place = torch.mul(number, scale), zero_point
  return (stretched, place, number)
)py";

constexpr double kLargestShift = 1 << 30;  // a zero point is an int32

Result<Val> AsFloat(Emitter& emit, const Val& value) {
  if (value.Is<double>()) return value;
  if (const auto integer = value.AsInt()) return Val(static_cast<double>(*integer));
  return emit.Call1(value.Is<TensorVal>() ? "aten::Float.Tensor" : "torch::sym_float", {value});
}

Result<Val> AsInteger(Emitter& emit, const Val& value) {
  return value.Is<TensorVal>() ? emit.Call1("aten::Int.Tensor", {value}) : Result<Val>(value);
}

}  // namespace

Result<Vals> QuantizedWithNumber(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (arguments.size() < 2) return Malformed(evaluator);
  const bool swapped = arguments[1].Is<QuantizedVal>();
  const auto* tensor = arguments[swapped ? 1 : 0].As<QuantizedVal>();
  const Val& other = arguments[swapped ? 0 : 1];
  if (tensor == nullptr || !(other.IsNumber() || other.Is<TensorVal>()) || other.Is<std::complex<double>>()) return Malformed(evaluator);
  const Quantized& x = *tensor->value;
  if (x.axis) return evaluator.Unsupported("takes a number, and a tensor that has a scale for each channel");
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const Val scale, AsFloat(emit, x.scale));
  FLAMBEAU_TRY(const Val zero_point, AsInteger(emit, x.zero_point));
  FLAMBEAU_TRY(const Val number, AsFloat(emit, other));
  const bool adds = node.kind.starts_with("quantized::add");
  const auto *known = scale.As<double>(), *added = number.As<double>();
  if (adds && known != nullptr && added != nullptr && !(std::abs(*added / *known) <= kLargestShift))
    return evaluator.Unsupported("adds a number that is too many steps of the scale");
  const DType integers = evaluator.TypeOf(x.data).dtype;
  const bool is_signed = IsSigned(integers);
  const Vals operands{scale, zero_point, number, int64_t{is_signed ? -128 : 0}, int64_t{is_signed ? 127 : 255}};
  FLAMBEAU_TRY(const Vals made, evaluator.CallLibrary(kCode, adds ? "sum" : "product", operands));
  const Vals& grid = *made[0].As<TupleVal>()->elements;
  FLAMBEAU_TRY(const Val floats, Dequantize(evaluator, MakeQuantized(x.data, GridOf(x))));
  FLAMBEAU_TRY(Val result, emit.Call1(adds ? "aten::add.Scalar" : "aten::mul.Scalar", {floats, grid[2]}));
  if (node.kind.ends_with("_relu")) {
    FLAMBEAU_TRY(result, emit.Call1("aten::relu", {result}));
  }
  FLAMBEAU_TRY(Val quantized, Quantize(evaluator, result, {grid[0], grid[1], std::nullopt}, integers));
  return Vals{std::move(quantized)};
}

namespace {

constexpr BuiltinRow kRows[] = {
    {"quantized::add_scalar", &QuantizedWithNumber},
    {"quantized::add_scalar_relu", &QuantizedWithNumber},
    {"quantized::mul_scalar", &QuantizedWithNumber},
    {"quantized::mul_scalar_relu", &QuantizedWithNumber},
};

}  // namespace

std::span<const BuiltinRow> QuantizedNumberBuiltins() { return kRows; }

}  // namespace flambeau::script
