// Operators that hold nested graphs. Outer values are simply used inside: ONNX
// subgraphs see the graphs around them.
#include <fmt/format.h>

#include <algorithm>

#include "lower/op.h"

namespace flambeau::lower {
namespace {

// The arguments of a higher-order operator, which has no schema: by position.
class Arguments {
 public:
  Arguments(Lowering& to, NodeId node) : to_(to), node_(node) {}

  std::optional<BlockId> Graph(size_t position) const {
    const Attribute* attribute = At(position);
    const auto* graph = attribute ? std::get_if<BlockId>(attribute) : nullptr;
    if (graph != nullptr) return *graph;
    Mismatch(position, "a nested graph");
    return std::nullopt;
  }
  std::optional<Tensor> One(size_t position) const {
    if (At(position) != nullptr) return ArgumentView(to_, node_, position).AsTensor();
    Mismatch(position, "a tensor or a number");
    return std::nullopt;
  }
  // A list of tensors and numbers.
  std::optional<std::vector<Tensor>> List(size_t position) const {
    const Attribute* attribute = At(position);
    std::vector<Tensor> list;
    if (attribute != nullptr && Append(*attribute, &list)) return list;
    Mismatch(position, "a list of tensors and numbers");
    return std::nullopt;
  }

 private:
  const Attribute* At(size_t position) const {
    const auto& attributes = to_.aten()[node_].attributes;
    return position < attributes.size() ? &attributes[position].value : nullptr;
  }
  void Mismatch(size_t position, std::string_view wanted) const {
    to_.Report(DiagnosticKind::kBadProgram, fmt::format("argument {} must be {}", position, wanted));
  }
  bool Append(const Attribute& attribute, std::vector<Tensor>* list) const {
    auto add_all = [&](const auto& numbers) {
      for (const auto number : numbers) list->push_back(internal::AsResult(to_, Scalar(number)));
      return true;
    };
    if (std::holds_alternative<None>(attribute)) return true;  // torch's () of no additional inputs
    if (const auto* ints = std::get_if<Ints>(&attribute)) return add_all(*ints);
    if (const auto* floats = std::get_if<Floats>(&attribute)) return add_all(*floats);
    if (const auto* bools = std::get_if<Bools>(&attribute)) {
      for (const bool value : *bools) list->push_back(internal::AsResult(to_, Scalar(value)));
      return true;
    }
    const auto* elements = std::get_if<OperandList>(&attribute);
    if (elements == nullptr) return false;
    for (const ListElement& element : *elements)
      list->push_back(std::visit([&](auto e) { return Element(e); }, element));
    return true;
  }
  Tensor Element(None) const { return {}; }
  Tensor Element(Operand operand) const { return to_.ValueOf(to_.aten().operand(node_, operand.index)); }
  template <class Number>
  Tensor Element(Number number) const {
    return internal::AsResult(to_, Scalar(number));
  }

