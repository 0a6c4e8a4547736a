// What makes quantized tensors, what is asked of them, and the operators of
// aten:: that torch has kernels for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "script/builtins/builtins.h"
#include "script/quantized.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

const Quantized* QuantizedOf(const Val& value) {
  const auto* quantized = value.As<QuantizedVal>();
  return quantized != nullptr ? quantized->value.get() : nullptr;
}

Result<DType> IntegersAt(Evaluator& evaluator, const Val& dtype) {
  const auto code = dtype.AsInt();
  const auto integers = code ? IntegersOf(*code) : std::nullopt;
  if (integers) return *integers;
  return evaluator.Unsupported("quantizes to a dtype other than qint8, quint8 and qint32");
}

// --- making them --------------------------------------------------------------------------

// (x, scale, zero point, dtype): of one tensor, or of a list, each with its own
Result<Vals> QuantizePerTensor(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() < 4) return Malformed(evaluator);
  FLAMBEAU_TRY(const DType integers, IntegersAt(evaluator, arguments[3]));
  const auto* list = arguments[0].As<ListVal>();
  if (list == nullptr) {
    FLAMBEAU_TRY(Val result, Quantize(evaluator, arguments[0], {arguments[1], arguments[2], std::nullopt}, integers));
    return Vals{std::move(result)};
  }
  const Vals tensors = evaluator.heap()[list->cell].elements;
  Vals results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    FLAMBEAU_TRY(Val scale, evaluator.emit().Call1("aten::select.int", {arguments[1], int64_t{0}, at}));
    FLAMBEAU_TRY(Val zero_point, evaluator.emit().Call1("aten::select.int", {arguments[2], int64_t{0}, at}));
    FLAMBEAU_TRY(Val result, Quantize(evaluator, tensors[i], {std::move(scale), std::move(zero_point), std::nullopt}, integers));
    results.push_back(std::move(result));
  }
  return Vals{evaluator.List(std::move(results))};
}

// (x, scales, zero points, axis, dtype)
Result<Vals> QuantizePerChannel(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() < 5 || !arguments[3].AsInt()) return Malformed(evaluator);
  FLAMBEAU_TRY(const DType integers, IntegersAt(evaluator, arguments[4]));
  FLAMBEAU_TRY(Val result, Quantize(evaluator, arguments[0], {arguments[1], arguments[2], *arguments[3].AsInt()}, integers));
  return Vals{std::move(result)};
}

// (x, dtype, reduce_range)
Result<Vals> QuantizeDynamically(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() < 3) return Malformed(evaluator);
  FLAMBEAU_TRY(const DType integers, IntegersAt(evaluator, arguments[1]));
  if (integers != DType::kUint8 && integers != DType::kInt8) return evaluator.Unsupported("quantizes dynamically to a dtype other than qint8 and quint8");
  FLAMBEAU_TRY(Grid grid, ChooseGrid(evaluator, arguments[0], integers, arguments[2].AsInt().value_or(0) != 0));
  FLAMBEAU_TRY(Val result, Quantize(evaluator, arguments[0], std::move(grid), integers));
  return Vals{std::move(result)};
}

// (integers, scale, zero point[, axis])
Result<Vals> MakeOfIntegers(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* data = arguments[0].As<TensorVal>();
  if (data == nullptr || arguments.size() < 3) return Malformed(evaluator);
  if (!IsOfQuantized(evaluator.TypeOf(*data).dtype)) return evaluator.Unsupported("makes a quantized tensor of other numbers than int8, uint8 and int32");
  return Vals{MakeQuantized(*data, {arguments[1], arguments[2], arguments.size() > 3 ? arguments[3].AsInt() : std::nullopt})};
}

Result<Val> DequantizeAll(Evaluator& evaluator, const Val& value) {
  auto each = [&](const Vals& elements) -> Result<Vals> {
    Vals floats;
    for (const Val& element : elements) {
      FLAMBEAU_TRY(Val one, Dequantize(evaluator, element));
      floats.push_back(std::move(one));
    }
    return floats;
  };
  if (const auto* list = value.As<ListVal>()) {
    FLAMBEAU_TRY(Vals floats, each(Vals(evaluator.heap()[list->cell].elements)));
    return evaluator.List(std::move(floats));
  }
  if (const auto* tuple = value.As<TupleVal>()) {
    FLAMBEAU_TRY(Vals floats, each(*tuple->elements));
    return Evaluator::Tuple(std::move(floats));
  }
  if (value.Is<QuantizedVal>()) return Dequantize(evaluator, value);
  return evaluator.emit().Call1("aten::to.dtype", {value, int64_t{Info(DType::kFloat32).torch_code}});
}
Result<Vals> DequantizeOperator(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(Val floats, DequantizeAll(evaluator, arguments[0]));
  return Vals{std::move(floats)};
}

