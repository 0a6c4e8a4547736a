// quantized::*: floats between a dequantization and a quantization, or dynamically rounded.
#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/builtins.h"
#include "script/quantized.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// (scale, zero point) at two places of the arguments.
Grid GridAt(Arguments arguments, size_t place) { return {arguments[place], arguments[place + 1], std::nullopt}; }

DType IntegersLike(Evaluator& evaluator, const Val& tensor) {
  const auto* quantized = tensor.As<QuantizedVal>();
  return quantized != nullptr ? evaluator.TypeOf(quantized->value->data).dtype : DType::kUint8;
}

Result<Val> Relu(Evaluator& evaluator, const Val& floats) { return evaluator.emit().Call1("aten::relu", {floats}); }

// Dequantizes what is quantized, in lists too.
Result<Val> AsFloats(Evaluator& evaluator, const Val& value) {
  const auto* list = value.As<ListVal>();
  if (list == nullptr) return Dequantize(evaluator, value);
  Vals floats;
  for (const Val& element : Vals(evaluator.heap()[list->cell].elements)) {
    FLAMBEAU_TRY(Val each, AsFloats(evaluator, element));
    floats.push_back(std::move(each));
  }
  return evaluator.List(std::move(floats));
}

// The first quantized tensor among the arguments.
const Quantized* FirstQuantized(Evaluator& evaluator, Arguments arguments) {
  for (const Val& argument : arguments) {
    if (const auto* quantized = argument.As<QuantizedVal>()) return quantized->value.get();
    if (const auto* list = argument.As<ListVal>())
      for (const Val& element : evaluator.heap()[list->cell].elements)
        if (const auto* quantized = element.As<QuantizedVal>()) return quantized->value.get();
  }
  return nullptr;
}

// --- operators of floats -----------------------------------------------------------------

constexpr int kSame = -1;  // the grid of the first operand

struct FloatRow {
  std::string_view kind, op;  // no operator: the values as they are
  std::string_view operands;  // of the operator, as places among the arguments
  int grid = kSame;           // where scale and zero point stand
  bool relu = false;
};
constexpr FloatRow kFloatRows[] = {
    {"quantized::add", "aten::add.Tensor", "01", 2},
    {"quantized::add_relu", "aten::add.Tensor", "01", 2, true},
    {"quantized::cat", "aten::cat", "01", 2},
    {"quantized::cat_relu", "aten::cat", "01", 2, true},
    {"quantized::celu", "aten::celu", "03", 1},
    {"quantized::clamp", "aten::clamp", "012"},
    {"quantized::dropout", "", "0", 1},
    {"quantized::elu", "aten::elu", "0345", 1},
    {"quantized::group_norm", "aten::group_norm", "01234", 5},
    {"quantized::hardswish", "aten::hardswish", "0", 1},
    {"quantized::layer_norm", "aten::layer_norm", "01234", 5},
    {"quantized::leaky_relu", "aten::leaky_relu", "01", 3},
    {"quantized::matmul", "aten::matmul", "01", 2},
    {"quantized::mul", "aten::mul.Tensor", "01", 2},
    {"quantized::mul_relu", "aten::mul.Tensor", "01", 2, true},
    {"quantized::prelu", "aten::prelu", "01", 2},
    {"quantized::relu6", "aten::relu6", "0"},
    {"quantized::sigmoid", "aten::sigmoid", "0", 1},
    {"quantized::softmax", "aten::softmax.int", "01", 2},
    {"quantized::threshold", "aten::threshold", "012"},
};

