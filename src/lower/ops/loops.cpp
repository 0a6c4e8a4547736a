#include "lower/ops/loops.h"

namespace flambeau::lower {
namespace {

std::vector<Tensor> Loop(Lowering& to, Tensor limit, bool tested, std::vector<Tensor> states, const Step& step) {
  std::vector<Type> types;
  for (const Tensor& state : states) {
    Type type = state.type();
    type.contents.reset();
    types.push_back(std::move(type));
  }
  const size_t first = tested ? 1 : 0;  // the condition is an operand of its own
  const BlockId body = to.Body([&] {
    const Tensor k = to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
    const Tensor again = to.AddBlockInput(Type::OfTensor(DType::kBool, {}));
    std::vector<Tensor> carried;
    if (tested) carried.push_back(again);
    for (size_t i = first; i < types.size(); ++i) carried.push_back(to.AddBlockInput(types[i]));
    std::vector<Tensor> outputs = step(k, carried);
    if (!tested) outputs.insert(outputs.begin(), again);
    // A value may be yielded once only, and not by an input.
    for (Tensor& output : outputs)
      if (output.type().is_tensor()) output = to.Identity(output);
    return outputs;
  });
  onnx::AttributeList attributes;
  attributes.Add("body", body);
  std::vector<Tensor> operands{limit, tested ? states[0] : to.ConstantOf(true, DType::kBool)};
  operands.insert(operands.end(), states.begin() + static_cast<ptrdiff_t>(first), states.end());
  std::vector<Tensor> results =
      to.EmitCustom("Loop", operands, attributes, std::span(types).subspan(first));
  if (tested) results.insert(results.begin(), states[0]);
  return results;
}

}  // namespace

std::vector<Tensor> Repeat(Lowering& to, Tensor count, std::vector<Tensor> states, const Step& step) {
  return Loop(to, count, false, std::move(states), step);
}

std::vector<Tensor> RepeatWhile(Lowering& to, Tensor limit, std::vector<Tensor> states, const Step& step) {
  return Loop(to, limit, true, std::move(states), step);
}

}  // namespace flambeau::lower
