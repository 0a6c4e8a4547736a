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

// A tensor behind Transposes, the outermost first.
struct Transposed {
  ValueId tensor;
  std::vector<NodeId> by;
  bool shared = false;  // one of the values on the way has other uses
};

Transposed Untranspose(const Editor& to, ValueId value) {
  Transposed result{value, {}};
  while (true) {
    result.shared |= !to.HasOneUse(result.tensor);
    const NodeId transpose = to.Producer(result.tensor, "Transpose");
    if (!transpose) return result;
    result.by.push_back(transpose);
    result.tensor = to.Operand(transpose, 0);
  }
}

ValueId Transpose(Editor& to, NodeId position, ValueId value, std::span<const NodeId> by) {
  for (auto transpose = by.rbegin(); transpose != by.rend(); ++transpose) {
    onnx::AttributeList attributes;
    attributes.Add("perm", PermutationOf(to, *transpose));
    value = to.Insert(position, "Transpose", {value}, attributes);
  }
  return value;
}

// (x · a) · b in front of a product is x · (a · b) where x · a has other uses, transposed on the way or not.
// onnxruntime moves transposes aside and such factors into the product all the same, and 1.31 loses the node between
// them where it is used elsewhere: x · a, of which attention to itself takes queries, keys and values.
bool MergeFactors(Editor& to, NodeId node) {
  for (uint32_t i = 0; i < 2; ++i) {
    const Transposed operand = Untranspose(to, to.Operand(node, i));
    const auto outer = ScaledOf(to, operand.tensor);
    if (!outer) continue;
    const Transposed between = Untranspose(to, outer->tensor);
    const auto inner = between.shared ? ScaledOf(to, between.tensor) : std::nullopt;
    if (!inner) continue;
    const ValueId number = outer->divides == inner->divides ? to.Insert(node, "Mul", {inner->number, outer->number})
                           : outer->divides                 ? to.Insert(node, "Div", {inner->number, outer->number})
                                                            : to.Insert(node, "Div", {outer->number, inner->number});
    const bool divides = outer->divides && inner->divides;
    const ValueId moved = Transpose(to, node, Transpose(to, node, inner->tensor, between.by), operand.by);
    to.SetOperand(node, i, to.Insert(node, divides ? "Div" : "Mul", {moved, number}));
    return true;
  }
  return false;
}

constexpr RewriteRow kRules[] = {{"MatMul", &MergeFactors}};

}  // namespace

RewriteTable FactorRules() { return kRules; }

}  // namespace flambeau
