#include "script/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "script/builtins/builtins.h"

namespace flambeau::script {
namespace {

// c10's numbers of qint8, quint8, qint32 and of what torch stores them in.
struct QuantizedDtype {
  int64_t code;
  DType integers;
};
constexpr QuantizedDtype kDtypes[] = {{12, DType::kInt8}, {13, DType::kUint8}, {14, DType::kInt32}};

struct Limits {
  int64_t low, high;
};
Limits LimitsOf(DType integers) {
  const int bits = static_cast<int>(ByteSize(integers)) * 8 - (IsSigned(integers) ? 1 : 0);
  const int64_t high = std::numeric_limits<int64_t>::max() >> std::max(63 - bits, 0);
  return {IsSigned(integers) ? -high - 1 : 0, high};
}

int64_t Code(DType dtype) { return Info(dtype).torch_code; }

bool IsConstantGrid(const Grid& grid) { return grid.scale.Is<double>() && grid.zero_point.AsInt().has_value(); }

// Scale and zero point as tensors.
Result<Grid> InTensors(Emitter& emit, const Grid& grid) {
  FLAMBEAU_TRY(Val scale, emit.NumberTensor(grid.scale, DType::kFloat32));
  FLAMBEAU_TRY(Val zero_point, emit.NumberTensor(grid.zero_point));
  return Grid{std::move(scale), std::move(zero_point), grid.axis};
}

bool SameNumber(const Val& a, const Val& b) {
  if (a.Is<double>() && b.Is<double>()) return *a.As<double>() == *b.As<double>();
  if (a.AsInt() && b.AsInt()) return *a.AsInt() == *b.AsInt();
  const auto *x = a.As<TensorVal>(), *y = b.As<TensorVal>();
  const auto *m = a.As<NumberVal>(), *n = b.As<NumberVal>();
  return (x != nullptr && y != nullptr && x->id == y->id) || (m != nullptr && n != nullptr && m->id == n->id);
}

// A grid whose zero points lie between integers: of the rows of an embedding.
bool IsBetweenIntegers(Evaluator& evaluator, const Grid& grid) {
  const auto* zero_points = grid.zero_point.As<TensorVal>();
  return grid.axis && zero_points != nullptr && IsFloating(evaluator.TypeOf(*zero_points).dtype);
}

// Its scales and zero points as floats, along the axis.
Result<Grid> AlongAxis(Evaluator& evaluator, const Grid& grid, size_t rank) {
  Emitter& emit = evaluator.emit();
  Vals places;
  for (size_t i = 0; i < rank; ++i) places.emplace_back(int64_t{static_cast<int64_t>(i) == *grid.axis ? -1 : 1});
  auto in_place = [&](const Val& numbers) -> Result<Val> {
    FLAMBEAU_TRY(const Val floats, emit.Call1("aten::to.dtype", {numbers, Code(DType::kFloat32)}));
    return emit.Call1("aten::reshape", {floats, evaluator.List(places)});
  };
  FLAMBEAU_TRY(Val scales, in_place(grid.scale));
  FLAMBEAU_TRY(Val zero_points, in_place(grid.zero_point));
  return Grid{std::move(scales), std::move(zero_points), grid.axis};
}

Result<Val> DequantizeRows(Evaluator& evaluator, const Quantized& tensor) {
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const Grid grid, AlongAxis(evaluator, GridOf(tensor), evaluator.TypeOf(tensor.data).rank()));
  FLAMBEAU_TRY(const Val floats, emit.Call1("aten::to.dtype", {tensor.data, Code(DType::kFloat32)}));
  FLAMBEAU_TRY(const Val centered, emit.Call1("aten::sub.Tensor", {floats, grid.zero_point}));
  return emit.Call1("aten::mul.Tensor", {centered, grid.scale});
}

Result<Val> QuantizeRows(Evaluator& evaluator, const Val& floats, const Grid& of_rows, Limits limits, DType integers) {
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const Grid grid, AlongAxis(evaluator, of_rows, evaluator.TypeOf(*floats.As<TensorVal>()).rank()));
  FLAMBEAU_TRY(const Val inverse, emit.Call1("aten::reciprocal", {grid.scale}));
  FLAMBEAU_TRY(const Val scaled, emit.Call1("aten::mul.Tensor", {floats, inverse}));
  FLAMBEAU_TRY(const Val moved, emit.Call1("aten::add.Tensor", {scaled, grid.zero_point}));
  FLAMBEAU_TRY(const Val rounded, emit.Call1("aten::round", {moved}));
  FLAMBEAU_TRY(const Val clamped, emit.Call1("aten::clamp", {rounded, limits.low, limits.high}));
  return emit.Call1("aten::to.dtype", {clamped, Code(integers)});
}

}  // namespace

