// Scan, in terms of Loop; what regions could not give yet.
#include <algorithm>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// The body gets the turn's number in front, and picks the scanned slices itself.
void TurnIntoLoopBody(Builder& to, BlockId body, const std::vector<Tensor>& scanned, const Ints& axes,
                      const std::vector<bool>& reversed, const std::vector<Tensor>& sizes) {
  Graph& graph = to.graph();
  const std::vector<ValueId> old = graph[body].inputs;
  const size_t states = old.size() - scanned.size();
  auto add_input = [&](const Type& type) { return graph.AddInput(body, to.context().Intern(type)); };
  const ValueId turn = add_input(Type::OfTensor(DType::kInt64, {})), goes_on = add_input(Type::OfTensor(DType::kBool, {}));
  for (size_t i = 0; i < states; ++i) graph.ReplaceAllUses(old[i], add_input(graph.type(old[i])));
  const NodeId first = graph[body].first;
  const auto insert = [&](std::string_view op, std::span<const ValueId> operands, std::vector<NamedAttribute> attributes, TypeId type) {
    const Symbol name = to.context().Intern(op);
    const NodeId node = first ? graph.InsertBefore(first, name, operands, std::move(attributes), {&type, 1}, to.origin())
                              : graph.Append(body, name, operands, std::move(attributes), {&type, 1}, to.origin());
    return graph.result(node);
  };
  for (size_t i = 0; i < scanned.size(); ++i) {
    ValueId place = turn;
    if (reversed[i]) {
      const ValueId operands[] = {sizes[i].id(), to.ConstantInt(1).id()};
      const ValueId last = insert("Sub", operands, {}, graph[turn].type);
      const ValueId difference[] = {last, turn};
      place = insert("Sub", difference, {}, graph[turn].type);
    }
    const ValueId operands[] = {scanned[i].id(), place};
    graph.ReplaceAllUses(old[states + i], insert("Gather", operands, {{to.context().Intern("axis"), axes[i]}}, graph[old[states + i]].type));
  }
  std::vector<bool> replaced(graph[body].inputs.size());
  std::fill_n(replaced.begin(), old.size(), true);
  graph.RemoveInputs(body, replaced);
  const TypeId boolean = graph[goes_on].type;
  std::vector<ValueId> outputs{
      graph.result(graph.Append(body, to.context().Intern("Identity"), {&goes_on, 1}, {}, {&boolean, 1}, to.origin()))};
  const std::vector<ValueId> given = graph.outputs(body);
  outputs.insert(outputs.end(), given.begin(), given.end());
  graph.SetOutputs(body, outputs);
}

Results ScanAsLoop(Builder& to, const Request& request) {
  const auto count = static_cast<size_t>(request.Int("num_scan_inputs", 0)), states = request.operands.size() - count;
  const std::vector<Tensor> scanned(request.operands.begin() + static_cast<ptrdiff_t>(states), request.operands.end());
  Ints axes = request.IntList("scan_input_axes"), out_axes = request.IntList("scan_output_axes");
  Ints directions = request.IntList("scan_input_directions"), out_directions = request.IntList("scan_output_directions");
  axes.resize(count, 0);
  directions.resize(count, 0);
  out_axes.resize(request.results - states, 0);
  out_directions.resize(request.results - states, 0);
  std::vector<Tensor> sizes;
  std::vector<bool> reversed;
  for (size_t i = 0; i < count; ++i) {
    if (!scanned[i].ranked()) return Refuse(to, request, "takes only tensors of known rank");
    axes[i] += axes[i] < 0 ? scanned[i].rank() : 0;
    sizes.push_back(SizeNumber(to, scanned[i], axes[i]));
    reversed.push_back(directions[i] != 0);
  }
  const BlockId body = std::get<BlockId>(*Find(request.attributes, "body"));
  TurnIntoLoopBody(to, body, scanned, axes, reversed, sizes);
  std::vector<Tensor> operands = {sizes.front(), to.ConstantOf(true, DType::kBool)};
  operands.insert(operands.end(), request.operands.begin(), request.operands.begin() + static_cast<ptrdiff_t>(states));
  std::vector<Type> types(request.types.begin(), request.types.end());
  for (size_t i = states; i < types.size(); ++i) {
    Type& type = types[i];
    int64_t& axis = out_axes[i - states];
    if (!type.ranked) {
      if (axis != 0) return Refuse(to, request, "gives only tensors of known rank");
      continue;
    }
    axis += axis < 0 ? static_cast<int64_t>(type.rank()) : 0;
    const Expr turns = type.sizes[static_cast<size_t>(axis)];
    type.sizes.erase(type.sizes.begin() + axis);
    type.sizes.insert(type.sizes.begin(), turns);
  }
  AttributeList attributes;
  attributes.Add("body", body);
  std::vector<Tensor> results = to.EmitCustom("Loop", operands, attributes, types);
  for (size_t i = states; i < results.size(); ++i) {
    Tensor& result = results[i];
    if (out_directions[i - states] != 0)
      result = to.Gather(result, to.Sub(to.Sub(sizes.front(), to.ConstantInt(1)), Iota(to, sizes.front())));
    if (const int64_t axis = out_axes[i - states]; axis != 0) {
      Ints back;
      for (int64_t d = 0; d < result.rank(); ++d) back.push_back(d == axis ? 0 : d < axis ? d + 1 : d);
      result = to.Permute(result, back);
    }
  }
  return results;
}