  Lowering& to_;
  NodeId node_;
};

// What carries a value of that type into a nested graph or out of it. Python's floats keep their digits.
Type CarriedType(Lowering& to, const Type& type) {
  return type.kind == TypeKind::kFloat ? Type::OfTensor(DType::kFloat64, {}) : to.OnnxType(type);
}

// Numbers become values: of the dtypes that the program recorded for `like`.
void Materialise(Lowering& to, std::span<const ValueId> like, std::span<Tensor> tensors) {
  for (size_t i = 0; i < tensors.size() && i < like.size(); ++i)
    if (like[i] && tensors[i]) tensors[i] = to.Value(tensors[i], CarriedType(to, to.aten().type(like[i])).dtype);
}

// Lowers a nested graph at the current position; its symbols end with it.
std::vector<Tensor> Inline(Lowering& to, BlockId graph, std::span<const Tensor> inputs) {
  return to.Scope([&] {
    std::vector<Tensor> outputs = to.LowerBlock(graph, inputs);
    Materialise(to, to.aten().outputs(graph), outputs);
    return outputs;
  });
}

// Inputs of the current block of the types of `formal`.
std::vector<Tensor> BlockInputs(Lowering& to, std::span<const ValueId> formal) {
  std::vector<Tensor> inputs;
  for (ValueId value : formal) inputs.push_back(to.AddBlockInput(CarriedType(to, to.aten().type(value))));
  return inputs;
}

std::vector<Type> RecordedTypes(Lowering& to, NodeId node) {
  std::vector<Type> types;
  for (uint32_t i = 0; i < to.aten()[node].result_count; ++i)
    types.push_back(CarriedType(to, to.aten().type(to.aten().result(node, i))));
  return types;
}

template <class T>
std::vector<T> Join(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The number of inputs and results must fit, or values would be taken for others.
bool RequireShape(Lowering& to, BlockId graph, size_t inputs, size_t outputs) {
  const size_t has_inputs = to.aten()[graph].inputs.size(), has_outputs = to.aten().output_count(graph);
  if (has_inputs == inputs && has_outputs == outputs) return true;
  to.Report(DiagnosticKind::kBadProgram,
            fmt::format("holds a graph of {} inputs and {} results where {} and {} are wanted", has_inputs, has_outputs,
                        inputs, outputs));
  return false;
}

// A condition as a 0-d bool; numbers stay numbers where they are constants.
Tensor Condition(Lowering& to, Tensor condition) {
  if (condition.is_number()) return to.ConstantOf(condition.number(), DType::kBool);
  condition = to.CastTo(condition, DType::kBool);
  return condition.ranked() && condition.rank() == 0 ? condition : to.ReshapeTo(condition, Ints{});
}

// The value of a condition that is known now.
std::optional<bool> Known(Lowering& to, const Tensor& condition) {
  if (!condition.type().contents || condition.type().contents->size() != 1) return std::nullopt;
  const auto value = to.AsConstant({condition.type().contents->front()});
  if (!value) return std::nullopt;
  return *value != 0;
}

// --- cond --------------------------------------------------------------------------

// cond(pred, true_graph, false_graph, operands)
Lowered Cond(Lowering& to, NodeId node) {
  const Arguments arguments(to, node);
  const auto predicate = arguments.One(0);
  const auto then_graph = arguments.Graph(1), else_graph = arguments.Graph(2);
  const auto operands = arguments.List(3);
  if (!predicate || !then_graph || !else_graph || !operands) return std::nullopt;
  const size_t count = to.aten().output_count(*then_graph);
  if (!RequireShape(to, *then_graph, operands->size(), count) ||
      !RequireShape(to, *else_graph, operands->size(), count))
    return std::nullopt;
  const Tensor condition = Condition(to, *predicate);
  if (const auto known = Known(to, condition)) return Inline(to, *known ? *then_graph : *else_graph, *operands);

  // What both branches leave None is no result of the If.
  const std::vector<ValueId> then_outputs = to.aten().outputs(*then_graph),
                             else_outputs = to.aten().outputs(*else_graph);
  auto branch = [&](BlockId graph) {
    return [&to, &operands, graph] {
      std::vector<Tensor> outputs = Inline(to, graph, *operands);
      std::erase_if(outputs, [](const Tensor& output) { return !output; });
      return outputs;
    };
  };
  const std::vector<Tensor> chosen = to.Choose(condition, branch(*then_graph), branch(*else_graph));
  std::vector<Tensor> results(count);
  size_t next = 0;
  for (size_t i = 0; i < count && next < chosen.size(); ++i)
    if (then_outputs[i] && to.aten().type(then_outputs[i]).kind != TypeKind::kNone) results[i] = chosen[next++];
  return results;
}

// --- while_loop ----------------------------------------------------------------------

struct While {
  BlockId condition, body;
  std::vector<Tensor> additional;
};

// The loop's body of ONNX: (iteration, condition, carried…) -> (condition, carried…).
BlockId LoopBody(Lowering& to, const While& loop, std::span<const ValueId> formal, bool test_first) {
  return to.Body([&] {
    to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
    to.AddBlockInput(Type::OfTensor(DType::kBool, {}));
    const std::vector<Tensor> carried = BlockInputs(to, formal);
    const std::vector<Tensor> inputs = Join(carried, loop.additional);
    if (!test_first) {
      const std::vector<Tensor> next = Inline(to, loop.body, inputs);
      const std::vector<Tensor> again = Inline(to, loop.condition, Join(next, loop.additional));
      return Join({Condition(to, again[0])}, next);
    }
    const Tensor again = Condition(to, Inline(to, loop.condition, inputs)[0]);
    return Join({again}, to.Choose(again, [&] { return Inline(to, loop.body, inputs); }, [&] { return carried; }));
  });
}

// while_loop(cond_fn, body_fn, carried_inputs, additional_inputs)
//
// ONNX tests after the body, so the test is emitted twice: before the loop and
// at the end of its body. A test that holds graphs itself is emitted once, at
// the start of a body that then does nothing in its last round: loops nested in
// tests would double with each level.
Lowered WhileLoop(Lowering& to, NodeId node) {
  const Arguments arguments(to, node);
  const auto condition = arguments.Graph(0), body = arguments.Graph(1);
  auto carried = arguments.List(2);
  auto additional = arguments.List(3);
  if (!condition || !body || !carried || !additional) return std::nullopt;
  const size_t inputs = carried->size() + additional->size();
  if (!RequireShape(to, *condition, inputs, 1) || !RequireShape(to, *body, inputs, carried->size()) ||
      to.aten()[node].result_count > carried->size())
    return std::nullopt;
  const std::span formal = std::span(to.aten()[*body].inputs).first(carried->size());
  Materialise(to, formal, *carried);
  const While loop{*condition, *body, std::move(*additional)};
  const bool test_first = to.aten().BlocksWithin(*condition).size() > 1;
  const Tensor first = test_first ? to.ConstantOf(Scalar(true), DType::kBool)
                                  : Condition(to, Inline(to, *condition, Join(*carried, loop.additional))[0]);
  onnx::AttributeList attributes;
  attributes.Add("body", LoopBody(to, loop, formal, test_first));
  const std::vector<Tensor> operands = Join({Tensor(), first}, *carried);
  return to.EmitCustom("Loop", operands, attributes, RecordedTypes(to, node));
}

// --- TorchScript's loop --------------------------------------------------------------

// prim::Loop(max_trip_count, condition, carried, body): ONNX's own Loop. The
// body is (iteration, carried…) -> (condition, carried…).
Lowered ScriptLoop(Lowering& to, NodeId node) {
  const Arguments arguments(to, node);
  const auto trips = arguments.One(0), condition = arguments.One(1);
  auto carried = arguments.List(2);
  const auto graph = arguments.Graph(3);
  if (!trips || !condition || !carried || !graph) return std::nullopt;
  if (!RequireShape(to, *graph, carried->size() + 1, carried->size() + 1)) return std::nullopt;
  const std::span formal = std::span(to.aten()[*graph].inputs);
  Materialise(to, formal.subspan(1), *carried);
  onnx::AttributeList attributes;
  attributes.Add("body", to.Body([&] {
    std::vector<Tensor> inputs = {to.AddBlockInput(Type::OfTensor(DType::kInt64, {}))};
    to.AddBlockInput(Type::OfTensor(DType::kBool, {}));
    inputs = Join(std::move(inputs), BlockInputs(to, formal.subspan(1)));
    std::vector<Tensor> outputs = Inline(to, *graph, inputs);
    outputs[0] = Condition(to, outputs[0]);
    return outputs;
  }));
  // "As often as it wants": an absent count.
  const bool counted = !trips->is_number() || !trips->number().Is(static_cast<double>(INT64_MAX));
  const Tensor count = counted ? to.Value(*trips, DType::kInt64) : Tensor();
  return to.EmitCustom("Loop", Join({count, Condition(to, *condition)}, *carried), attributes, RecordedTypes(to, node));
}

// --- what is None on some paths ------------------------------------------------------

// prim::Optional(present, value): ONNX's optional, which is empty where the value is not present.
Lowered MakeOptional(Lowering& to, NodeId node) {
  const Arguments arguments(to, node);
  const auto present = arguments.One(0);
  auto value = arguments.One(1);
  if (!present || !value || !*value) return std::nullopt;
  const ValueId recorded = to.aten().operand(node, 1);
  Materialise(to, {&recorded, 1}, {&*value, 1});
  if (value->is_complex()) value = to.Wrap(value->id());  // pairs
  const Type element = value->type();
  return to.Choose(Condition(to, *present), [&] { return std::vector{to.Optional(*value)}; }, [&] {
    Type none = element;
    none.kind = element.is_tensor() ? TypeKind::kOptional : TypeKind::kOptionalSequence;
    none.contents.reset();
    none.strides.clear();
    onnx::AttributeList attributes;
    attributes.Add("type", to.context().Intern(element));
    return to.EmitCustom("Optional", {}, attributes, {&none, 1});
  });
}

// --- scan and map --------------------------------------------------------------------

// What a loop of no rounds gives: what it carries, and of the rest no items.
std::vector<Tensor> NoRounds(Lowering& to, std::vector<Tensor> carried, std::span<const Type> types) {
  for (size_t i = carried.size(); i < types.size(); ++i) {
    const Dims sizes(types[i].sizes.begin(), types[i].sizes.end());
    carried.push_back(to.Full(sizes, Scalar(int64_t{0}), types[i].dtype));
  }
  return carried;
}

// Loops over dimension 0 of `xs`; the first results of `graph` are carried, the
// others are stacked along dimension 0. onnxruntime's Scan refuses to go over nothing.
Lowered Stack(Lowering& to, NodeId node, BlockId graph, std::vector<Tensor> carried, std::vector<Tensor> xs,
              const std::vector<Tensor>& additional) {
  if (!RequireShape(to, graph, carried.size() + xs.size() + additional.size(), to.aten()[node].result_count))
    return std::nullopt;
  const std::span<const ValueId> formal = to.aten()[graph].inputs;
  Materialise(to, formal, carried);
  const std::vector<Type> types = RecordedTypes(to, node);
  const auto some_rounds = [&] {
    onnx::AttributeList attributes;
    attributes.Add("body", to.Body([&] {
      const std::vector<Tensor> inputs = BlockInputs(to, formal.first(carried.size() + xs.size()));
      return Inline(to, graph, Join(inputs, additional));
    }));
    attributes.Add("num_scan_inputs", static_cast<int64_t>(xs.size()));
    return to.EmitCustom("Scan", Join(carried, xs), attributes, types);
  };
  const bool shaped = std::ranges::all_of(types, [](const Type& type) { return type.is_tensor() && type.ranked; });
  if (!shaped || xs.empty() || !xs[0].ranked() || xs[0].rank() == 0) return some_rounds();
  const auto no_rounds = [&] { return NoRounds(to, carried, types); };
  const Tensor condition = to.Greater(to.Number(xs[0].size(0)), to.ConstantInt(0));
  if (const auto known = Known(to, condition)) return *known ? some_rounds() : no_rounds();
  return to.Choose(condition, some_rounds, no_rounds);
}

// scan(combine_fn, init, xs, additional_inputs): torch has turned `dim` and
// `reverse` into movedim and flip around it.
Lowered Scan(Lowering& to, NodeId node) {
  const Arguments arguments(to, node);
  const auto graph = arguments.Graph(0);
  auto init = arguments.List(1), xs = arguments.List(2), additional = arguments.List(3);
  if (!graph || !init || !xs || !additional) return std::nullopt;
  return Stack(to, node, *graph, std::move(*init), std::move(*xs), *additional);
}

// associative_scan(combine_fn, xs, additional_inputs): torch has turned `dim`
// and `reverse` into movedim and flip around it. The first elements are their
// own results: there combine_fn sees them twice, and what it says is not taken,
// as onnxruntime's Scan would not go over nothing if it began with the second.
Lowered AssociativeScan(Lowering& to, NodeId node) {
  const Arguments arguments(to, node);
  const auto graph = arguments.Graph(0);
  auto xs = arguments.List(1), additional = arguments.List(2);
  if (!graph || !xs || !additional) return std::nullopt;
  const size_t count = xs->size();
  if (!RequireShape(to, *graph, 2 * count + additional->size(), count)) return std::nullopt;
  const std::span formal = std::span(to.aten()[*graph].inputs);
  std::vector<Tensor> operands{to.ConstantOf(true, DType::kBool)};
  std::vector<Type> types{Type::OfTensor(DType::kBool, {})};
  for (const Tensor& x : *xs) {
    operands.push_back(to.GatherIndex(x, 0, to.Of(0)));
    types.push_back(operands.back().type());
  }
  for (const Tensor& x : *xs) types.push_back(x.type());
  for (Type& type : types) type.contents.reset();
  onnx::AttributeList attributes;
  attributes.Add("body", to.Body([&] {
    const Tensor is_first = to.AddBlockInput(types[0]);
    const std::vector<Tensor> inputs = BlockInputs(to, formal.first(2 * count));
    const std::vector<Tensor> combined = Inline(to, *graph, Join(inputs, *additional));
    std::vector<Tensor> outputs{to.ConstantOf(false, DType::kBool)};
    for (size_t i = 0; i < count; ++i) outputs.push_back(to.Where(is_first, inputs[count + i], combined[i]));
    // A value may be yielded once only, and not by a constant of the graph around.
    outputs[0] = to.Identity(outputs[0]);
    for (size_t i = 0; i < count; ++i) outputs.push_back(to.Identity(outputs[1 + i]));
    return outputs;
  }));
  attributes.Add("num_scan_inputs", static_cast<int64_t>(count));
  std::vector<Tensor> results = to.EmitCustom("Scan", Join(operands, *xs), attributes, types);
  results.erase(results.begin(), results.begin() + static_cast<ptrdiff_t>(1 + count));
  return results;
}

// map_impl(f, xs, pos_args)
Lowered Map(Lowering& to, NodeId node) {
  const Arguments arguments(to, node);
  const auto graph = arguments.Graph(0);
  auto xs = arguments.List(1), additional = arguments.List(2);
  if (!graph || !xs || !additional) return std::nullopt;
  return Stack(to, node, *graph, {}, std::move(*xs), *additional);
}

constexpr OpRow kControlFlowRows[] = {
    RawOp("higher_order::associative_scan", &AssociativeScan),
    RawOp("higher_order::cond", &Cond),
    RawOp("higher_order::map_impl", &Map),
    RawOp("higher_order::scan", &Scan),
    RawOp("higher_order::while_loop", &WhileLoop),
    RawOp("prim::Loop", &ScriptLoop),
    RawOp("prim::Optional", &MakeOptional),
};

}  // namespace

std::span<const OpRow> ControlFlow() { return kControlFlowRows; }

}  // namespace flambeau::lower