// --- what they are asked ------------------------------------------------------------------

// A function of the first argument, as a builtin.
template <Result<Vals> (*kFunction)(Evaluator&, const Quantized&)>
Result<Vals> Ask(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Quantized* quantized = QuantizedOf(arguments[0]);
  return quantized != nullptr ? kFunction(evaluator, *quantized) : Malformed(evaluator);
}

Result<Vals> Integers(Evaluator& evaluator, const Quantized& quantized) {
  FLAMBEAU_TRY(Val copy, evaluator.emit().Call1("aten::clone", {quantized.data}));
  return Vals{std::move(copy)};
}
template <Val Quantized::*kNumber>
Result<Vals> NumberOfGrid(Evaluator& evaluator, const Quantized& quantized) {
  const Val& number = quantized.*kNumber;
  if (number.IsNumber()) return Vals{number};
  FLAMBEAU_TRY(Val item, evaluator.emit().Call1("aten::item", {number}));
  return Vals{std::move(item)};
}
// torch keeps them as float64 and int64, where zero points are not floats.
template <Val Quantized::*kNumbers, DType kDtype>
Result<Vals> NumbersOfGrid(Evaluator& evaluator, const Quantized& quantized) {
  const auto* zero_points = quantized.zero_point.As<TensorVal>();
  const bool floats = zero_points != nullptr && IsFloating(evaluator.TypeOf(*zero_points).dtype);
  const int64_t dtype = Info(floats ? DType::kFloat32 : kDtype).torch_code;
  FLAMBEAU_TRY(Val numbers, evaluator.emit().Call1("aten::to.dtype", {quantized.*kNumbers, dtype}));
  return Vals{std::move(numbers)};
}
Result<Vals> AxisOfGrid(Evaluator& evaluator, const Quantized& quantized) {
  if (!quantized.axis) return evaluator.Unsupported("asks for the channels of a tensor that is quantized as a whole");
  return Vals{*quantized.axis};
}
Result<Vals> Dtype(Evaluator& evaluator, const Quantized& quantized) {
  return Vals{QuantizedCode(evaluator.TypeOf(quantized.data).dtype)};
}
Result<Vals> True(Evaluator&, const Node&, Arguments) { return Vals{true}; }

// What the node does to operands of which none is quantized.
Result<Vals> Call(Evaluator& evaluator, const Node& node, const Vals& operands) {
  const Builtin builtin = FindBuiltin(node.kind);
  return builtin != nullptr ? builtin(evaluator, node, operands) : evaluator.CallOperator(node, operands);
}

// The answer is that of the integers.
Result<Vals> AskIntegers(Evaluator& evaluator, const Node& node, Arguments arguments) {
  Vals operands;
  for (const Val& argument : arguments) {
    const Quantized* quantized = QuantizedOf(argument);
    operands.push_back(quantized != nullptr ? Val(quantized->data) : argument);
  }
  return Call(evaluator, node, operands);
}

// --- operators on the integers --------------------------------------------------------------

// Results of the integers' dtype are on the operand's grid; indices are what they are.
Result<Val> OnGrid(Evaluator& evaluator, const Val& result, const Quantized& like) {
  if (const auto* tensor = result.As<TensorVal>())
    return evaluator.TypeOf(*tensor).dtype == evaluator.TypeOf(like.data).dtype ? MakeQuantized(*tensor, GridOf(like)) : result;
  const auto* list = result.As<ListVal>();
  if (list == nullptr) return result;
  // Its elements are tensors of ONNX, which know of no grid.
  if (evaluator.heap()[list->cell].sequence)
    return evaluator.Unsupported("gives a list of quantized tensors whose length is known at run time only", "dequantize the operand before");
  Vals elements;
  for (const Val& element : Vals(evaluator.heap()[list->cell].elements)) {
    FLAMBEAU_TRY(Val on_grid, OnGrid(evaluator, element, like));
    elements.push_back(std::move(on_grid));
  }
  return evaluator.List(std::move(elements));
}
// The one result of an operator.
Result<Vals> OneOnGrid(Evaluator& evaluator, const Val& result, const Quantized& like) {
  FLAMBEAU_TRY(Val on_grid, OnGrid(evaluator, result, like));
  return Vals{std::move(on_grid)};
}