// Identity takes only tensors before 14.
Results OnlyTensors(Builder& to, const Request& request) {
  const bool given = std::ranges::any_of(request.types, [](const Type& type) { return type.kind == TypeKind::kSequence; });
  return given ? Refuse(to, request, "takes no sequences") : std::nullopt;
}

// The same tensor: readers infer no sizes of what a Loop carries, here over one turn.
ValueId WithoutShape(Builder& to, BlockId block, ValueId value) {
  Graph& graph = to.graph();
  const Type carried = Type::Unranked(graph.type(value).dtype);
  const BlockId body = to.Body([&] {
    to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
    const Tensor goes_on = to.AddBlockInput(Type::OfTensor(DType::kBool, {})), same = to.AddBlockInput(carried);
    return std::vector<Tensor>{to.Identity(goes_on), to.Identity(same)};
  });
  const ValueId operands[] = {to.ConstantInt(1).id(), to.ConstantOf(true, DType::kBool).id(), value};
  const TypeId type = to.context().Intern(carried);
  return graph.result(graph.Append(block, to.context().Intern("Loop"), operands, {{to.context().Intern("body"), body}}, {&type, 1}, to.origin()));
}

// Before 11 readers merge the shapes that they infer of the two branches, and make a constant of a constant and what they
// do not know: what differs is hidden from them. Before 13 they take a number and what has no rank for a number.
Results HideOtherShapes(Builder& to, const Request& request) {
  const BlockId branches[] = {std::get<BlockId>(*Find(request.attributes, "then_branch")), std::get<BlockId>(*Find(request.attributes, "else_branch"))};
  Graph& graph = to.graph();
  std::vector<ValueId> outputs[] = {graph.outputs(branches[0]), graph.outputs(branches[1])};
  for (uint32_t i = 0; i < request.results; ++i) {
    const Type &a = graph.type(outputs[0][i]), &b = graph.type(outputs[1][i]);
    if (!a.is_tensor() || !b.is_tensor()) continue;
    const bool one_rank_is_open = a.ranked != b.ranked;
    if (to.opset() >= 11 && !one_rank_is_open) continue;
    const bool merge = a.ranked && b.ranked && std::ranges::equal(a.sizes, b.sizes, [&](Expr x, Expr y) { return to.exprs().AsConstant(x) == to.exprs().AsConstant(y); });
    for (size_t branch = 0; !merge && branch < 2; ++branch) outputs[branch][i] = WithoutShape(to, branches[branch], outputs[branch][i]);
  }
  for (size_t branch = 0; branch < 2; ++branch) graph.SetOutputs(branches[branch], outputs[branch]);
  return std::nullopt;
}

// An old Loop wants something to carry: a bool where there is nothing.
Results CarrySomething(Builder& to, const Request& request) {
  if (request.operands.size() > 2) return std::nullopt;
  Graph& graph = to.graph();
  const BlockId body = std::get<BlockId>(*Find(request.attributes, "body"));
  const Tensor carried = to.ConstantOf(true, DType::kBool);
  const TypeId type = to.context().Intern(Type::OfTensor(DType::kBool, {}));
  const ValueId inner = graph.AddInput(body, type);
  std::vector<ValueId> outputs = graph.outputs(body);
  const Symbol name = to.context().Intern("Identity");
  const ValueId kept = graph.result(graph.Append(body, name, {&inner, 1}, {}, {&type, 1}, to.origin()));
  outputs.insert(outputs.begin() + 1, kept);
  graph.SetOutputs(body, outputs);
  std::vector<Type> types(request.types.begin(), request.types.end());
  types.insert(types.begin(), Type::OfTensor(DType::kBool, {}));
  const Tensor operands[] = {request.operands[0], request.operand(1) ? request.operand(1) : carried, carried};
  std::vector<Tensor> results = to.EmitCustom("Loop", operands, request.attributes, types);
  results.erase(results.begin());
  return results;
}

constexpr LegalizeRule kRules[] = {
    {"Identity", 14, &OnlyTensors},
    {"If", 13, &HideOtherShapes},
    {"Loop", 11, &CarrySomething},
    {"Scan", 9, &ScanAsLoop},
};

}  // namespace

std::span<const LegalizeRule> LoopForms() { return kRules; }

}  // namespace flambeau::onnx
