#include "pass/onnx/rules.h"

namespace flambeau {
namespace {

// A tensor of floats times a constant number, or by it.
struct Scaled {
  ValueId tensor, number;
  bool divides;
};

std::optional<Scaled> ScaledOf(const Editor& to, ValueId value) {
  const NodeId product = to.Producer(value, "Mul"), quotient = to.Producer(value, "Div");
  if (!product && !quotient) return std::nullopt;
  const NodeId node = product ? product : quotient;
  for (uint32_t i = quotient ? 1 : 0; i < 2; ++i) {
    const ValueId number = to.Operand(node, i), tensor = to.Operand(node, 1 - i);
    if (to.KnownNumber(number) && IsFloating(to.type(tensor).dtype) && to.SameType(tensor, value))
      return Scaled{tensor, number, static_cast<bool>(quotient)};
  }
  return std::nullopt;
}

// (x · a) · b in front of a product is x · (a · b) where x · a has other uses. onnxruntime moves such factors into the
// product all the same, and 1.31 loses the node between them where it is used elsewhere: x · a, of which attention to
// itself takes queries, keys and values.
bool MergeFactors(Editor& to, NodeId node) {
  for (uint32_t i = 0; i < 2; ++i) {
    const auto outer = ScaledOf(to, to.Operand(node, i));
    if (!outer || to.HasOneUse(outer->tensor)) continue;
    const auto inner = ScaledOf(to, outer->tensor);
    if (!inner) continue;
    const ValueId number = outer->divides == inner->divides ? to.Insert(node, "Mul", {inner->number, outer->number})
                           : outer->divides                 ? to.Insert(node, "Div", {inner->number, outer->number})
                                                            : to.Insert(node, "Div", {outer->number, inner->number});
    const bool divides = outer->divides && inner->divides;
    to.SetOperand(node, i, to.Insert(node, divides ? "Div" : "Mul", {inner->tensor, number}));
    return true;
  }
  return false;
}

constexpr RewriteRow kRules[] = {{"MatMul", &MergeFactors}};

}  // namespace

RewriteTable FactorRules() { return kRules; }

}  // namespace flambeau