// Moves elements, or chooses among them: the integers are moved the same way, and
// memory that is shared stays shared.
Result<Vals> OnIntegers(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Quantized* first = nullptr;
  bool one_grid = true;
  auto integers = [&](const Val& value) -> Val {
    const Quantized* quantized = QuantizedOf(value);
    if (quantized == nullptr) return value;
    if (first == nullptr) first = quantized;
    one_grid &= SameGrid(*first, *quantized);
    return quantized->data;
  };
  Vals operands;
  for (const Val& argument : arguments) {
    const auto* list = argument.As<ListVal>();
    if (list == nullptr || !HoldsQuantized(argument, evaluator.heap())) {
      operands.push_back(integers(argument));
      continue;
    }
    Vals elements;
    for (const Val& element : Vals(evaluator.heap()[list->cell].elements)) elements.push_back(integers(element));
    operands.push_back(evaluator.List(std::move(elements)));
  }
  if (first == nullptr) return Malformed(evaluator);
  if (!one_grid) return evaluator.Unsupported("takes quantized tensors of different scales or zero points");
  // Which axis the channels are on afterwards depends on the operator.
  static constexpr std::string_view kKeepAxes[] = {"aten::clone", "aten::contiguous", "aten::detach", "aten::alias", "aten::to"};
  if (first->axis && std::ranges::find(kKeepAxes, node.kind) == std::end(kKeepAxes))
    return evaluator.Unsupported("moves a tensor that is quantized by channel", "dequantize it before");
  const Quantized like = *first;
  FLAMBEAU_TRY(Vals results, Call(evaluator, node, operands));
  for (Val& result : results) {
    FLAMBEAU_TRY(result, OnGrid(evaluator, result, like));
  }
  return results;
}

Result<Vals> MaxPool(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Quantized* quantized = arguments.size() == 6 ? QuantizedOf(arguments[0]) : nullptr;
  if (quantized == nullptr) return Malformed(evaluator);
  const auto* kernel = arguments[1].As<ListVal>();
  const size_t dims = kernel != nullptr ? evaluator.heap()[kernel->cell].elements.size() : 0;
  Vals operands(arguments.begin(), arguments.end());
  operands[0] = quantized->data;
  FLAMBEAU_TRY(const Val pooled, evaluator.emit().Call1(fmt::format("aten::max_pool{}d", dims), operands));
  return OneOnGrid(evaluator, pooled, *quantized);
}

// Places, sizes and strides are not asked for: torch's own .to() of another device or dtype keeps the grid.
Result<Vals> Same(Evaluator&, const Node&, Arguments arguments) { return Vals{arguments[0]}; }

// What is joined to the first one is quantized again, on its grid.
Result<Vals> Join(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  const Quantized* first = list != nullptr && !list->elements.empty() ? QuantizedOf(list->elements[0]) : nullptr;
  if (first == nullptr || first->axis) return OnIntegers(evaluator, node, arguments);
  const Quantized like = *first;
  Vals elements = list->elements;
  for (Val& element : elements) {
    const Quantized* each = QuantizedOf(element);
    if (each == nullptr || each->axis || SameGrid(*each, like)) continue;
    FLAMBEAU_TRY(const Val floats, Dequantize(evaluator, element));
    FLAMBEAU_TRY(element, Quantize(evaluator, floats, GridOf(like), evaluator.TypeOf(like.data).dtype));
  }
  Vals operands(arguments.begin(), arguments.end());
  operands[0] = evaluator.List(std::move(elements));
  return OnIntegers(evaluator, node, operands);
}