Result<Vals> ThroughFloats(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* row = std::ranges::find(kFloatRows, std::string_view(node.kind), &FloatRow::kind);
  const Quantized* first = FirstQuantized(evaluator, arguments);
  if (first == nullptr) return Malformed(evaluator);
  const Grid same = GridOf(*first);
  const DType integers = evaluator.TypeOf(first->data).dtype;
  Vals operands;
  for (const char place : row->operands) {
    const auto at = static_cast<size_t>(place - '0');
    if (at >= arguments.size()) return Malformed(evaluator);
    FLAMBEAU_TRY(Val operand, AsFloats(evaluator, arguments[at]));
    operands.push_back(std::move(operand));
  }
  Val result = operands[0];
  if (!row->op.empty()) {
    FLAMBEAU_TRY(result, evaluator.emit().Call1(row->op, operands));
  }
  if (row->relu) {
    FLAMBEAU_TRY(result, Relu(evaluator, result));
  }
  Grid grid = same;
  if (row->grid != kSame) {
    const auto at = static_cast<size_t>(row->grid);
    if (at + 1 >= arguments.size()) return Malformed(evaluator);
    if (!arguments[at].Is<Nothing>()) grid = GridAt(arguments, at);  // of cat it may be absent
  }
  FLAMBEAU_TRY(Val quantized, Quantize(evaluator, result, std::move(grid), integers));
  return Vals{std::move(quantized)};
}

Result<Vals> OfTensorsOrNumber(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const bool tensors = arguments.size() == 4 && arguments[0].Is<QuantizedVal>() && arguments[1].Is<QuantizedVal>();
  return (tensors ? ThroughFloats : QuantizedWithNumber)(evaluator, node, arguments);
}

// (x, weight, bias, mean, variance, eps, scale, zero point)
template <bool kRelu>
Result<Vals> BatchNorm(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() != 8) return Malformed(evaluator);
  FLAMBEAU_TRY(const Val x, Dequantize(evaluator, arguments[0]));
  FLAMBEAU_TRY(Val result, evaluator.emit().Call1("aten::batch_norm", {x, arguments[1], arguments[2], arguments[3], arguments[4],
                                                                       false, 0.0, arguments[5], false}));
  if (kRelu) {
    FLAMBEAU_TRY(result, Relu(evaluator, result));
  }
  FLAMBEAU_TRY(Val quantized, Quantize(evaluator, result, GridAt(arguments, 6), IntegersLike(evaluator, arguments[0])));
  return Vals{std::move(quantized)};
}

// (x, weight, bias, eps, scale, zero point)
Result<Vals> InstanceNorm(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() != 6) return Malformed(evaluator);
  FLAMBEAU_TRY(const Val x, Dequantize(evaluator, arguments[0]));
  FLAMBEAU_TRY(const Val result, evaluator.emit().Call1("aten::instance_norm", {x, arguments[1], arguments[2], Nothing{}, Nothing{},
                                                                                true, 0.0, arguments[3], false}));
  FLAMBEAU_TRY(Val quantized, Quantize(evaluator, result, GridAt(arguments, 4), IntegersLike(evaluator, arguments[0])));
  return Vals{std::move(quantized)};
}

// --- packed weights -----------------------------------------------------------------------

// (weight, bias)
Result<Vals> PrepackLinear(Evaluator& evaluator, const Node&, Arguments arguments) {
  return Vals{Pack(evaluator, {.weight = arguments[0], .bias = arguments.size() > 1 ? arguments[1] : Val(Nothing{})})};
}
Result<Vals> PrepackHalf(Evaluator& evaluator, const Node&, Arguments arguments) {
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const Val half, emit.Call1("aten::to.dtype", {arguments[0], int64_t{Info(DType::kFloat16).torch_code}}));
  FLAMBEAU_TRY(Val weight, emit.Call1("aten::to.dtype", {half, int64_t{Info(DType::kFloat32).torch_code}}));
  return Vals{Pack(evaluator, {.weight = std::move(weight), .bias = arguments.size() > 1 ? arguments[1] : Val(Nothing{})})};
}

