// What leaves a tensor where it is in memory, or gives another view of that. Every tensor is on one device.
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// x.to("cpu"), x.to(torch.float64), x.cpu(): as TorchScript has them, in which any of the arguments may be left out.
Result<Vals> To(Evaluator& evaluator, const Node& node, Arguments arguments) {
  constexpr size_t kDevice = 3;  // of to.dtype_layout(self, dtype, layout, device, …)
  const size_t dtype = node.overload == "prim_Device" ? 2 : 1;
  if (node.overload == "device" && arguments.size() > 1) {
    Vals here(arguments.begin(), arguments.end());
    here.erase(here.begin() + 1);
    FLAMBEAU_TRY(Val cast, evaluator.emit().Call1("aten::to.dtype", here));
    return Vals{std::move(cast)};
  }
  if (node.overload == "dtype_layout" && arguments.size() > kDevice) {
    Vals here(arguments.begin(), arguments.end());
    here[kDevice] = Nothing{};
    return evaluator.CallOperator(node, here);
  }
  if (!node.overload.starts_with("prim_")) return evaluator.CallOperator(node, arguments);
  const bool copy = evaluator.KnownBool(arguments.back()).value_or(false);
  if (node.overload != "prim_other" && dtype < arguments.size() && arguments[dtype].AsInt()) {
    FLAMBEAU_TRY(Val cast, evaluator.emit().Call1("aten::to.dtype", {arguments[0], arguments[dtype], false, copy}));
    return Vals{std::move(cast)};
  }
  if (!copy) return Vals{arguments[0]};
  FLAMBEAU_TRY(Val copied, evaluator.emit().Call1("aten::clone", {arguments[0]}));
  return Vals{std::move(copied)};
}

// A model knows neither devices nor gradients.
Result<Vals> Itself(Evaluator&, const Node&, Arguments arguments) { return Vals{arguments[0]}; }

// Where the letters of the result stand before it, if all of one tensor are there, and each of them once: "btc->bct".
std::optional<Vals> OrderOf(std::string equation) {
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.size() != 2 * arrow + 2) return std::nullopt;
  const std::string_view from = std::string_view(equation).substr(0, arrow), to = std::string_view(equation).substr(arrow + 2);
  Vals order;
  for (const char letter : to) {
    const size_t at = from.find(letter);
    const bool once = std::isalpha(static_cast<unsigned char>(letter)) != 0 && from.rfind(letter) == at && to.find(letter) == to.rfind(letter);
    if (!once || at == std::string_view::npos) return std::nullopt;
    order.push_back(static_cast<int64_t>(at));
  }
  return order;
}

// Of one tensor, whose dimensions it only orders anew, einsum is a view.
Result<Vals> Einsum(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* equation = arguments[0].As<std::string>();
  const auto* list = arguments.size() > 1 ? arguments[1].As<ListVal>() : nullptr;
  if (equation == nullptr || list == nullptr) return evaluator.CallOperator(node, arguments);
  const Cell& cell = evaluator.heap()[list->cell];
  const bool one = !cell.sequence && cell.columns.empty() && cell.elements.size() == 1 && cell.elements[0].Is<TensorVal>();
  auto order = one ? OrderOf(*equation) : std::nullopt;
  if (!order) return evaluator.CallOperator(node, arguments);
  const Val tensor = cell.elements[0];
  FLAMBEAU_TRY(Val view, evaluator.emit().Call1("aten::permute", {tensor, evaluator.List(*std::move(order))}));
  return Vals{std::move(view)};
}

constexpr BuiltinRow kRows[] = {
    {"aten::cpu", &Itself},
    {"aten::cuda", &Itself},
    {"aten::einsum", &Einsum},
    {"aten::pin_memory", &Itself},
    {"aten::requires_grad_", &Itself},
    {"aten::to", &OfKnownFlags<&To>},
};

}  // namespace

std::span<const BuiltinRow> PlaceBuiltins() { return kRows; }

}  // namespace flambeau::script
