// What torch.jit.optimize_for_inference leaves: operators over tensors that lie as oneDNN wants them. Their elements are those of dense ones.
#include <algorithm>
#include <vector>

#include "script/builtins/builtins.h"
#include "script/quantized.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

struct Operator {
  std::string_view kind, op;
};
// Those that take what the operator of dense tensors takes.
constexpr Operator kOperators[] = {
    {"prim::MKLDNNClamp", "aten::clamp"},
    {"prim::MKLDNNClamp_", "aten::clamp_"},
    {"prim::MKLDNNHardSigmoid", "aten::hardsigmoid"},
    {"prim::MKLDNNHardSigmoid_", "aten::hardsigmoid_"},
    {"prim::MKLDNNHardSwish", "aten::hardswish"},
    {"prim::MKLDNNHardSwish_", "aten::hardswish_"},
    {"prim::MKLDNNHardTanh", "aten::hardtanh"},
    {"prim::MKLDNNHardTanh_", "aten::hardtanh_"},
    {"prim::MKLDNNLayerNorm", "aten::layer_norm"},
    {"prim::MKLDNNScalarMul", "aten::mul.Scalar"},
    {"prim::MKLDNNScalarMul_", "aten::mul_.Scalar"},
};

// The bounds of hardtanh and clamp are the node's own.
Result<Vals> AsDense(Evaluator& evaluator, const Node& node, Arguments arguments) {
  Vals all(arguments.begin(), arguments.end());
  for (const std::string_view name : {"min_val", "max_val"}) {
    const torchscript::Constant* bound = node.Find(name);
    if (bound == nullptr) continue;
    const auto* number = std::get_if<double>(&bound->value);
    if (number == nullptr) return Malformed(evaluator);
    all.emplace_back(*number);
  }
  return evaluator.emit().Call(std::ranges::find(kOperators, node.kind, &Operator::kind)->op, all);
}

// (input, normalized_shape, weight, bias, eps, cudnn_enable)
Result<Vals> LayerNormInPlace(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(Val normed, evaluator.emit().Call1("aten::layer_norm", arguments));
  return evaluator.emit().Call("aten::copy_", {arguments[0], std::move(normed), false});
}

// (input, weight, bias, stride, padding, dilation, groups)
Result<Vals> Convolution(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Vals* stride = arguments.size() == 7 ? ElementsOf(arguments[3], evaluator.heap()) : nullptr;
  if (stride == nullptr) return Malformed(evaluator);
  const Val no_padding = evaluator.List(Vals(stride->size(), int64_t{0}));
  return evaluator.emit().Call("aten::convolution", {arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5],
                                                     false, no_padding, arguments[6]});
}

// Results are written in place, so each is a tensor of its own.
Result<Vals> Broadcast(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(const Val list, evaluator.emit().Call1("aten::broadcast_tensors", {evaluator.List(Vals(arguments.begin(), arguments.end()))}));
  const Vals* parts = ElementsOf(list, evaluator.heap());
  if (parts == nullptr) return Malformed(evaluator);
  Vals results;
  for (const Val& part : Vals(*parts)) {
    FLAMBEAU_TRY(Val copy, evaluator.emit().Call1("aten::clone", {part, Nothing{}}));
    results.push_back(std::move(copy));
  }
  return results;
}

// (self, dtype)
Result<Vals> ToOneDnn(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Val dtype = arguments.size() > 1 ? arguments[1] : Val(Nothing{});
  if (dtype.Is<Nothing>()) return evaluator.emit().Call("aten::clone", {arguments[0], Nothing{}});
  return evaluator.emit().Call("aten::to.dtype", {arguments[0], dtype, false, true, Nothing{}});
}

}  // namespace

std::span<const BuiltinRow> OneDnnBuiltins() {
  static const auto* rows = [] {
    auto* all = new std::vector<BuiltinRow>{{"aten::to_mkldnn", &ToOneDnn},
                                            {"prim::BroadcastMKLDNNTensors", &Broadcast},
                                            {"prim::MKLDNNLayerNorm_", &LayerNormInPlace},
                                            {"prim::mkldnn_convolution", &Convolution}};
    for (const Operator& each : kOperators) all->push_back({each.kind, &AsDense});
    return all;
  }();
  return *rows;
}

}  // namespace flambeau::script