Failure Malformed(Evaluator& evaluator) {
  return evaluator.sink().Error(DiagnosticKind::kBadProgram, "is not called as torch calls it");
}

std::optional<DType> IntegersOf(int64_t torch_code) {
  for (const QuantizedDtype& row : kDtypes)
    if (row.code == torch_code) return row.integers;
  return std::nullopt;
}

int64_t QuantizedCode(DType integers) {
  for (const QuantizedDtype& row : kDtypes)
    if (row.integers == integers) return row.code;
  return Code(integers);
}

bool IsOfQuantized(DType integers) {
  return std::ranges::any_of(kDtypes, [&](const QuantizedDtype& row) { return row.integers == integers; });
}

bool SameGrid(const Quantized& a, const Quantized& b) {
  return a.axis == b.axis && SameNumber(a.scale, b.scale) && SameNumber(a.zero_point, b.zero_point);
}

Val MakeQuantized(TensorVal data, Grid grid) {
  return QuantizedVal{std::make_shared<const Quantized>(
      Quantized{data, std::move(grid.scale), std::move(grid.zero_point), grid.axis})};
}

Result<Val> Quantize(Evaluator& evaluator, const Val& floats, Grid grid, DType integers) {
  if (!floats.Is<TensorVal>()) return Malformed(evaluator);
  Emitter& emit = evaluator.emit();
  const Limits limits = LimitsOf(integers);
  Val data;
  if (IsConstantGrid(grid)) {
    FLAMBEAU_TRY(data, emit.Call1("quantized_decomposed::quantize_per_tensor",
                                  {floats, grid.scale, grid.zero_point, limits.low, limits.high, Code(integers)}));
  } else if (!grid.axis) {
    FLAMBEAU_TRY(grid, InTensors(emit, grid));
    FLAMBEAU_TRY(data, emit.Call1("quantized_decomposed::quantize_per_tensor.tensor",
                                  {floats, grid.scale, grid.zero_point, limits.low, limits.high, Code(integers)}));
  } else if (IsBetweenIntegers(evaluator, grid)) {
    FLAMBEAU_TRY(data, QuantizeRows(evaluator, floats, grid, limits, integers));
  } else {
    FLAMBEAU_TRY(data, emit.Call1("quantized_decomposed::quantize_per_channel",
                                  {floats, grid.scale, grid.zero_point, *grid.axis, limits.low, limits.high, Code(integers)}));
  }
  return MakeQuantized(*data.As<TensorVal>(), std::move(grid));
}

Result<Val> Dequantize(Evaluator& evaluator, const Val& tensor) {
  const auto* value = tensor.As<QuantizedVal>();
  if (value == nullptr) return tensor;
  Emitter& emit = evaluator.emit();
  const Quantized& quantized = *value->value;
  const DType integers = evaluator.TypeOf(quantized.data).dtype;
  const Limits limits = LimitsOf(integers);
  Grid grid = GridOf(quantized);
  if (IsConstantGrid(grid))
    return emit.Call1("quantized_decomposed::dequantize_per_tensor",
                      {quantized.data, grid.scale, grid.zero_point, limits.low, limits.high, Code(integers)});
  if (!grid.axis) {
    FLAMBEAU_TRY(grid, InTensors(emit, grid));
    return emit.Call1("quantized_decomposed::dequantize_per_tensor.tensor",
                      {quantized.data, grid.scale, grid.zero_point, limits.low, limits.high, Code(integers)});
  }
  if (IsBetweenIntegers(evaluator, grid)) return DequantizeRows(evaluator, quantized);
  return emit.Call1("quantized_decomposed::dequantize_per_channel",
                    {quantized.data, grid.scale, grid.zero_point, *grid.axis, limits.low, limits.high, Code(integers)});
}

Result<Grid> ChooseGrid(Evaluator& evaluator, const Val& floats, DType integers, bool reduce_range) {
  constexpr double kSmallestScale = 6.1e-5;  // fbgemm's
  const Limits limits = LimitsOf(integers);
  const int64_t part = reduce_range ? 2 : 1;
  FLAMBEAU_TRY(Vals grid, evaluator.emit().Call("quantized_decomposed::choose_qparams.tensor",
                                                {floats, limits.low / part, limits.high / part, kSmallestScale, Code(integers)}));
  return Grid{std::move(grid[0]), std::move(grid[1]), std::nullopt};
}

Result<Val> RoundDynamically(Evaluator& evaluator, const Val& floats, bool reduce_range) {
  FLAMBEAU_TRY(Grid grid, ChooseGrid(evaluator, floats, DType::kUint8, reduce_range));
  FLAMBEAU_TRY(const Val rounded, Quantize(evaluator, floats, std::move(grid), DType::kUint8));
  return Dequantize(evaluator, rounded);
}