// The zero point is where relu cuts; in place too.
template <bool kInPlace>
Result<Vals> ReluOfIntegers(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Quantized* first = QuantizedOf(arguments[0]);
  if (first == nullptr) return Malformed(evaluator);
  const Quantized like = *first;
  if (like.axis) return evaluator.Unsupported(fmt::format("{} takes no tensor that is quantized by channel", node.kind));
  Emitter& emit = evaluator.emit();
  Val result;
  if (like.zero_point.IsNumber()) {
    FLAMBEAU_TRY(result, emit.Call1(kInPlace ? "aten::clamp_min_" : "aten::clamp_min", {like.data, like.zero_point}));
  } else {
    const int64_t integers = Info(evaluator.TypeOf(like.data).dtype).torch_code;
    FLAMBEAU_TRY(const Val zero, emit.Call1("aten::to.dtype", {like.zero_point, integers}));
    FLAMBEAU_TRY(result, emit.Call1(kInPlace ? "aten::clamp_min_.Tensor" : "aten::clamp_min.Tensor", {like.data, zero}));
  }
  return OneOnGrid(evaluator, result, like);
}

// (to, from, non_blocking): floats are quantized on the way
Result<Vals> Copy(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Quantized* to = QuantizedOf(arguments[0]);
  if (to == nullptr || arguments.size() < 2) return evaluator.Unsupported("copies a quantized tensor into one of floats");
  const Quantized* from = QuantizedOf(arguments[1]);
  Val source = arguments[1];
  if (from == nullptr) {
    FLAMBEAU_TRY(source, Quantize(evaluator, source, GridOf(*to), evaluator.TypeOf(to->data).dtype));
    from = QuantizedOf(source);
  }
  if (!SameGrid(*to, *from)) return evaluator.Unsupported("copies between quantized tensors of different scales or zero points");
  FLAMBEAU_TRY(const Val written, evaluator.emit().Call1("aten::copy_", {to->data, from->data}));
  return OneOnGrid(evaluator, written, *to);
}

// --- operators on the numbers ---------------------------------------------------------------

// The numbers that are quantized again, on the operand's grid or the operator's own.
struct OwnGrid {
  std::string_view kind;
  double scale;
  int64_t zero_point;  // of quint8; of qint8 128 less
};
constexpr OwnGrid kOwnGrids[] = {
    {"aten::hardsigmoid", 1.0 / 256, 0},
    {"aten::sigmoid", 1.0 / 256, 0},
    {"aten::softmax", 1.0 / 256, 0},
    {"aten::tanh", 2.0 / 256, 128},
};

Result<Vals> OnNumbers(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Quantized* first = QuantizedOf(arguments[0]);
  if (first == nullptr) return Malformed(evaluator);
  Grid grid = GridOf(*first);
  const DType integers = evaluator.TypeOf(first->data).dtype;
  if (const auto* own = std::ranges::find(kOwnGrids, std::string_view(node.kind), &OwnGrid::kind); own != std::end(kOwnGrids))
    grid = {own->scale, own->zero_point - (integers == DType::kInt8 ? 128 : 0), std::nullopt};
  if (grid.axis) return evaluator.Unsupported("takes no tensor that is quantized by channel", "dequantize it before");
  Vals operands(arguments.begin(), arguments.end());
  for (Val& operand : operands) {
    FLAMBEAU_TRY(operand, Dequantize(evaluator, operand));
  }
  FLAMBEAU_TRY(const Vals results, Call(evaluator, node, operands));
  FLAMBEAU_TRY(Val quantized, Quantize(evaluator, results[0], std::move(grid), integers));
  return Vals{std::move(quantized)};
}

// "aten::hardtanh_": computed, and written over the operand.
Result<Vals> OnNumbersInPlace(Evaluator& evaluator, const Node& node, Arguments arguments) {
  Node pure = node;
  pure.kind.pop_back();
  FLAMBEAU_TRY(const Vals results, OnNumbers(evaluator, pure, arguments));
  const Val operands[] = {arguments[0], results[0]};
  return Copy(evaluator, node, operands);
}

// What gives no quantized tensor: comparisons, and the largest of all elements.
Result<Vals> ToNumbers(Evaluator& evaluator, const Node& node, Arguments arguments) {
  Vals operands(arguments.begin(), arguments.end());
  for (Val& operand : operands) {
    FLAMBEAU_TRY(operand, Dequantize(evaluator, operand));
  }
  return evaluator.CallOperator(node, operands);
}