// (weight, bias, stride, padding, [output padding,] dilation, groups)
template <bool kTransposed>
Result<Vals> PrepackConvolution(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() != (kTransposed ? 7 : 6)) return Malformed(evaluator);
  PackedWeights weights = {.weight = arguments[0], .bias = arguments[1], .transposed = kTransposed};
  size_t next = 2;
  auto take = [&](Vals& numbers) {
    const auto* list = arguments[next++].As<ListVal>();
    if (list != nullptr) numbers = evaluator.heap()[list->cell].elements;
    return list != nullptr;
  };
  bool complete = take(weights.stride) && take(weights.padding);
  if (kTransposed) complete = complete && take(weights.output_padding);
  complete = complete && take(weights.dilation);
  if (!complete || !arguments[next].AsInt()) return Malformed(evaluator);
  if (!kTransposed) weights.output_padding.assign(weights.stride.size(), int64_t{0});
  weights.groups = *arguments[next].AsInt();
  return Vals{Pack(evaluator, std::move(weights))};
}

Result<Vals> UnpackTensors(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[0]));
  return Vals{weights.weight, weights.bias};
}
template <Vals PackedWeights::*kNumbers>
Result<Vals> UnpackNumbers(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(PackedWeights weights, Unpack(evaluator, arguments[0]));
  return Vals{evaluator.List(std::move(weights.*kNumbers))};
}
Result<Vals> UnpackGroups(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[0]));
  return Vals{weights.groups};
}
Result<Vals> UnpackTransposed(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[0]));
  return Vals{int64_t{weights.transposed}};
}

// A method of a class that is written in C++.
Result<Vals> CallPacked(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const torchscript::Constant* name = node.Find("name");
  const auto* method = name != nullptr ? std::get_if<std::string>(&name->value) : nullptr;
  if (method == nullptr || *method != "unpack" || arguments.empty())
    return evaluator.Unsupported(fmt::format("calls the method '{}' of an object that is written in C++", method ? *method : "?"));
  FLAMBEAU_TRY(Vals tensors, UnpackTensors(evaluator, node, arguments));
  return Vals{Evaluator::Tuple(std::move(tensors))};
}

// --- linear -------------------------------------------------------------------------------

Result<Val> ApplyLinear(Evaluator& evaluator, const Val& x, const PackedWeights& weights) {
  FLAMBEAU_TRY(const Val weight, Dequantize(evaluator, weights.weight));
  return evaluator.emit().Call1("aten::linear", {x, weight, weights.bias});
}

enum class After { kNothing, kRelu, kTanh, kLeakyRelu };

Result<Val> Activate(Evaluator& evaluator, After after, const Val& x, Arguments arguments) {
  Emitter& emit = evaluator.emit();
  switch (after) {
    case After::kRelu: return emit.Call1("aten::relu", {x});
    case After::kTanh: return emit.Call1("aten::tanh", {x});
    case After::kLeakyRelu: return emit.Call1("aten::leaky_relu", {x, arguments.back()});
    default: return x;
  }
}

// (x, weights, scale, zero point, …)
template <After kAfter>
Result<Vals> Linear(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() < 4) return Malformed(evaluator);
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[1]));
  FLAMBEAU_TRY(const Val x, Dequantize(evaluator, arguments[0]));
  FLAMBEAU_TRY(const Val product, ApplyLinear(evaluator, x, weights));
  FLAMBEAU_TRY(const Val activated, Activate(evaluator, kAfter, product, arguments));
  FLAMBEAU_TRY(Val result, Quantize(evaluator, activated, GridAt(arguments, 2), IntegersLike(evaluator, arguments[0])));
  return Vals{std::move(result)};
}

// (x, weights, reduce_range): x is floats
template <After kAfter>
Result<Vals> LinearDynamic(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[1]));
  const bool reduce_range = arguments.size() > 2 && arguments[2].AsInt().value_or(0) != 0;
  FLAMBEAU_TRY(const Val x, RoundDynamically(evaluator, arguments[0], reduce_range));
  FLAMBEAU_TRY(const Val product, ApplyLinear(evaluator, x, weights));
  FLAMBEAU_TRY(Val result, Activate(evaluator, kAfter, product, arguments));
  return Vals{std::move(result)};
}

