// Fourier transforms.
#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// The axis, an attribute before 20.
Results DftAxisToAttribute(Builder& to, const Request& request) {
  const Tensor operand = request.operand(2);
  if (!operand) return std::nullopt;
  const auto axis = KnownInts(to, operand);
  if (!axis || axis->size() != 1) return Refuse(to, request, "takes 'axis' only as a constant");
  return EmitAsIs(to, "DFT", request.operands.first(2), With(request.attributes, "axis", axis->front()), 1);
}

constexpr LegalizeRule kRules[] = {
    {"DFT", 20, &DftAxisToAttribute},
};

}  // namespace

std::span<const LegalizeRule> SignalForms() { return kRules; }

}  // namespace flambeau::onnx