bool HoldsQuantized(const Val& value, const Heap& heap) {
  if (value.Is<QuantizedVal>()) return true;
  const auto any = [&](const Vals& elements) {
    return std::ranges::any_of(elements, [](const Val& element) { return element.Is<QuantizedVal>(); });
  };
  if (const auto* tuple = value.As<TupleVal>()) return any(*tuple->elements);
  if (const auto* list = value.As<ListVal>()) return any(heap[list->cell].elements);
  return false;
}

// --- packed weights ------------------------------------------------------------------------

namespace {

Failure Broken(Evaluator& evaluator, std::string_view class_name) {
  return evaluator.sink().Error(DiagnosticKind::kBadProgram,
                                fmt::format("the state of a {} is not what torch writes", class_name));
}

// The integers of a list, of a constant tensor or of a list of them.
std::optional<std::vector<int64_t>> Integers(Evaluator& evaluator, const Val& value) {
  constexpr uint64_t kMost = 1024;
  std::vector<int64_t> integers;
  if (const auto* tensor = value.As<TensorVal>()) {
    const Graph& graph = evaluator.emit().graph();
    if (graph[tensor->id].kind != ValueKind::kConstant) return std::nullopt;
    const TensorData& data = evaluator.context()[graph[tensor->id].data];
    const auto bytes = data.ReadAll(kMost);
    if (!bytes || (data.dtype != DType::kInt16 && data.dtype != DType::kInt64)) return std::nullopt;
    const auto width = static_cast<size_t>(ByteSize(data.dtype));
    for (size_t at = 0; at + width <= bytes->size(); at += width) {
      int16_t narrow = 0;
      int64_t wide = 0;
      if (width == sizeof narrow) std::memcpy(&narrow, bytes->data() + at, width);
      if (width == sizeof wide) std::memcpy(&wide, bytes->data() + at, width);
      integers.push_back(narrow + wide);
    }
    return integers;
  }
  const Vals* elements = ElementsOf(value, evaluator.heap());
  if (elements == nullptr) return std::nullopt;
  for (const Val& element : *elements) {
    if (const auto integer = element.AsInt()) {
      integers.push_back(*integer);
      continue;
    }
    const auto inner = element.Is<TensorVal>() ? Integers(evaluator, element) : std::nullopt;
    if (!inner) return std::nullopt;
    integers.insert(integers.end(), inner->begin(), inner->end());
  }
  return integers;
}

// [dims, stride…, padding…, dilation…, output padding…, groups, flags]; flag 1: transposed
bool TakeGeometry(std::span<const int64_t> numbers, PackedWeights& weights) {
  if (numbers.empty() || numbers[0] < 1 || numbers[0] > 3) return false;
  const auto dims = static_cast<size_t>(numbers[0]);
  if (numbers.size() != 1 + 4 * dims + 2) return false;
  auto next = numbers.begin() + 1;
  for (Vals* list : {&weights.stride, &weights.padding, &weights.dilation, &weights.output_padding})
    for (size_t i = 0; i < dims; ++i) list->emplace_back(*next++);
  weights.groups = *next++;
  weights.transposed = (*next & 1) != 0;
  return true;
}

// The oldest form: weight, bias, stride, padding, dilation, groups, each number in a tensor.
bool TakeOldGeometry(Evaluator& evaluator, const Vals& state, PackedWeights& weights) {
  Vals* const lists[] = {&weights.stride, &weights.padding, &weights.dilation};
  for (size_t i = 0; i < std::size(lists); ++i) {
    const auto numbers = Integers(evaluator, state[2 + i]);
    if (!numbers) return false;
    lists[i]->assign(numbers->begin(), numbers->end());
  }
  const auto groups = Integers(evaluator, state[5]);
  if (!groups || groups->size() != 1) return false;
  weights.groups = groups->front();
  weights.output_padding.assign(weights.stride.size(), int64_t{0});
  return true;
}

Val FirstOf(const Vals* list) { return list == nullptr || list->empty() ? Val(Nothing{}) : list->front(); }

std::optional<PackedWeights> ConvolutionFrom(Evaluator& evaluator, const Vals& state) {
  PackedWeights weights;
  const Vals* tensors = state.size() == 3 ? ElementsOf(state[state[0].Is<std::string>() ? 1 : 2], evaluator.heap()) : nullptr;
  std::optional<std::vector<int64_t>> geometry;
  if (tensors != nullptr && state[0].Is<std::string>() && tensors->size() == 2) {  // version "2": (tensors, optional tensors)
    geometry = Integers(evaluator, (*tensors)[0]);
    weights.weight = (*tensors)[1];
    weights.bias = FirstOf(ElementsOf(state[2], evaluator.heap()));
  } else if (tensors != nullptr && state[0].Is<int64_t>() && tensors->size() == 3) {  // version 3: (integers, optional tensors)
    geometry = Integers(evaluator, state[1]);
    weights.weight = (*tensors)[1];
    weights.bias = (*tensors)[2];
  } else if (state.size() == 6) {
    weights.weight = state[0];
    weights.bias = state[1];
    if (!TakeOldGeometry(evaluator, state, weights)) return std::nullopt;
    return weights;
  }
  if (!geometry || !TakeGeometry(*geometry, weights)) return std::nullopt;
  return weights;
}

void SetWeights(Evaluator& evaluator, uint32_t cell, PackedWeights weights) {
  std::pair<std::string, Val> attributes[] = {
      {"weight", std::move(weights.weight)},
      {"bias", std::move(weights.bias)},
      {"stride", Evaluator::Tuple(std::move(weights.stride))},
      {"padding", Evaluator::Tuple(std::move(weights.padding))},
      {"dilation", Evaluator::Tuple(std::move(weights.dilation))},
      {"output_padding", Evaluator::Tuple(std::move(weights.output_padding))},
      {"groups", weights.groups},
      {"transposed", weights.transposed},
      {"low", std::move(weights.low)},
      {"high", std::move(weights.high)},
  };
  for (auto& [name, value] : attributes) (void)evaluator.SetAttribute(cell, name, std::move(value));
}

}  // namespace