constexpr BuiltinRow kMakers[] = {
    {"aten::_make_per_channel_quantized_tensor", &MakeOfIntegers},
    {"aten::_make_per_tensor_quantized_tensor", &MakeOfIntegers},
    {"aten::dequantize", &DequantizeOperator},
    {"aten::quantize_per_channel", &QuantizePerChannel},
    {"aten::quantize_per_tensor", &QuantizePerTensor},
    {"aten::quantize_per_tensor_dynamic", &OfKnownFlags<&QuantizeDynamically>},
};

struct KindsRow {
  Builtin function;
  std::string_view kinds;  // without "aten::"
};
constexpr KindsRow kOnQuantized[] = {
    {&AskIntegers, "dim is_contiguous numel size stride sym_size storage_offset is_complex"},
    {&Ask<Integers>, "int_repr"},
    {&Ask<NumberOfGrid<&Quantized::scale>>, "q_scale"},
    {&Ask<NumberOfGrid<&Quantized::zero_point>>, "q_zero_point"},
    {&Ask<NumbersOfGrid<&Quantized::scale, DType::kFloat64>>, "q_per_channel_scales"},
    {&Ask<NumbersOfGrid<&Quantized::zero_point, DType::kInt64>>, "q_per_channel_zero_points"},
    {&Ask<AxisOfGrid>, "q_per_channel_axis"},
    {&OnIntegers,
     "alias channel_shuffle chunk clone contiguous detach expand expand_as flatten flip index_select max max_pool1d max_pool2d "
     "max_pool3d min movedim narrow permute pixel_shuffle pixel_unshuffle repeat reshape roll select slice sort split "
     "split_with_sizes squeeze t tile topk transpose unbind unflatten unfold unsqueeze view view_as reshape_as "
     "index tensor_split rot90 numpy_T squeeze_ unsqueeze_ transpose_ t_"},
    {&Join, "cat stack"},
    {&ReluOfIntegers<false>, "relu"},
    {&ReluOfIntegers<true>, "relu_"},
    {&Same, "to cpu cuda dropout feature_dropout alpha_dropout dropout_"},
    {&Copy, "copy_"},
    {&OnNumbers,
     "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d avg_pool1d avg_pool2d avg_pool3d clamp clamp_max clamp_min elu "
     "celu hardsigmoid hardswish hardtanh leaky_relu mean relu6 sigmoid softmax tanh threshold upsample_bilinear2d "
     "upsample_nearest1d upsample_nearest2d upsample_nearest3d pad constant_pad_nd reflection_pad1d reflection_pad2d "
     "replication_pad2d masked_fill prelu __interpolate"},
    {&OnNumbersInPlace, "clamp_ hardtanh_ leaky_relu_ relu6_ hardsigmoid_ hardswish_ elu_ clamp_min_ clamp_max_"},
    {&ToNumbers, "eq ne lt le gt ge argmax argmin equal"},
};
constexpr BuiltinRow kAsked[] = {
    {"prim::ConstantChunk", &OnIntegers},
    {"prim::device", &AskIntegers},  {"prim::dtype", &Ask<Dtype>},         {"prim::is_quantized", &True},
    {"prim::is_cuda", &AskIntegers}, {"prim::layout", &AskIntegers},  {"prim::shape", &AskIntegers},
    {"quantized::max_pool1d", &MaxPool}, {"quantized::max_pool2d", &MaxPool},
};

}  // namespace

Builtin FindBuiltinOnQuantized(std::string_view kind) {
  static const auto* rows = [] {
    auto* map = new std::unordered_map<std::string, Builtin>;
    for (const KindsRow& row : kOnQuantized)
      for (std::string_view left = row.kinds; !left.empty();) {
        const size_t end = std::min(left.find(' '), left.size());
        map->emplace(fmt::format("aten::{}", left.substr(0, end)), row.function);
        left.remove_prefix(std::min(end + 1, left.size()));
      }
    for (const BuiltinRow& row : kAsked) map->emplace(row.kind, row.function);
    return map;
  }();
  const auto found = rows->find(std::string(kind));
  return found == rows->end() ? nullptr : found->second;
}

std::span<const BuiltinRow> QuantizedTensorBuiltins() { return kMakers; }

}  // namespace flambeau::script