// (x, weights): nothing but the weights was rounded
template <After kAfter>
Result<Vals> LinearHalf(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[1]));
  FLAMBEAU_TRY(const Val product, ApplyLinear(evaluator, arguments[0], weights));
  FLAMBEAU_TRY(Val result, Activate(evaluator, kAfter, product, arguments));
  return Vals{std::move(result)};
}
Result<Vals> LinearUnpackedHalf(Evaluator& evaluator, const Node& node, Arguments arguments) {
  FLAMBEAU_TRY(const Vals packed, PrepackHalf(evaluator, node, arguments.subspan(1)));
  const Val operands[] = {arguments[0], packed[0]};
  return LinearHalf<After::kNothing>(evaluator, node, operands);
}

// (x, x's scale, x's zero point, weights): floats in and out
template <After kAfter>
Result<Vals> LinearOfFloats(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() != 4) return Malformed(evaluator);
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[3]));
  FLAMBEAU_TRY(const Val rounded, Quantize(evaluator, arguments[0], GridAt(arguments, 1), DType::kUint8));
  FLAMBEAU_TRY(const Val x, Dequantize(evaluator, rounded));
  FLAMBEAU_TRY(const Val product, ApplyLinear(evaluator, x, weights));
  FLAMBEAU_TRY(Val result, Activate(evaluator, kAfter, product, arguments));
  return Vals{std::move(result)};
}

// --- convolutions -------------------------------------------------------------------------

// torch packs the weights of one dimension as if they had two, the first of size 1.
Status DropDimension(Evaluator& evaluator, PackedWeights& weights) {
  const auto* weight = weights.weight.As<QuantizedVal>();
  if (weight == nullptr) return Malformed(evaluator);
  FLAMBEAU_TRY(const Val data, evaluator.emit().Call1("aten::squeeze.dim", {weight->value->data, int64_t{2}}));
  weights.weight = MakeQuantized(*data.As<TensorVal>(), GridOf(*weight->value));
  for (Vals* numbers : {&weights.stride, &weights.padding, &weights.dilation, &weights.output_padding}) {
    if (numbers->empty()) return Malformed(evaluator);
    numbers->erase(numbers->begin());
  }
  return {};
}

Result<Val> ApplyConvolution(Evaluator& evaluator, const Val& x, PackedWeights weights) {
  const auto* tensor = x.As<TensorVal>();
  if (tensor == nullptr || !evaluator.TypeOf(*tensor).ranked) return Malformed(evaluator);
  const auto* packed = weights.weight.As<QuantizedVal>();
  if (packed == nullptr) return Malformed(evaluator);
  // By the weight as it is: a call of conv1d_prepack has not added the dimension.
  const size_t dims = evaluator.TypeOf(*tensor).rank() - 2, of_weight = evaluator.TypeOf(packed->value->data).rank() - 2;
  if (dims == 1 && of_weight == 2) FLAMBEAU_CHECK_OK(DropDimension(evaluator, weights));
  // conv1d_prepack takes the first number, however many it is given.
  for (Vals* numbers : {&weights.stride, &weights.padding, &weights.dilation, &weights.output_padding}) {
    if (numbers->size() < dims) return Malformed(evaluator);
    numbers->resize(dims);
  }
  FLAMBEAU_TRY(const Val weight, Dequantize(evaluator, weights.weight));
  return evaluator.emit().Call1("aten::convolution",
                                {x, weight, weights.bias, evaluator.List(weights.stride), evaluator.List(weights.padding),
                                 evaluator.List(weights.dilation), weights.transposed, evaluator.List(weights.output_padding),
                                 weights.groups});
}

// (x, weights, …, scale, zero point); what stands between them in old archives is packed too
template <After kAfter>
Result<Vals> Convolution(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() < 4) return Malformed(evaluator);
  FLAMBEAU_TRY(PackedWeights weights, Unpack(evaluator, arguments[1]));
  FLAMBEAU_TRY(const Val x, Dequantize(evaluator, arguments[0]));
  FLAMBEAU_TRY(const Val product, ApplyConvolution(evaluator, x, std::move(weights)));
  FLAMBEAU_TRY(const Val activated, Activate(evaluator, kAfter, product, arguments));
  FLAMBEAU_TRY(Val result, Quantize(evaluator, activated, GridAt(arguments, arguments.size() - 2), IntegersLike(evaluator, arguments[0])));
  return Vals{std::move(result)};
}

