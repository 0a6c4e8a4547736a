// torch.einsum: of an equation and tensors, or of tensors and their dimensions by number.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

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

// Of one tensor, whose dimensions it only orders anew, it is a view.
std::optional<Result<Vals>> AsView(Evaluator& evaluator, const std::string& equation, const Cell& tensors) {
  const bool one = !tensors.sequence && tensors.columns.empty() && tensors.elements.size() == 1 && tensors.elements[0].Is<TensorVal>();
  auto order = one ? OrderOf(equation) : std::nullopt;
  if (!order) return std::nullopt;
  const Val tensor = tensors.elements[0];
  auto view = evaluator.emit().Call1("aten::permute", {tensor, evaluator.List(*std::move(order))});
  if (!view) return Result<Vals>(kFailure);
  return Result<Vals>(Vals{*std::move(view)});
}

constexpr int64_t kLetters = 26, kDimensions = 2 * kLetters;

// Tensors and the numbers of their dimensions in turn, and at the end those of the result: the equation that says the same.
Result<Vals> OfNumbers(Evaluator& evaluator, const Node& node, Arguments arguments) {
  std::string equation;
  Cell tensors;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_result = i % 2 == 0 && i + 1 == arguments.size();
    if (i % 2 == 0 && !is_result) {
      if (i > 0) equation += ',';
      tensors.elements.push_back(arguments[i]);
      continue;
    }
    if (is_result) equation += "->";
    const Cell* dims = ListOf(arguments[i], evaluator.heap());
    if (dims == nullptr || dims->sequence) return evaluator.Unsupported("names dimensions by a list that is known at run time only");
    for (const Val& dim : dims->elements) {
      const auto number = dim.AsInt();
      if (!number) return evaluator.Unsupported("names a dimension by a number that is known at run time only");
      if (*number < 0 || *number >= kDimensions)
        return evaluator.Raise(node, fmt::format("names a dimension {}, which is not between 0 and {}", *number, kDimensions - 1));
      equation += static_cast<char>(*number < kLetters ? 'A' + *number : 'a' + (*number - kLetters));
    }
  }
  if (auto view = AsView(evaluator, equation, tensors)) return *std::move(view);
  FLAMBEAU_TRY(Val made, evaluator.emit().Call1("aten::einsum", {equation, evaluator.List(std::move(tensors.elements))}));
  return Vals{std::move(made)};
}

Result<Vals> Einsum(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (node.overload == "sublist") return OfNumbers(evaluator, node, arguments);
  const auto* equation = arguments[0].As<std::string>();
  const auto* list = arguments.size() > 1 ? arguments[1].As<ListVal>() : nullptr;
  if (equation == nullptr || list == nullptr) return evaluator.CallOperator(node, arguments);
  if (auto view = AsView(evaluator, *equation, evaluator.heap()[list->cell])) return *std::move(view);
  return evaluator.CallOperator(node, arguments);
}

constexpr BuiltinRow kRows[] = {{"aten::einsum", &Einsum}};

}  // namespace

std::span<const BuiltinRow> EinsumBuiltins() { return kRows; }

}  // namespace flambeau::script
