// What leaves a tensor where it is in memory, or gives another view of that. Every tensor is on one device.
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

constexpr BuiltinRow kRows[] = {
    {"aten::cpu", &Itself},
    {"aten::cuda", &Itself},
    {"aten::pin_memory", &Itself},
    {"aten::requires_grad_", &Itself},
    {"aten::to", &OfKnownFlags<&To>},
};

}  // namespace

std::span<const BuiltinRow> PlaceBuiltins() { return kRows; }

}  // namespace flambeau::script
