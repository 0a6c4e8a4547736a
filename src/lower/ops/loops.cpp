#include "lower/ops/loops.h"

namespace flambeau::lower {
namespace {

std::vector<Type> TypesOf(const std::vector<Tensor>& tensors) {
  std::vector<Type> types;
  for (const Tensor& tensor : tensors) {
    types.push_back(tensor.type());
    types.back().contents.reset();
  }
  return types;
}

std::vector<Tensor> Loop(Lowering& to, Tensor limit, bool tested, std::vector<Tensor> states, const Step& step) {
  const std::vector<Type> types = TypesOf(states);
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

std::vector<Tensor> Collect(Lowering& to, Dim count, const ItemStep& step) {
  std::vector<Type> types;
  const BlockId body = to.Body([&] {
    const Tensor k = to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
    const Tensor again = to.AddBlockInput(Type::OfTensor(DType::kBool, {}));
    std::vector<Tensor> outputs = step(k);
    types = TypesOf(outputs);
    for (Type& type : types) type.sizes.insert(type.sizes.begin(), count.expr);
    outputs.insert(outputs.begin(), again);
    for (Tensor& output : outputs) output = to.Identity(output);
    return outputs;
  });
  onnx::AttributeList attributes;
  attributes.Add("body", body);
  const Tensor operands[] = {to.Number(count), to.ConstantOf(true, DType::kBool)};
  return to.EmitCustom("Loop", operands, attributes, types);
}

Rows ForRows(Lowering& to, Rows given, const RowStep& step) {
  std::vector<Type> types = TypesOf(given.states);
  const Expr count = given.rows.front().type().sizes.front();
  const auto states = static_cast<ptrdiff_t>(types.size());
  const BlockId body = to.Body([&] {
    Rows inside;
    for (const Type& type : types) inside.states.push_back(to.AddBlockInput(type));
    for (Type& type : TypesOf(given.rows)) {
      type.sizes.erase(type.sizes.begin());
      inside.rows.push_back(to.AddBlockInput(type));
    }
    const Rows made = step(inside.states, inside.rows);
    std::vector<Tensor> outputs = made.states;
    outputs.insert(outputs.end(), made.rows.begin(), made.rows.end());
    for (Type& type : TypesOf(made.rows)) {
      type.sizes.insert(type.sizes.begin(), count);
      types.push_back(std::move(type));
    }
    // A value may be yielded once only, and not by an input.
    for (Tensor& output : outputs) output = to.Identity(output);
    return outputs;
  });
  onnx::AttributeList attributes;
  attributes.Add("body", body);
  attributes.Add("num_scan_inputs", static_cast<int64_t>(given.rows.size()));
  std::vector<Tensor> operands = std::move(given.states);
  operands.insert(operands.end(), given.rows.begin(), given.rows.end());
  const std::vector<Tensor> results = to.EmitCustom("Scan", operands, attributes, types);
  return {{results.begin(), results.begin() + states}, {results.begin() + states, results.end()}};
}

// Lower bounds of sizes do not count: torch.export records 2 where it says nothing of 0 and 1.
std::vector<Tensor> UnlessNone(Lowering& to, Dim size, const std::function<std::vector<Tensor>()>& some,
                               const std::function<std::vector<Tensor>()>& none) {
  if (const auto known = to.AsConstant(size)) return *known == 0 ? none() : some();
  return to.Choose(to.Greater(to.Number(size), to.ConstantInt(0)), some, none);
}

}  // namespace flambeau::lower
