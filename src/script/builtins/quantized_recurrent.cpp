// Recurrent layers over packed weights. Each step rounds the hidden state on a
// grid of its own, so that they are loops; the loops are written in TorchScript.
#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/builtins.h"
#include "script/quantized.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// torch projects the whole sequence of inputs at once, and the hidden state at each step. Of packed sequences a step has
// the first `sizes[i]` sequences, and its rows begin at `begins[i]`; the hidden states of the others stay.
constexpr std::string_view kCode = R"py(def project(x: Tensor, weights: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tensor:
  if half:
    result = ops.quantized.linear_dynamic_fp16(x, weights)
  else:
    result = ops.quantized.linear_dynamic(x, weights, reduce_range)
  return result
def lstm_step(gates: Tensor, h: Tensor, c: Tensor, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tuple[Tensor, Tensor]:
  i, f, g, o, = torch.chunk(torch.add(gates, __torch__.project(h, hh, half, reduce_range)), 4, 1)
  c1 = torch.add(torch.mul(torch.sigmoid(f), c), torch.mul(torch.sigmoid(i), torch.tanh(g)))
  return (torch.mul(torch.sigmoid(o), torch.tanh(c1)), c1)
def lstm_cell(x: Tensor, h: Tensor, c: Tensor, ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tuple[Tensor, Tensor]:
  return __torch__.lstm_step(__torch__.project(x, ih, half, reduce_range), h, c, hh, half, reduce_range)
def lstm_layer(x: Tensor, h: Tensor, c: Tensor, ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tuple[Tensor, Tensor, Tensor]:
  gates = __torch__.project(x, ih, half, reduce_range)
  rows = annotate(List[Tensor], [])
  h0 = h
  c0 = c
  for i in range(torch.size(x, 0)):
    h1, c1, = __torch__.lstm_step(torch.select(gates, 0, i), h0, c0, hh, half, reduce_range)
    _0 = torch.append(rows, h1)
    h0 = h1
    c0 = c1
  return (torch.stack(rows), h0, c0)
def lstm_packed(x: Tensor, sizes: Tensor, begins: Tensor, backward: bool, h: Tensor, c: Tensor, ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tuple[Tensor, Tensor, Tensor]:
  gates = __torch__.project(x, ih, half, reduce_range)
  rows = annotate(List[Tensor], [])
  h0 = h
  c0 = c
  for i in range(torch.size(sizes, 0)):
    n = int(torch.select(sizes, 0, i))
    step = torch.narrow(gates, 0, int(torch.select(begins, 0, i)), n)
    h1, c1, = __torch__.lstm_step(step, torch.slice(h0, 0, 0, n), torch.slice(c0, 0, 0, n), hh, half, reduce_range)
    if backward:
      _0 = torch.insert(rows, 0, h1)
    else:
      _1 = torch.append(rows, h1)
    h0 = torch.cat([h1, torch.slice(h0, 0, n)])
    c0 = torch.cat([c1, torch.slice(c0, 0, n)])
  return (torch.cat(rows), h0, c0)
def gru_step(gates: Tensor, h: Tensor, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tensor:
  r, z, n, = torch.chunk(gates, 3, 1)
  hr, hz, hn, = torch.chunk(__torch__.project(h, hh, half, reduce_range), 3, 1)
  reset = torch.sigmoid(torch.add(hr, r))
  new = torch.tanh(torch.add(n, torch.mul(reset, hn)))
  return torch.add(torch.mul(torch.sub(h, new), torch.sigmoid(torch.add(hz, z))), new)
def gru_cell(x: Tensor, h: Tensor, ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tensor:
  return __torch__.gru_step(__torch__.project(x, ih, half, reduce_range), h, hh, half, reduce_range)
def gru_layer(x: Tensor, h: Tensor, ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tuple[Tensor, Tensor]:
  gates = __torch__.project(x, ih, half, reduce_range)
  rows = annotate(List[Tensor], [])
  h0 = h
  for i in range(torch.size(x, 0)):
    h1 = __torch__.gru_step(torch.select(gates, 0, i), h0, hh, half, reduce_range)
    _0 = torch.append(rows, h1)
    h0 = h1
  return (torch.stack(rows), h0)
def gru_packed(x: Tensor, sizes: Tensor, begins: Tensor, backward: bool, h: Tensor, ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tuple[Tensor, Tensor]:
  gates = __torch__.project(x, ih, half, reduce_range)
  rows = annotate(List[Tensor], [])
  h0 = h
  for i in range(torch.size(sizes, 0)):
    n = int(torch.select(sizes, 0, i))
    step = torch.narrow(gates, 0, int(torch.select(begins, 0, i)), n)
    h1 = __torch__.gru_step(step, torch.slice(h0, 0, 0, n), hh, half, reduce_range)
    if backward:
      _0 = torch.insert(rows, 0, h1)
    else:
      _1 = torch.append(rows, h1)
    h0 = torch.cat([h1, torch.slice(h0, 0, n)])
  return (torch.cat(rows), h0)
def rnn_tanh_cell(x: Tensor, h: Tensor, ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tensor:
  return torch.tanh(torch.add(__torch__.project(x, ih, half, reduce_range), __torch__.project(h, hh, half, reduce_range)))
def rnn_relu_cell(x: Tensor, h: Tensor, ih: __torch__.torch.classes.quantized.LinearPackedParamsBase, hh: __torch__.torch.classes.quantized.LinearPackedParamsBase, half: bool, reduce_range: bool) -> Tensor:
  return torch.relu(torch.add(__torch__.project(x, ih, half, reduce_range), __torch__.project(h, hh, half, reduce_range)))
)py";

// What make_quantized_cell_params_* packs: weights of the input and of the hidden state.
struct Recurrence {
  Val ih, hh;
  bool half = false, reduce_range = false;
};

Result<Recurrence> RecurrenceOf(Evaluator& evaluator, const Val& object) {
  const auto* value = object.As<ObjectVal>();
  if (value == nullptr) return evaluator.Unsupported("uses recurrent weights packed in a form that is not known");
  std::string kind;
  const Vals *packed = nullptr, *integers = nullptr;
  for (const auto& [name, attribute] : evaluator.heap()[value->cell].attributes) {
    if (name == "kind" && attribute.Is<std::string>()) kind = *attribute.As<std::string>();
    if (name == "packed") packed = ElementsOf(attribute, evaluator.heap());
    if (name == "integers") integers = ElementsOf(attribute, evaluator.heap());
  }
  const bool half = kind == "quantized_fp16";
  if ((!half && kind != "quantized_dynamic") || packed == nullptr || packed->size() != 2)
    return evaluator.Unsupported(fmt::format("uses recurrent weights of the kind '{}'", kind), "quantize the model again with a newer torch");
  const bool reduce_range = integers != nullptr && !integers->empty() && integers->front().AsInt().value_or(0) != 0;
  return Recurrence{(*packed)[0], (*packed)[1], half, reduce_range};
}

// Before version 3 the list holds the packed weights themselves, two and two.
std::vector<Recurrence> OldRecurrences(Evaluator& evaluator, const Vals& params) {
  std::vector<Recurrence> recurrences;
  for (size_t i = 0; i + 1 < params.size(); i += 2) {
    const auto* object = params[i].As<ObjectVal>();
    if (object == nullptr) return {};
    const NamedVal* weight = evaluator.heap()[object->cell].attributes.Find("weight");
    if (weight == nullptr) return {};
    recurrences.push_back({params[i], params[i + 1], !weight->second.Is<QuantizedVal>(), false});
  }
  return recurrences;
}

Result<std::vector<Recurrence>> Recurrences(Evaluator& evaluator, const Vals& params) {
  std::vector<Recurrence> recurrences = OldRecurrences(evaluator, params);
  if (!recurrences.empty()) return recurrences;
  for (const Val& each : params) {
    FLAMBEAU_TRY(Recurrence recurrence, RecurrenceOf(evaluator, each));
    recurrences.push_back(std::move(recurrence));
  }
  return recurrences;
}

// (packed, packed, bias, bias, reduce_range)
template <bool kHalf>
Result<Vals> MakeCell(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() < 2) return Malformed(evaluator);
  Cell cell;
  const bool reduce_range = arguments.size() > 4 && arguments[4].AsInt().value_or(0) != 0;
  cell.attributes.Add({"kind", std::string(kHalf ? "quantized_fp16" : "quantized_dynamic")});
  cell.attributes.Add({"integers", Evaluator::Tuple({int64_t{reduce_range}})});
  cell.attributes.Add({"packed", Evaluator::Tuple({arguments[0], arguments[1]})});
  return Vals{ObjectVal{evaluator.heap().Add(std::move(cell))}};
}

// What a layer runs over: (time, batch, features), or the rows of a packed sequence.
struct Sequence {
  Val x;
  std::optional<Val> batch_sizes;
};

struct Cells {
  std::string_view over_steps, over_packed;  // functions of kCode
};

// Torch's layers of one direction.
struct Layer {
  Val outputs;
  Vals states;
};
Result<Layer> RunLayer(Evaluator& evaluator, const Cells& cells, const Sequence& input, const Vals& states, const Recurrence& cell, bool backward) {
  Emitter& emit = evaluator.emit();
  const Val time = evaluator.List({int64_t{0}});
  const auto reversed = [&](const Val& x) -> Result<Val> { return backward ? emit.Call1("aten::flip", {x, time}) : Result<Val>(x); };
  Vals operands;
  if (input.batch_sizes) {
    const Val& sizes = *input.batch_sizes;
    FLAMBEAU_TRY(const Val ends, emit.Call1("aten::cumsum", {sizes, int64_t{0}}));
    FLAMBEAU_TRY(const Val begins, emit.Call1("aten::sub.Tensor", {ends, sizes}));
    FLAMBEAU_TRY(const Val of_steps, reversed(sizes));
    FLAMBEAU_TRY(const Val begins_of_steps, reversed(begins));
    operands = {input.x, of_steps, begins_of_steps, backward};
  } else {
    FLAMBEAU_TRY(const Val x, reversed(input.x));
    operands = {x};
  }
  operands.insert(operands.end(), states.begin(), states.end());
  operands.insert(operands.end(), {cell.ih, cell.hh, cell.half, cell.reduce_range});
  FLAMBEAU_TRY(const Vals results, evaluator.CallLibrary(kCode, input.batch_sizes ? cells.over_packed : cells.over_steps, operands));
  const Vals* parts = results.empty() ? nullptr : ElementsOf(results[0], evaluator.heap());
  if (parts == nullptr || parts->size() != 1 + states.size()) return Malformed(evaluator);
  Layer layer = {(*parts)[0], Vals(parts->begin() + 1, parts->end())};
  if (!input.batch_sizes) {
    FLAMBEAU_TRY(layer.outputs, reversed(layer.outputs));
  }
  return layer;
}

// (x, state or states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, …), or
// (data, batch_sizes, state or states, params, has_biases, num_layers, dropout, train, bidirectional, …)
struct LayersCall {
  Sequence input;
  Val states;
  Vals params;
  int64_t layers;
  size_t directions;
  bool batch_first;
};
std::optional<LayersCall> LayersCallOf(Evaluator& evaluator, Arguments arguments) {
  if (arguments.size() < 9) return std::nullopt;
  const bool packed = arguments[3].Is<ListVal>();
  const auto rest = arguments.subspan(packed ? 2 : 1);  // from the states on
  const auto* params = rest[1].As<ListVal>();
  const auto layers = rest[3].AsInt();
  if (params == nullptr || !layers || !arguments[0].Is<TensorVal>()) return std::nullopt;
  LayersCall call = {{arguments[0], std::nullopt}, rest[0], evaluator.heap()[params->cell].elements, *layers, 1, false};
  if (packed) call.input.batch_sizes = arguments[1];
  call.directions += rest[6].AsInt().value_or(0) != 0 ? 1 : 0;
  call.batch_first = !packed && rest[7].AsInt().value_or(0) != 0;
  return call;
}

Result<Vals> RunLayers(Evaluator& evaluator, const Cells& cells, LayersCall call, const Vals& initial) {
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const std::vector<Recurrence> params, Recurrences(evaluator, call.params));
  if (params.size() % call.directions != 0 || static_cast<int64_t>(params.size() / call.directions) != call.layers)
    return evaluator.sink().Error(DiagnosticKind::kBadProgram, fmt::format("gives {} layers of weights for {}", params.size(), call.layers));
  Val& x = call.input.x;
  auto swap = [&]() -> Status {
    if (!call.batch_first) return {};
    FLAMBEAU_TRY(x, emit.Call1("aten::transpose.int", {x, int64_t{0}, int64_t{1}}));
    return {};
  };
  FLAMBEAU_CHECK_OK(swap());
  std::vector<Vals> finals(initial.size());
  for (size_t at = 0; at < params.size();) {
    Vals outputs;
    for (size_t direction = 0; direction < call.directions; ++direction, ++at) {
      Vals states;
      for (const Val& state : initial) {
        FLAMBEAU_TRY(Val own, emit.Call1("aten::select.int", {state, int64_t{0}, static_cast<int64_t>(at)}));
        states.push_back(std::move(own));
      }
      FLAMBEAU_TRY(Layer layer, RunLayer(evaluator, cells, call.input, states, params[at], direction == 1));
      outputs.push_back(std::move(layer.outputs));
      for (size_t i = 0; i < finals.size(); ++i) finals[i].push_back(layer.states[i]);
    }
    x = outputs[0];
    if (call.directions == 2) {
      FLAMBEAU_TRY(x, emit.Call1("aten::cat", {evaluator.List(std::move(outputs)), int64_t{-1}}));
    }
  }
  FLAMBEAU_CHECK_OK(swap());
  Vals results = {x};
  for (Vals& states : finals) {
    FLAMBEAU_TRY(Val stacked, emit.Call1("aten::stack", {evaluator.List(std::move(states)), int64_t{0}}));
    results.push_back(std::move(stacked));
  }
  return results;
}

Result<Vals> Lstm(Evaluator& evaluator, const Node&, Arguments arguments) {
  std::optional<LayersCall> call = LayersCallOf(evaluator, arguments);
  const Vals* states = call ? ElementsOf(call->states, evaluator.heap()) : nullptr;
  if (states == nullptr || states->size() != 2) return Malformed(evaluator);
  const Vals initial = *states;
  return RunLayers(evaluator, {"lstm_layer", "lstm_packed"}, *std::move(call), initial);
}
Result<Vals> Gru(Evaluator& evaluator, const Node&, Arguments arguments) {
  std::optional<LayersCall> call = LayersCallOf(evaluator, arguments);
  if (!call) return Malformed(evaluator);
  const Vals initial = {call->states};
  return RunLayers(evaluator, {"gru_layer", "gru_packed"}, *std::move(call), initial);
}

// (x, state, packed, packed, bias, bias)
constexpr bool kReduceRange = true;  // as torch has it in single cells
Result<Vals> LstmCell(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Vals* states = arguments.size() > 3 ? ElementsOf(arguments[1], evaluator.heap()) : nullptr;
  if (states == nullptr || states->size() != 2) return Malformed(evaluator);
  const Val operands[] = {arguments[0], (*states)[0], (*states)[1], arguments[2], arguments[3], false, kReduceRange};
  FLAMBEAU_TRY(const Vals results, evaluator.CallLibrary(kCode, "lstm_cell", operands));
  const Vals* parts = ElementsOf(results[0], evaluator.heap());
  return parts != nullptr ? *parts : Vals{};
}
Result<Vals> CellOfOneState(Evaluator& evaluator, std::string_view function, Arguments arguments) {
  if (arguments.size() < 4) return Malformed(evaluator);
  const Val operands[] = {arguments[0], arguments[1], arguments[2], arguments[3], false, kReduceRange};
  return evaluator.CallLibrary(kCode, function, operands);
}
Result<Vals> GruCell(Evaluator& evaluator, const Node&, Arguments arguments) {
  return CellOfOneState(evaluator, "gru_cell", arguments);
}
Result<Vals> TanhCell(Evaluator& evaluator, const Node&, Arguments arguments) {
  return CellOfOneState(evaluator, "rnn_tanh_cell", arguments);
}
Result<Vals> ReluCell(Evaluator& evaluator, const Node&, Arguments arguments) {
  return CellOfOneState(evaluator, "rnn_relu_cell", arguments);
}

constexpr BuiltinRow kRows[] = {
    {"aten::quantized_gru", &OfKnownFlags<&Gru>},
    {"aten::quantized_lstm", &OfKnownFlags<&Lstm>},
    {"quantized::make_quantized_cell_params_dynamic", &OfKnownFlags<&MakeCell<false>>},
    {"quantized::make_quantized_cell_params_fp16", &MakeCell<true>},
    {"quantized::quantized_gru_cell_dynamic", &GruCell},
    {"quantized::quantized_lstm_cell_dynamic", &LstmCell},
    {"quantized::quantized_rnn_relu_cell_dynamic", &ReluCell},
    {"quantized::quantized_rnn_tanh_cell_dynamic", &TanhCell},
};

}  // namespace

std::span<const BuiltinRow> QuantizedRecurrentBuiltins() { return kRows; }

}  // namespace flambeau::script
