// Context managers, and the modes of torch that they set: gradients, autocast.
#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// What torch.autocast computes in where nothing else is said.
Result<Vals> AutocastDtype(Evaluator&, const Node&, Arguments arguments) {
  const auto* device = arguments[0].As<std::string>();
  const DType dtype = device != nullptr && *device == "cuda" ? DType::kFloat16 : DType::kBfloat16;
  return Vals{int64_t{Info(dtype).torch_code}};
}

constexpr std::string_view kGradEnabled = "grad_enabled";

Result<Vals> IsGradEnabled(Evaluator& evaluator, const Node&, Arguments) {
  FLAMBEAU_TRY(Val enabled, evaluator.GetAttribute(evaluator.modes(), kGradEnabled));
  return Vals{std::move(enabled)};
}
Result<Vals> SetGradEnabled(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_CHECK_OK(evaluator.SetAttribute(evaluator.modes(), kGradEnabled, arguments[0]));
  return Vals{Nothing{}};
}
// torch.no_grad() keeps in itself what was there before.
Result<Vals> EnterOrExitNoGrad(Evaluator& evaluator, const Node& node, const Val& manager) {
  constexpr std::string_view kBefore = "prev";
  const auto* object = manager.As<ObjectVal>();
  if (object == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "enters something that is no object");
  const bool enters = node.kind == "prim::Enter";
  Val mode = false;
  if (enters) {
    FLAMBEAU_TRY(Val before, evaluator.GetAttribute(evaluator.modes(), kGradEnabled));
    FLAMBEAU_CHECK_OK(evaluator.SetAttribute(object->cell, kBefore, std::move(before)));
  } else {
    FLAMBEAU_TRY(mode, evaluator.GetAttribute(object->cell, kBefore));
  }
  FLAMBEAU_CHECK_OK(evaluator.SetAttribute(evaluator.modes(), kGradEnabled, std::move(mode)));
  return Vals{enters ? manager : Val(Nothing{})};
}

// Of these context managers nothing is left in a model.
bool IsTransparent(std::string_view class_name) {
  constexpr std::string_view kNames[] = {"torch.autograd.profiler.record_function", "torch.classes.profiler."};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return class_name.find(name) != class_name.npos; });
}
constexpr std::string_view kAutocast = ".amp.autocast_mode.autocast";

// Nor of a torch.autocast that is off, or for another device than the CPU.
bool IsIdleAutocast(Evaluator& evaluator, std::string_view class_name, const Val& value) {
  const auto* object = value.As<ObjectVal>();
  if (object == nullptr || !class_name.ends_with(kAutocast)) return false;
  const auto enabled = evaluator.GetAttribute(object->cell, "_enabled"), device = evaluator.GetAttribute(object->cell, "device");
  if (!enabled || !device) return false;
  const auto* name = device->As<std::string>();
  return evaluator.KnownBool(*enabled) == false || (name != nullptr && *name != "cpu");
}
Result<Vals> EnterOrExit(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const torchscript::Type* type = node.inputs.empty() ? nullptr : node.inputs[0]->type.get();
  if (type != nullptr && type->name.ends_with(".grad_mode.no_grad")) return EnterOrExitNoGrad(evaluator, node, arguments[0]);
  if (type == nullptr || (!IsTransparent(type->name) && !IsIdleAutocast(evaluator, type->name, arguments[0])))
    return evaluator.Unsupported(fmt::format("enters or leaves a context of the class {}", type != nullptr ? type->name : "?"),
                                 type != nullptr && type->name.ends_with(kAutocast)
                                     ? "export the live script, of which a torch.autocast is taken, or cast in the model"
                                     : "call what it does around the block by functions of your own");
  return node.kind == "prim::Enter" ? Vals{arguments[0]} : Vals{Nothing{}};
}

constexpr BuiltinRow kRows[] = {
    {"aten::get_autocast_dtype", &AutocastDtype},
    {"aten::is_grad_enabled", &IsGradEnabled},
    {"aten::set_grad_enabled", &SetGradEnabled},
    {"prim::Enter", &EnterOrExit},
    {"prim::Exit", &EnterOrExit},
};

}  // namespace

std::span<const BuiltinRow> ContextBuiltins() { return kRows; }

}  // namespace flambeau::script