// (x, summand, weights, scale, zero point)
template <After kAfter>
Result<Vals> ConvolutionAndSum(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() != 5) return Malformed(evaluator);
  FLAMBEAU_TRY(PackedWeights weights, Unpack(evaluator, arguments[2]));
  FLAMBEAU_TRY(const Val x, Dequantize(evaluator, arguments[0]));
  FLAMBEAU_TRY(const Val summand, Dequantize(evaluator, arguments[1]));
  FLAMBEAU_TRY(const Val product, ApplyConvolution(evaluator, x, std::move(weights)));
  FLAMBEAU_TRY(const Val sum, evaluator.emit().Call1("aten::add.Tensor", {product, summand}));
  FLAMBEAU_TRY(const Val activated, Activate(evaluator, kAfter, sum, arguments));
  FLAMBEAU_TRY(Val result, Quantize(evaluator, activated, GridAt(arguments, 3), IntegersLike(evaluator, arguments[0])));
  return Vals{std::move(result)};
}

// (x, weights, reduce_range): x is floats
Result<Vals> ConvolutionDynamic(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(PackedWeights weights, Unpack(evaluator, arguments[1]));
  const bool reduce_range = arguments.size() > 2 && arguments[2].AsInt().value_or(0) != 0;
  FLAMBEAU_TRY(const Val x, RoundDynamically(evaluator, arguments[0], reduce_range));
  FLAMBEAU_TRY(Val result, ApplyConvolution(evaluator, x, std::move(weights)));
  return Vals{std::move(result)};
}

