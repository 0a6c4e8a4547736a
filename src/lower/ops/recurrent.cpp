// Recurrent networks and their cells.
#include <fmt/format.h>

#include <algorithm>

#include "lower/op.h"
#include "lower/ops/activation.h"
#include "lower/ops/linalg/linear_algebra.h"
#include "lower/ops/packed.h"
#include "lower/ops/views.h"

namespace flambeau::lower {
namespace {

using OptionalTensor = std::optional<Tensor>;

// --- cells ------------------------------------------------------------------------

Tensor Biased(Lowering& to, Tensor gates, OptionalTensor bias) { return bias ? to.Add(gates, *bias) : gates; }

struct LstmGates {
  Tensor input, forget, candidate, output;
};

LstmGates GatesOf(Lowering& to, Tensor gates) {
  const Dim hidden{to.exprs().FloorDiv(gates.size(-1).expr, to.exprs().Constant(4))};
  const auto parts = to.SplitSizes(gates, gates.rank() - 1, Dims(4, hidden));
  return {to.Sigmoid(parts[0]), to.Sigmoid(parts[1]), to.Tanh(parts[2]), to.Sigmoid(parts[3])};
}

std::tuple<Tensor, Tensor> LstmStep(Lowering& to, const LstmGates& gates, Tensor cell) {
  const Tensor next = to.Add(to.Mul(gates.forget, cell), to.Mul(gates.input, gates.candidate));
  return {to.Mul(gates.output, to.Tanh(next)), next};
}

std::tuple<Tensor, Tensor> LstmCell(Lowering& to, Tensor input, TensorList hx, Tensor w_ih, Tensor w_hh,
                                    OptionalTensor b_ih, OptionalTensor b_hh) {
  if (hx.size() != 2) throw onnx::BadOperand("takes a hidden state and a cell state");
  return LstmStep(to, GatesOf(to, to.Add(Linear(to, input, w_ih, b_ih), Linear(to, hx[0], w_hh, b_hh))), hx[1]);
}

struct GruGates {
  Tensor reset, update, candidate, of_state;  // the last: the state's part of the candidate
};

GruGates GatesOf(Lowering& to, Tensor of_input, Tensor of_state) {
  const Dim hidden{to.exprs().FloorDiv(of_state.size(-1).expr, to.exprs().Constant(3))};
  const auto x = to.SplitSizes(of_input, of_input.rank() - 1, Dims(3, hidden));
  const auto h = to.SplitSizes(of_state, of_state.rank() - 1, Dims(3, hidden));
  const Tensor reset = to.Sigmoid(to.Add(x[0], h[0])), update = to.Sigmoid(to.Add(x[1], h[1]));
  return {reset, update, to.Tanh(to.Add(x[2], to.Mul(reset, h[2]))), h[2]};
}

Tensor GruStep(Lowering& to, const GruGates& gates, Tensor hx) {
  return to.Add(gates.candidate, to.Mul(gates.update, to.Sub(hx, gates.candidate)));
}

Tensor GruCell(Lowering& to, Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, OptionalTensor b_ih,
               OptionalTensor b_hh) {
  return GruStep(to, GatesOf(to, Linear(to, input, w_ih, b_ih), Linear(to, hx, w_hh, b_hh)), hx);
}

// What a GPU computes of a cell whose products are there. The last result is for a backward pass.
std::tuple<Tensor, Tensor, Tensor> FusedLstmCell(Lowering& to, Tensor input_gates, Tensor hidden_gates, Tensor cx,
                                                 OptionalTensor input_bias, OptionalTensor hidden_bias) {
  const LstmGates gates = GatesOf(to, to.Add(Biased(to, input_gates, input_bias), Biased(to, hidden_gates, hidden_bias)));
  const auto [next, cell] = LstmStep(to, gates, cx);
  return {next, cell, to.Concat({gates.input, gates.forget, gates.candidate, gates.output}, {.axis = 1})};
}

std::tuple<Tensor, Tensor> FusedGruCell(Lowering& to, Tensor input_gates, Tensor hidden_gates, Tensor hx,
                                        OptionalTensor input_bias, OptionalTensor hidden_bias) {
  const GruGates gates = GatesOf(to, Biased(to, input_gates, input_bias), Biased(to, hidden_gates, hidden_bias));
  return {GruStep(to, gates, hx), to.Concat({gates.reset, gates.update, gates.candidate, hx, gates.of_state}, {.axis = 1})};
}

template <bool kRelu>
Tensor RnnCell(Lowering& to, Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, OptionalTensor b_ih,
               OptionalTensor b_hh) {
  const Tensor sum = to.Add(Linear(to, input, w_ih, b_ih), Linear(to, hx, w_hh, b_hh));
  return kRelu ? to.Relu(sum) : to.Tanh(sum);
}

// --- layers -----------------------------------------------------------------------

enum class Kind { kLstm, kGru, kTanh, kRelu };

// ONNX's gates in terms of PyTorch's: i f c o -> i o f c, r z n -> z r n.
Ints GateOrder(Kind kind) {
  switch (kind) {
    case Kind::kLstm: return {0, 3, 1, 2};
    case Kind::kGru: return {1, 0, 2};
    default: return {0};
  }
}

// (gates · hidden, …) with the gates in ONNX's order, behind an axis of directions.
Tensor Reordered(Lowering& to, Tensor weight, const Ints& order) {
  if (order.size() > 1) {
    const auto count = static_cast<int64_t>(order.size());
    const Dim hidden{to.exprs().FloorDiv(weight.size(0).expr, to.exprs().Constant(count))};
    const auto parts = to.SplitSizes(weight, 0, Dims(order.size(), hidden));
    std::vector<Tensor> reordered;
    for (int64_t gate : order) reordered.push_back(parts[static_cast<size_t>(gate)]);
    weight = to.Concat(reordered, {.axis = 0});
  }
  return to.UnsqueezeAt(weight, {0});
}

struct DirectionWeights {
  Tensor w_ih, w_hh;
  OptionalTensor b_ih, b_hh, w_hr;
};

struct Network {
  Kind kind;
  bool has_biases;
  int64_t num_layers;
  double dropout;  // between layers
  bool bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
};

// The parameters of a layer's direction: PyTorch lists them flat.
std::optional<DirectionWeights> WeightsOf(Lowering& to, const Network& network, const TensorList& params,
                                          int64_t index) {
  const auto total = static_cast<size_t>(network.num_layers) * static_cast<size_t>(network.directions());
  const size_t stride = params.size() / total, with_biases = network.has_biases ? 4 : 2;
  if (params.size() % total != 0 || stride < with_biases || stride > with_biases + 1) {
    to.Report(DiagnosticKind::kUnsupportedForm, "'params' has not the number of weights that the layers need");
    return std::nullopt;
  }
  const size_t at = static_cast<size_t>(index) * stride;
  DirectionWeights weights{params[at], params[at + 1], {}, {}, {}};
  if (network.has_biases) weights.b_ih = params[at + 2], weights.b_hh = params[at + 3];
  if (stride > with_biases) weights.w_hr = params[at + stride - 1];
  return weights;
}

// What a layer gives: (time, batch, directions · hidden), and the last states,
// each (directions, batch, hidden).
struct LayerResult {
  Tensor output, h, c;
};

Tensor JoinDirections(Lowering& to, const std::vector<Tensor>& parts) {
  return parts.size() == 1 ? parts[0] : to.Concat(parts, {.axis = 0});
}

// `packing`, if any, says how long each sequence is.
LayerResult FusedLayer(Lowering& to, const Network& network, Tensor x, const std::vector<DirectionWeights>& weights,
                       Tensor h, Tensor c, const Packing* packing) {
  const Tensor lengths = packing ? to.CastTo(packing->lengths, DType::kInt32) : Tensor();
  const Ints order = GateOrder(network.kind);
  std::vector<Tensor> w, r, b;
  for (const DirectionWeights& one : weights) {
    w.push_back(Reordered(to, one.w_ih, order));
    r.push_back(Reordered(to, one.w_hh, order));
    if (one.b_ih)
      b.push_back(to.Concat({Reordered(to, *one.b_ih, order), Reordered(to, *one.b_hh, order)}, {.axis = 1}));
  }
  const Tensor input_weight = JoinDirections(to, w), state_weight = JoinDirections(to, r);
  const Tensor bias = b.empty() ? Tensor() : JoinDirections(to, b);
  const std::string direction = network.bidirectional ? "bidirectional" : "forward";
  const Dim hidden = weights[0].w_hh.size(1);
  const auto hidden_size = to.AsConstant(hidden);
  LayerResult result;
  Tensor y;
  if (network.kind == Kind::kLstm) {
    const auto outputs = to.LSTM(x, input_weight, state_weight, bias, lengths, h, c, {},
                                 {.direction = direction, .hidden_size = hidden_size});
    y = outputs[0], result.h = outputs[1], result.c = outputs[2];
  } else if (network.kind == Kind::kGru) {
    const auto outputs = to.GRU(x, input_weight, state_weight, bias, lengths, h,
                                {.direction = direction, .hidden_size = hidden_size, .linear_before_reset = 1});
    y = outputs[0], result.h = outputs[1];
  } else {
    const Strings activations(weights.size(), network.kind == Kind::kTanh ? "Tanh" : "Relu");
    const auto outputs = to.RNN(x, input_weight, state_weight, bias, lengths, h,
                                {.activations = activations, .direction = direction, .hidden_size = hidden_size});
    y = outputs[0], result.h = outputs[1];
  }
  // (time, directions, batch, hidden)
  if (network.bidirectional) {
    result.output =
        to.ReshapeTo(to.Transpose(y, {.perm = {0, 2, 1, 3}}), Dims{x.size(0), x.size(1), to.Times(to.Of(2), hidden)});
  } else {
    result.output = to.SqueezeAt(y, {1});
  }
  return result;
}

// One step: the next hidden state and, of an LSTM, cell.
std::vector<Tensor> Step(Lowering& to, Kind kind, const DirectionWeights& weights, Tensor gates, Tensor h, Tensor c) {
  const Tensor of_state = Linear(to, h, weights.w_hh, weights.b_hh);
  if (kind == Kind::kGru) return {GruStep(to, GatesOf(to, gates, of_state), h)};
  const Tensor sum = to.Add(gates, of_state);
  if (kind == Kind::kTanh) return {to.Tanh(sum)};
  if (kind == Kind::kRelu) return {to.Relu(sum)};
  const auto [next, cell] = LstmStep(to, GatesOf(to, sum), c);
  return {weights.w_hr ? Linear(to, next, *weights.w_hr, std::nullopt) : next, cell};
}

// What ONNX's operators lack, projections of an LSTM's state, and their kernels
// in onnxruntime, float64: a Scan steps through time. Where a sequence has no
// step, its states stay.
LayerResult SteppedLayer(Lowering& to, const Network& network, Tensor x, const std::vector<DirectionWeights>& weights,
                         Tensor h, Tensor c, const Packing* packing) {
  const Tensor inside = packing ? to.UnsqueezeAt(packing->inside, {2}) : Tensor();
  std::vector<Tensor> outputs, last_h, last_c;
  const Dims one_each(weights.size(), to.Of(1));
  const auto h_parts = to.SplitSizes(h, 0, one_each);
  const auto c_parts = c ? to.SplitSizes(c, 0, one_each) : std::vector<Tensor>(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const Tensor gates = Linear(to, x, weights[i].w_ih, weights[i].b_ih);
    std::vector<Tensor> operands{to.SqueezeAt(h_parts[i], {0})};
    if (c) operands.push_back(to.SqueezeAt(c_parts[i], {0}));
    operands.push_back(gates);
    if (inside) operands.push_back(inside);
    const BlockId body = to.Body([&]() -> std::vector<Tensor> {
      const Tensor state = to.AddBlockInput(operands[0].type());
      const Tensor cell = c ? to.AddBlockInput(operands[1].type()) : Tensor();
      Type step = gates.type();
      step.sizes.erase(step.sizes.begin());
      const Tensor now = to.AddBlockInput(step);
      std::vector<Tensor> results = Step(to, network.kind, weights[i], now, state, cell);
      if (inside) {
        Type flags = inside.type();
        flags.sizes.erase(flags.sizes.begin());
        const Tensor lasts = to.AddBlockInput(flags);
        results[0] = to.Where(lasts, results[0], state);
        if (c) results[1] = to.Where(lasts, results[1], cell);
      }
      results.push_back(to.Identity(results[0]));
      return results;
    });
    onnx::AttributeList attributes;
    attributes.Add("body", body);
    const int64_t inputs = inside ? 2 : 1;
    attributes.Add("num_scan_inputs", inputs);
    if (i == 1) {
      attributes.Add("scan_input_directions", Ints(static_cast<size_t>(inputs), 1));
      attributes.Add("scan_output_directions", Ints{1});
    }
    std::vector<Type> types{operands[0].type()};
    if (c) types.push_back(operands[1].type());
    types.push_back(operands[0].type());
    types.back().sizes.insert(types.back().sizes.begin(), x.size(0).expr);
    const auto results = to.EmitCustom("Scan", operands, attributes, types);
    last_h.push_back(to.UnsqueezeAt(results[0], {0}));
    if (c) last_c.push_back(to.UnsqueezeAt(results[1], {0}));
    outputs.push_back(results.back());
  }
  const Tensor output = outputs.size() == 1 ? outputs[0] : to.Concat(outputs, {.axis = 2});
  return {output, JoinDirections(to, last_h), c ? JoinDirections(to, last_c) : Tensor()};
}

// A weight, or a state, for inputs of that dtype. PyTorch raises for another one, but under autocast, of which a trace does not
// tell: there products of float32 are of lower precision, too.
Tensor Alike(Lowering& to, const Tensor& input, const Tensor& weight) {
  const DType given = input.dtype(), own = weight ? weight.dtype() : given;
  if (own == given) return weight;
  const auto is_lower = [](DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; };
  for (const DType dtype : {given, own})
    if (!is_lower(dtype) && dtype != DType::kFloat32)
      throw onnx::BadOperand(fmt::format("takes inputs and weights of one dtype, and is given {} and {}", Info(given).torch_name, Info(own).torch_name));
  return is_lower(given) ? to.CastTo(weight, given) : weight;
}

LayerResult RunLayers(Lowering& to, const Network& network, Tensor input, Tensor h, Tensor c, TensorList params, bool batch_first,
                      const Packing* packing = nullptr) {
  for (Tensor& weight : params) weight = Alike(to, input, weight);
  h = Alike(to, input, h);
  c = Alike(to, input, c);
  if (network.num_layers < 1 || static_cast<size_t>(network.num_layers) > params.size())
    throw onnx::BadOperand("has not the number of layers for which there are weights");
  if (input.rank() != 3) throw onnx::BadOperand(fmt::format("takes sequences in three dimensions, and is given {}", input.rank()));
  Tensor x = batch_first ? to.Transpose(input, {.perm = {1, 0, 2}}) : input;
  const Dims per_layer(static_cast<size_t>(network.num_layers), to.Of(network.directions()));
  const auto h_layers = to.SplitSizes(h, 0, per_layer);
  const auto c_layers = c ? to.SplitSizes(c, 0, per_layer) : std::vector<Tensor>(per_layer.size());
  std::vector<Tensor> last_h, last_c;
  for (int64_t layer = 0; layer < network.num_layers; ++layer) {
    std::vector<DirectionWeights> weights;
    for (int64_t direction = 0; direction < network.directions(); ++direction) {
      const auto found = WeightsOf(to, network, params, layer * network.directions() + direction);
      if (!found) return {to.Poison(input.type()), to.Poison(h.type()), c ? to.Poison(c.type()) : Tensor()};
      weights.push_back(*found);
    }
    const auto at = static_cast<size_t>(layer);
    const bool stepped = weights[0].w_hr || x.dtype() == DType::kFloat64;
    const LayerResult result = stepped ? SteppedLayer(to, network, x, weights, h_layers[at], c_layers[at], packing)
                                       : FusedLayer(to, network, x, weights, h_layers[at], c_layers[at], packing);
    last_h.push_back(result.h);
    last_c.push_back(result.c);
    x = result.output;
    if (layer + 1 < network.num_layers) x = Dropout(to, x, network.dropout, network.dropout > 0);
  }
  return {batch_first ? to.Transpose(x, {.perm = {1, 0, 2}}) : x, JoinDirections(to, last_h),
          c ? JoinDirections(to, last_c) : Tensor()};
}

constexpr Restriction kStates = {"hidden states other than (h, c)",
                                 "torch.ops.aten.lstm.input(x, [h], params, True, 1, 0.0, False, False, False)",
                                 "PyTorch refuses them"};

std::tuple<Tensor, Tensor, Tensor> Lstm(Lowering& to, Tensor input, TensorList hx, TensorList params, bool has_biases,
                                        int64_t num_layers, double dropout, bool train, bool bidirectional,
                                        bool batch_first) {
  if (hx.size() != 2) return to.Unsupported(kStates);
  const Network network{Kind::kLstm, has_biases, num_layers, train ? dropout : 0, bidirectional};
  const LayerResult result = RunLayers(to, network, input, hx[0], hx[1], params, batch_first);
  return {result.output, result.h, result.c};
}

template <Kind kKind>
std::tuple<Tensor, Tensor> Recurrent(Lowering& to, Tensor input, Tensor hx, TensorList params, bool has_biases,
                                     int64_t num_layers, double dropout, bool train, bool bidirectional,
                                     bool batch_first) {
  const Network network{kKind, has_biases, num_layers, train ? dropout : 0, bidirectional};
  const LayerResult result = RunLayers(to, network, input, hx, {}, params, batch_first);
  return {result.output, result.h};
}

constexpr Restriction kMkldnnForm = {"layers other than one LSTM layer in one direction over unpacked sequences",
                                     "torch.ops.aten.mkldnn_rnn_layer(x, w0, w1, w2, w3, h, c, False, [], 3, 3, 1, True, False, False, False)"};

// What oneDNN makes of one direction of an LSTM layer; the last result is its workspace.
std::tuple<Tensor, Tensor, Tensor, Tensor> MkldnnLayer(Lowering& to, Tensor input, Tensor w_ih, Tensor w_hh, Tensor b_ih,
                                                       Tensor b_hh, Tensor h, Tensor c, bool reverse, Ints batch_sizes,
                                                       int64_t mode, int64_t, int64_t num_layers, bool has_biases,
                                                       bool bidirectional, Unused, Unused) {
  constexpr int64_t kLstmMode = 2;
  if (mode != kLstmMode || num_layers != 1 || bidirectional || !batch_sizes.empty()) return to.Unsupported(kMkldnnForm);
  const Network network{Kind::kLstm, has_biases, num_layers, 0, false};
  TensorList params = {w_ih, w_hh};
  if (has_biases) params = {w_ih, w_hh, b_ih, b_hh};
  const LayerResult result = RunLayers(to, network, reverse ? Flip(to, input, {0}) : input, h, c, params, false);
  return {reverse ? Flip(to, result.output, {0}) : result.output, result.h, result.c, to.CastTo(to.ConstantInts({}), DType::kUint8)};
}

// Packed data goes through the layers padded.
LayerResult RunPacked(Lowering& to, const Network& network, Tensor data, Tensor batch_sizes, Tensor h, Tensor c,
                      const TensorList& params) {
  const Packing packing = PackingOf(to, batch_sizes, to.Number(h.size(1)));
  LayerResult result = RunLayers(to, network, Padded(to, data, packing), h, c, params, false, &packing);
  result.output = Packed(to, result.output, packing.inside);
  return result;
}

std::tuple<Tensor, Tensor, Tensor> LstmData(Lowering& to, Tensor data, Tensor batch_sizes, TensorList hx,
                                            TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                            bool train, bool bidirectional) {
  if (hx.size() != 2) return to.Unsupported(kStates);
  const Network network{Kind::kLstm, has_biases, num_layers, train ? dropout : 0, bidirectional};
  const LayerResult result = RunPacked(to, network, data, batch_sizes, hx[0], hx[1], params);
  return {result.output, result.h, result.c};
}

template <Kind kKind>
std::tuple<Tensor, Tensor> RecurrentData(Lowering& to, Tensor data, Tensor batch_sizes, Tensor hx, TensorList params,
                                         bool has_biases, int64_t num_layers, double dropout, bool train,
                                         bool bidirectional) {
  const Network network{kKind, has_biases, num_layers, train ? dropout : 0, bidirectional};
  const LayerResult result = RunPacked(to, network, data, batch_sizes, hx, {}, params);
  return {result.output, result.h};
}

// What cuDNN and MIOpen make of a whole network; the last two results are memory of theirs.
using OfLibrary = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

OfLibrary LibraryLayers(Lowering& to, Tensor input, TensorList weight, int64_t weight_stride0, Tensor hx, OptionalTensor cx,
                        int64_t mode, int64_t num_layers, bool batch_first, double dropout, bool train, bool bidirectional,
                        Dims batch_sizes) {
  constexpr Kind kModes[] = {Kind::kRelu, Kind::kTanh, Kind::kLstm, Kind::kGru};
  if (mode < 0 || mode >= std::ssize(kModes)) throw onnx::BadOperand("takes a mode of 0, 1, 2 or 3");
  const Network network{kModes[mode], weight_stride0 >= 4, num_layers, train ? dropout : 0, bidirectional};
  const Tensor c = cx.value_or(Tensor());
  const LayerResult result = batch_sizes.empty() ? RunLayers(to, network, input, hx, c, weight, batch_first)
                                                 : RunPacked(to, network, input, to.Shape1(batch_sizes), hx, c, weight);
  const auto none = [&](DType dtype) { return to.Full(Dims{to.Of(0)}, int64_t{0}, dtype); };
  return {result.output, result.h, cx ? result.c : none(input.dtype()), none(DType::kUint8), none(input.dtype())};
}

OfLibrary CudnnLayers(Lowering& to, Tensor input, TensorList weight, int64_t weight_stride0, OptionalTensor, Tensor hx,
                      OptionalTensor cx, int64_t mode, Dim, Dim, int64_t num_layers, bool batch_first, double dropout,
                      bool train, bool bidirectional, Dims batch_sizes, OptionalTensor) {
  return LibraryLayers(to, input, weight, weight_stride0, hx, cx, mode, num_layers, batch_first, dropout, train, bidirectional, batch_sizes);
}

OfLibrary MiopenLayers(Lowering& to, Tensor input, TensorList weight, int64_t weight_stride0, Tensor hx, OptionalTensor cx,
                       int64_t mode, int64_t, int64_t num_layers, bool batch_first, double dropout, bool train,
                       bool bidirectional, Dims batch_sizes, OptionalTensor) {
  return LibraryLayers(to, input, weight, weight_stride0, hx, cx, mode, num_layers, batch_first, dropout, train, bidirectional, batch_sizes);
}

constexpr OpRow kRows[] = {
    Op<CudnnLayers>(
        "aten::_cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, Tensor hx, Tensor? cx, int "
        "mode, SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train, bool "
        "bidirectional, SymInt[] batch_sizes, Tensor? dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"),
    Op<FusedGruCell>("aten::_thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None, "
                     "Tensor? hidden_bias=None) -> (Tensor, Tensor)"),
    Op<FusedLstmCell>("aten::_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? "
                      "input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)"),
    Op<RecurrentData<Kind::kGru>>(
        "aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
        "float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)"),
    Op<LstmData>("aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int "
                 "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)",
                 &kStates),
    Op<RecurrentData<Kind::kRelu>>(
        "aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int "
        "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)"),
    Op<RecurrentData<Kind::kTanh>>(
        "aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int "
        "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)"),
    Op<GruCell>("aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
                "b_hh=None) -> Tensor"),
    Op<Recurrent<Kind::kGru>>(
        "aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
        "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)"),
    Op<Lstm>("aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float "
             "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
             &kStates),
    Op<LstmCell>("aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
                 "b_hh=None) -> (Tensor, Tensor)"),
    Op<MiopenLayers>(
        "aten::miopen_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor hx, Tensor? cx, int mode, int "
        "hidden_size, int num_layers, bool batch_first, float dropout, bool train, bool bidirectional, int[] batch_sizes, "
        "Tensor? dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"),
    Op<MkldnnLayer>(
        "aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, "
        "Tensor cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool "
        "bidirectional, bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)",
        &kMkldnnForm),
    Op<Recurrent<Kind::kRelu>>(
        "aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
        "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)"),
    Op<RnnCell<true>>("aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
                      "Tensor? b_hh=None) -> Tensor"),
    Op<Recurrent<Kind::kTanh>>(
        "aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
        "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)"),
    Op<RnnCell<false>>("aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
                       "Tensor? b_hh=None) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Recurrence() { return kRows; }

}  // namespace flambeau::lower