Val Pack(Evaluator& evaluator, PackedWeights weights) {
  const uint32_t cell = evaluator.heap().Add({});
  SetWeights(evaluator, cell, std::move(weights));
  return ObjectVal{cell};
}

Result<PackedWeights> Unpack(Evaluator& evaluator, const Val& object) {
  const auto* value = object.As<ObjectVal>();
  PackedWeights weights;
  bool found = false;
  if (value != nullptr)
    for (const auto& [name, attribute] : evaluator.heap()[value->cell].attributes) {
      const Vals* numbers = ElementsOf(attribute, evaluator.heap());
      if (name == "weight") weights.weight = attribute, found = true;
      if (name == "bias") weights.bias = attribute;
      if (name == "groups") weights.groups = attribute.AsInt().value_or(1);
      if (name == "transposed") weights.transposed = attribute.AsInt().value_or(0) != 0;
      if (name == "low") weights.low = attribute;
      if (name == "high") weights.high = attribute;
      if (numbers == nullptr) continue;
      if (name == "stride") weights.stride = *numbers;
      if (name == "padding") weights.padding = *numbers;
      if (name == "dilation") weights.dilation = *numbers;
      if (name == "output_padding") weights.output_padding = *numbers;
    }
  if (!found) return evaluator.Unsupported("uses weights packed in a form that is not known");
  return weights;
}

Status RestorePacked(Evaluator& evaluator, uint32_t cell, std::string_view class_name, const Val& state) {
  std::string_view name = class_name;
  if (name.starts_with(kPackedClasses)) name.remove_prefix(kPackedClasses.size());
  const Vals* fields = ElementsOf(state, evaluator.heap());
  if (name == "quantized.LinearPackedParamsBase") {
    if (fields == nullptr || fields->size() != 2) return Broken(evaluator, name);
    SetWeights(evaluator, cell, {.weight = (*fields)[0], .bias = (*fields)[1]});
  } else if (name.starts_with("quantized.Conv")) {
    auto weights = fields != nullptr ? ConvolutionFrom(evaluator, *fields) : std::nullopt;
    if (!weights) return Broken(evaluator, name);
    SetWeights(evaluator, cell, *std::move(weights));
  } else if (name.starts_with("xnnpack.")) {
    auto weights = fields != nullptr ? ClampedWeights(evaluator, Vals(*fields), name == "xnnpack.TransposeConv2dOpContext") : std::nullopt;
    if (!weights) return Broken(evaluator, name);
    SetWeights(evaluator, cell, *std::move(weights));
  } else if (name == "quantized.EmbeddingPackedParamsBase") {  // (version, [weight], [], [bits])
    const Vals* tensors = fields != nullptr && fields->size() == 4 ? ElementsOf((*fields)[1], evaluator.heap()) : nullptr;
    if (tensors == nullptr || tensors->size() != 1) return Broken(evaluator, name);
    SetWeights(evaluator, cell, {.weight = (*tensors)[0], .bias = Nothing{}});
  } else if (name == "rnn.CellParamsBase") {  // (kind, tensors, floats, integers, packed weights)
    if (fields == nullptr || fields->size() != 5 || !(*fields)[0].Is<std::string>()) return Broken(evaluator, name);
    const std::pair<std::string_view, size_t> attributes[] = {{"kind", 0}, {"tensors", 1}, {"integers", 3}, {"packed", 4}};
    const Vals values = *fields;
    for (const auto& [attribute, at] : attributes)
      FLAMBEAU_CHECK_OK(evaluator.SetAttribute(cell, attribute, values[at]));
  }
  return {};
}

}  // namespace flambeau::script