constexpr BuiltinRow kRows[] = {
    {"prim::CallMethod", &CallPacked},
    {"quantized::add", &OfTensorsOrNumber},
    {"quantized::add_relu", &OfTensorsOrNumber},
    {"quantized::batch_norm", &BatchNorm<false>},
    {"quantized::batch_norm1d", &BatchNorm<false>},
    {"quantized::batch_norm1d_relu", &BatchNorm<true>},
    {"quantized::batch_norm2d", &BatchNorm<false>},
    {"quantized::batch_norm2d_relu", &BatchNorm<true>},
    {"quantized::batch_norm3d", &BatchNorm<false>},
    {"quantized::batch_norm3d_relu", &BatchNorm<true>},
    {"quantized::batch_norm_relu", &BatchNorm<true>},
    {"quantized::cat", &ThroughFloats},
    {"quantized::cat_relu", &ThroughFloats},
    {"quantized::celu", &ThroughFloats},
    {"quantized::clamp", &ThroughFloats},
    {"quantized::conv1d", &Convolution<After::kNothing>},
    {"quantized::conv1d_dynamic", &OfKnownFlags<&ConvolutionDynamic>},
    {"quantized::conv1d_prepack", &PrepackConvolution<false>},
    {"quantized::conv1d_relu", &Convolution<After::kRelu>},
    {"quantized::conv1d_unpack", &UnpackTensors},
    {"quantized::conv2d", &Convolution<After::kNothing>},
    {"quantized::conv2d_add", &ConvolutionAndSum<After::kNothing>},
    {"quantized::conv2d_add_relu", &ConvolutionAndSum<After::kRelu>},
    {"quantized::conv2d_dilation", &UnpackNumbers<&PackedWeights::dilation>},
    {"quantized::conv2d_dynamic", &OfKnownFlags<&ConvolutionDynamic>},
    {"quantized::conv2d_groups", &UnpackGroups},
    {"quantized::conv2d_output_padding", &UnpackNumbers<&PackedWeights::output_padding>},
    {"quantized::conv2d_padding", &UnpackNumbers<&PackedWeights::padding>},
    {"quantized::conv2d_prepack", &PrepackConvolution<false>},
    {"quantized::conv2d_relu", &Convolution<After::kRelu>},
    {"quantized::conv2d_stride", &UnpackNumbers<&PackedWeights::stride>},
    {"quantized::conv2d_transpose", &UnpackTransposed},
    {"quantized::conv2d_unpack", &UnpackTensors},
    {"quantized::conv3d", &Convolution<After::kNothing>},
    {"quantized::conv3d_dynamic", &OfKnownFlags<&ConvolutionDynamic>},
    {"quantized::conv3d_prepack", &PrepackConvolution<false>},
    {"quantized::conv3d_relu", &Convolution<After::kRelu>},
    {"quantized::conv3d_unpack", &UnpackTensors},
    {"quantized::conv_prepack", &PrepackConvolution<false>},
    {"quantized::conv_transpose1d", &Convolution<After::kNothing>},
    {"quantized::conv_transpose1d_dynamic", &OfKnownFlags<&ConvolutionDynamic>},
    {"quantized::conv_transpose1d_prepack", &PrepackConvolution<true>},
    {"quantized::conv_transpose1d_unpack", &UnpackTensors},
    {"quantized::conv_transpose2d", &Convolution<After::kNothing>},
    {"quantized::conv_transpose2d_dynamic", &OfKnownFlags<&ConvolutionDynamic>},
    {"quantized::conv_transpose2d_prepack", &PrepackConvolution<true>},
    {"quantized::conv_transpose2d_unpack", &UnpackTensors},
    {"quantized::conv_transpose3d", &Convolution<After::kNothing>},
    {"quantized::conv_transpose3d_dynamic", &OfKnownFlags<&ConvolutionDynamic>},
    {"quantized::conv_transpose3d_prepack", &PrepackConvolution<true>},
    {"quantized::conv_transpose3d_unpack", &UnpackTensors},
    {"quantized::conv_unpack", &UnpackTensors},
    {"quantized::dropout", &ThroughFloats},
    {"quantized::elu", &ThroughFloats},
    {"quantized::group_norm", &ThroughFloats},
    {"quantized::hardswish", &ThroughFloats},
    {"quantized::instance_norm", &InstanceNorm},
    {"quantized::layer_norm", &ThroughFloats},
    {"quantized::leaky_relu", &ThroughFloats},
    {"quantized::linear", &Linear<After::kNothing>},
    {"quantized::linear_dynamic", &OfKnownFlags<&LinearDynamic<After::kNothing>>},
    {"quantized::linear_dynamic_fp16", &LinearHalf<After::kNothing>},
    {"quantized::linear_dynamic_fp16_unpacked_weight", &LinearUnpackedHalf},
    {"quantized::linear_leaky_relu", &Linear<After::kLeakyRelu>},
    {"quantized::linear_prepack", &PrepackLinear},
    {"quantized::linear_prepack_fp16", &PrepackHalf},
    {"quantized::linear_relu", &Linear<After::kRelu>},
    {"quantized::linear_relu_dynamic", &OfKnownFlags<&LinearDynamic<After::kRelu>>},
    {"quantized::linear_relu_dynamic_fp16", &LinearHalf<After::kRelu>},
    {"quantized::linear_tanh", &Linear<After::kTanh>},
    {"quantized::linear_unpack", &UnpackTensors},
    {"quantized::linear_unpack_fp16", &UnpackTensors},
    {"quantized::linear_with_input_q_dq_qweight_dq_output_fp32", &LinearOfFloats<After::kNothing>},
    {"quantized::linear_with_input_q_dq_qweight_dq_relu_output_fp32", &LinearOfFloats<After::kRelu>},
    {"quantized::matmul", &ThroughFloats},
    {"quantized::mul", &OfTensorsOrNumber},
    {"quantized::mul_relu", &OfTensorsOrNumber},
    {"quantized::prelu", &ThroughFloats},
    {"quantized::relu6", &ThroughFloats},
    {"quantized::sigmoid", &ThroughFloats},
    {"quantized::softmax", &ThroughFloats},
    {"quantized::threshold", &ThroughFloats},
};

}  // namespace

std::span<const BuiltinRow> QuantizedBuiltins() { return kRows; }

}  // namespace flambeau::script
