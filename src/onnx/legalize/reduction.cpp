// Axes that were attributes once, and reductions of types that came late.
#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// The last operand was the attribute `axes` once.
Results AxesToAttribute(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], axes = request.operand(1);
  AttributeList attributes = request.attributes;
  attributes = Without(attributes, "noop_with_empty_axes");
  const bool all_if_none = request.Int("noop_with_empty_axes", 0) == 0;
  if (!axes) {
    if (!all_if_none) return {{to.Identity(x)}};
    return EmitAsIs(to, request.op, {&x, 1}, attributes, 1);
  }
  auto known = KnownInts(to, axes);
  if (!known) return Refuse(to, request, "takes 'axes' only as a constant");
  if (known->empty()) {
    if (request.op == "Unsqueeze" || request.op == "Squeeze" || !all_if_none) return {{to.Identity(x)}};
    return EmitAsIs(to, request.op, {&x, 1}, attributes, 1);
  }
  attributes = With(attributes, "axes", *known);
  return EmitAsIs(to, request.op, {&x, 1}, attributes, 1);
}

// select_last_index: the first from behind.
Results LastExtreme(Builder& to, const Request& request) {
  if (request.Int("select_last_index", 0) == 0) return std::nullopt;
  const Tensor x = request.operands[0];
  if (!x.ranked()) return Refuse(to, request, "takes only tensors of known rank");
  int64_t axis = request.Int("axis", 0);
  if (axis < 0) axis += x.rank();
  const Tensor last = to.Sub(SizeNumber(to, x, axis), to.ConstantInt(1));
  AttributeList attributes = request.attributes;
  attributes = Without(attributes, "select_last_index");
  const Tensor reversed = to.Gather(x, to.Sub(last, Iota(to, SizeNumber(to, x, axis))), {.axis = axis});
  return {{to.Sub(last, EmitAsIs(to, request.op, {&reversed, 1}, attributes, 1).front())}};
}

constexpr LegalizeRule kRules[] = {
    {"ArgMax", 12, &LastExtreme},
    {"ArgMin", 12, &LastExtreme},
    {"ReduceL1", 18, &AxesToAttribute},
    {"ReduceL2", 18, &AxesToAttribute},
    {"ReduceLogSum", 18, &AxesToAttribute},
    {"ReduceLogSumExp", 18, &AxesToAttribute},
    {"ReduceMax", 18, &AxesToAttribute},
    {"ReduceMean", 18, &AxesToAttribute},
    {"ReduceMin", 18, &AxesToAttribute},
    {"ReduceProd", 18, &AxesToAttribute},
    {"ReduceSum", 13, &AxesToAttribute},
    {"ReduceSumSquare", 18, &AxesToAttribute},
    {"Squeeze", 13, &AxesToAttribute},
    {"Unsqueeze", 13, &AxesToAttribute},
};

}  // namespace

std::span<const LegalizeRule> ReductionForms() { return kRules; }

}  // namespace flambeau::onnx
