// Functions of Python's math that neither one operator on numbers nor one on tensors computes.
#include <algorithm>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// What is left of 0.5 is mirrored: there the logarithm has lost the sign.
constexpr std::string_view kCode = R"py(def gamma(x: float) -> float:
  t = torch.tensor(x, dtype=7)
  mirrored = torch.lt(t, 0.5)
  g = torch.exp(torch.lgamma(torch.where(mirrored, torch.rsub(t, 1.), t)))
  sine = torch.sin(torch.mul(t, 3.1415926535897931))
  return float(torch.where(mirrored, torch.div(torch.reciprocal(torch.mul(sine, g)), 0.31830988618379069), g))
def modf(x: float) -> Tuple[float, float]:
  t = torch.tensor(x, dtype=7)
  whole = torch.trunc(t)
  rest = torch.where(torch.isinf(t), torch.zeros_like(t), torch.sub(t, whole))
  return (float(rest), float(whole))
def frexp(x: float) -> Tuple[float, int]:
  mantissa, exponent, = torch.frexp(torch.tensor(x, dtype=7))
  return (float(mantissa), int(exponent))
def mathremainder(x: float, y: float) -> float:
  a = torch.tensor(x, dtype=7)
  b = torch.tensor(y, dtype=7)
  return float(torch.sub(a, torch.mul(torch.round(torch.div(a, b)), b)))
def __round_to_zero_floordiv(a: int, b: int) -> int:
  return int(torch.div(torch.tensor(a), torch.tensor(b), rounding_mode="trunc"))
def factorial(n: int) -> int:
  product = 1
  for i in range(n):
    product = torch.mul(product, torch.add(i, 1))
  return product
)py";

Result<Vals> OfLibrary(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (!std::ranges::all_of(arguments, &Val::IsNumber)) return evaluator.CallOperator(node, arguments);
  FLAMBEAU_TRY(Vals results, evaluator.CallLibrary(kCode, std::string_view(node.kind).substr(std::string_view("aten::").size()), arguments));
  const auto* tuple = results.size() == 1 ? results[0].As<TupleVal>() : nullptr;
  return tuple != nullptr ? *tuple->elements : results;
}

constexpr BuiltinRow kRows[] = {
    {"aten::__round_to_zero_floordiv", &OfLibrary},
    {"aten::factorial", &OfLibrary},
    {"aten::frexp", &OfLibrary},
    {"aten::gamma", &OfLibrary},
    {"aten::mathremainder", &OfLibrary},
    {"aten::modf", &OfLibrary},
};

}  // namespace

std::span<const BuiltinRow> NumberBuiltins() { return kRows; }

}  // namespace flambeau::script
