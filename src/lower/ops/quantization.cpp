// Quantizing and dequantizing, as QuantizeLinear and DequantizeLinear where
// ONNX has the integer type.
#include "lower/ops/quantization.h"

#include <algorithm>
#include <limits>

#include "support/numeric.h"

namespace flambeau::lower {
namespace {

// The smallest type that holds the grid's integers; int32 where none of a byte does.
DType TypeOf(const Grid& grid) {
  for (DType dtype : {DType::kInt8, DType::kUint8})
    if (const Limits limits = LimitsOf(dtype); limits.low <= grid.low && grid.high <= limits.high) return dtype;
  return DType::kInt32;
}

Tensor OverChannels(Lowering& to, Tensor values, const Grid& grid, const Tensor& x) {
  if (!grid.axis) return values.rank() == 1 ? to.SqueezeAt(values, {0}) : values;
  Ints trailing;
  for (int64_t i = to.Axis(*grid.axis, x) + 1; i < x.rank(); ++i) trailing.push_back(i - to.Axis(*grid.axis, x));
  return to.UnsqueezeAt(values, trailing);
}

Tensor AsFloat(Lowering& to, Tensor tensor) { return to.CastTo(tensor, DType::kFloat32); }

// round(x / scale) + zero point, before it is cut to the grid, as floats.
Tensor Unbounded(Lowering& to, Tensor x, const Grid& grid) {
  const Tensor inverse = to.Reciprocal(AsFloat(to, OverChannels(to, grid.scale, grid, x)));
  const Tensor rounded = to.Round(to.Mul(AsFloat(to, x), inverse));
  return to.Add(rounded, AsFloat(to, OverChannels(to, grid.zero_point, grid, x)));
}

onnx::QuantizeLinearAttributes QuantizeAxis(Lowering& to, const Grid& grid, const Tensor& x) {
  onnx::QuantizeLinearAttributes attributes;
  if (grid.axis) attributes.axis = to.Axis(*grid.axis, x);
  if (grid.block) attributes.block_size = *grid.block;
  return attributes;
}

Tensor Scalars(Lowering& to, Tensor values, const Grid& grid) {
  return !grid.axis && values.rank() == 1 ? to.SqueezeAt(values, {0}) : values;
}

// A constant of integers, with a byte for each; nothing if one of them needs more.
std::optional<TensorData> InBytes(Lowering& to, const Tensor& constant) {
  constexpr uint64_t kMost = 1 << 26;
  const flambeau::Value& value = to.graph()[constant.id()];
  if (value.kind != ValueKind::kConstant || !IsInteger(constant.dtype())) return std::nullopt;
  const TensorData& data = to.context()[value.data];
  const auto width = static_cast<size_t>(ByteSize(data.dtype));
  if (width == 1) return data;
  const auto stored = data.ReadAll(kMost);
  if (!stored || width == 0) return std::nullopt;
  const Limits limits = LimitsOf(DType::kInt8);
  std::vector<std::byte> bytes(stored->size() / width);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int64_t number = LoadInt(data.dtype, stored->data() + i * width);
    if (number < limits.low || number > limits.high) return std::nullopt;
    bytes[i] = static_cast<std::byte>(number);
  }
  return TensorData{.source = MakeBufferSource(std::move(bytes)), .dtype = DType::kInt8, .sizes = data.sizes};
}

// A weight on a grid of 4 bits as ONNX's type of those, two to a byte.
void NarrowToGrid(Lowering& to, Tensor* x, Grid* grid) {
  if (!to.narrows_weights() || to.opset() < 21 || ByteSize(x->dtype()) != 1) return;
  const DType dtype = grid->low < 0 ? DType::kInt4 : DType::kUint4;
  if (const Limits limits = LimitsOf(dtype); grid->low < limits.low || grid->high > limits.high) return;
  const auto narrowed = [&](const Tensor& constant) -> std::optional<Tensor> {
    const auto bytes = InBytes(to, constant);
    const auto numbers = bytes ? to.Narrow(*bytes, dtype) : std::nullopt;
    if (!numbers) return std::nullopt;
    const Symbol name = to.graph()[constant.id()].name;
    return to.Weight(to.context().Add(*numbers), name);
  };
  const auto zero_point = grid->zero_point ? narrowed(grid->zero_point) : Tensor();
  const auto weight = zero_point ? narrowed(*x) : std::nullopt;
  if (!weight) return;
  *x = *weight;
  grid->zero_point = *zero_point;
}

}  // namespace

Limits LimitsOf(DType dtype) {
  const int bits = static_cast<int>(PackedBytes(dtype, 8));
  if (bits == 64) return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  return IsSigned(dtype) ? Limits{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1}
                         : Limits{0, (int64_t{1} << bits) - 1};
}

bool IsQuantizedType(Lowering& to, DType dtype) {
  if (dtype == DType::kInt8 || dtype == DType::kUint8) return true;
  const bool is_newer = dtype == DType::kInt16 || dtype == DType::kUint16 || dtype == DType::kInt4 || dtype == DType::kUint4;
  return is_newer && to.opset() >= 21;
}

Tensor Quantize(Lowering& to, Tensor x, const Grid& grid, DType dtype) {
  auto bound = [&](int64_t value, DType type) { return to.NumberOf(value, type); };
  if (!IsQuantizedType(to, dtype)) {
    const Tensor cut = to.Clip(Unbounded(to, x, grid), bound(grid.low, DType::kFloat32), bound(grid.high, DType::kFloat32));
    return to.CastTo(cut, dtype);
  }
  const Tensor quantized =
      to.QuantizeLinear(AsFloat(to, x), AsFloat(to, Scalars(to, grid.scale, grid)),
                        to.CastTo(Scalars(to, grid.zero_point, grid), dtype), QuantizeAxis(to, grid, x));
  const Limits limits = LimitsOf(dtype);
  if (grid.low <= limits.low && grid.high >= limits.high) return quantized;
  return to.Clip(quantized, bound(grid.low, dtype), bound(grid.high, dtype));
}

Tensor Dequantize(Lowering& to, Tensor x, Grid grid, DType result) {
  NarrowToGrid(to, &x, &grid);
  if (IsQuantizedType(to, x.dtype())) {
    onnx::DequantizeLinearAttributes attributes;
    if (grid.axis) attributes.axis = to.Axis(*grid.axis, x);
    if (grid.block) attributes.block_size = *grid.block;
    const Tensor zero = grid.zero_point ? to.CastTo(Scalars(to, grid.zero_point, grid), x.dtype()) : Tensor();
    return to.CastTo(to.DequantizeLinear(x, AsFloat(to, Scalars(to, grid.scale, grid)), zero, attributes), result);
  }
  Tensor centered = AsFloat(to, x);
  if (grid.zero_point) centered = to.Sub(centered, AsFloat(to, OverChannels(to, grid.zero_point, grid, x)));
  return to.CastTo(to.Mul(centered, AsFloat(to, OverChannels(to, grid.scale, grid, x))), result);
}

namespace {

// --- quantized_decomposed -----------------------------------------------------------

Grid OfNumbers(Lowering& to, const Scalar& scale, Dim zero_point, int64_t low, int64_t high) {
  return {to.NumberOf(scale, DType::kFloat32), to.Number(zero_point), std::nullopt, low, high};
}

Tensor QuantizePerTensor(Lowering& to, Tensor input, Scalar scale, Dim zero_point, int64_t quant_min,
                         int64_t quant_max, DType dtype) {
  return Quantize(to, input, OfNumbers(to, scale, zero_point, quant_min, quant_max), dtype);
}
Tensor QuantizePerTensorOfTensors(Lowering& to, Tensor input, Tensor scale, Tensor zero_point, int64_t quant_min,
                                  int64_t quant_max, DType dtype) {
  return Quantize(to, input, {scale, zero_point, std::nullopt, quant_min, quant_max}, dtype);
}
Tensor QuantizePerChannel(Lowering& to, Tensor input, Tensor scales, Tensor zero_points, int64_t axis,
                          int64_t quant_min, int64_t quant_max, DType dtype) {
  return Quantize(to, input, {scales, zero_points, axis, quant_min, quant_max}, dtype);
}
Tensor DequantizePerTensor(Lowering& to, Tensor input, Scalar scale, Dim zero_point, int64_t quant_min,
                           int64_t quant_max, DType, std::optional<DType> out_dtype) {
  return Dequantize(to, input, OfNumbers(to, scale, zero_point, quant_min, quant_max),
                    out_dtype.value_or(DType::kFloat32));
}
Tensor DequantizePerTensorOfTensors(Lowering& to, Tensor input, Tensor scale, Tensor zero_point, int64_t quant_min,
                                    int64_t quant_max, DType, std::optional<DType> out_dtype) {
  return Dequantize(to, input, {scale, zero_point, std::nullopt, quant_min, quant_max},
                    out_dtype.value_or(DType::kFloat32));
}
Tensor DequantizePerChannel(Lowering& to, Tensor input, Tensor scales, std::optional<Tensor> zero_points, int64_t axis,
                            int64_t quant_min, int64_t quant_max, DType, std::optional<DType> out_dtype) {
  return Dequantize(to, input, {scales, zero_points.value_or(Tensor()), axis, quant_min, quant_max},
                    out_dtype.value_or(DType::kFloat32));
}

// x times the transposed weight, whose rows have a scale each.
Tensor WeightInt8Mm(Lowering& to, Tensor self, Tensor mat2, Tensor scales) {
  const Limits limits = LimitsOf(DType::kInt8);
  const Tensor weight = Dequantize(to, mat2, {scales, Tensor(), 0, limits.low, limits.high}, DType::kFloat32);
  return to.CastTo(to.MatMul(AsFloat(to, self), to.Transpose(weight, {.perm = {1, 0}})), self.dtype());
}

// The bounds are tensors too.
Tensor QuantizeWithin(Lowering& to, Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max,
                      DType dtype) {
  const Tensor unbounded = Unbounded(to, input, {scale, zero_point, std::nullopt, 0, 0});
  return to.CastTo(to.Min({to.Max({unbounded, AsFloat(to, quant_min)}), AsFloat(to, quant_max)}), dtype);
}
Tensor DequantizeWithin(Lowering& to, Tensor input, Tensor scale, Tensor zero_point, Tensor, Tensor, DType,
                        std::optional<DType> out_dtype) {
  const Limits limits = LimitsOf(input.dtype());
  return Dequantize(to, input, {scale, zero_point, std::nullopt, limits.low, limits.high}, out_dtype.value_or(DType::kFloat32));
}

// --- one grid for the rows of a tensor, or for groups of each --------------------------

// round(x / scale + zero point): unlike the other operators, these round the sum.
Tensor QuantizeRows(Lowering& to, Tensor x, Tensor scales, Tensor zero_points, int64_t low, int64_t high, DType dtype) {
  const Tensor scaled = to.Mul(AsFloat(to, x), to.Reciprocal(AsFloat(to, scales)));
  const Tensor rounded = to.Round(to.Add(scaled, AsFloat(to, zero_points)));
  return to.CastTo(to.Clip(rounded, to.NumberOf(low, DType::kFloat32), to.NumberOf(high, DType::kFloat32)), dtype);
}
Tensor DequantizeRows(Lowering& to, Tensor x, Tensor scales, std::optional<Tensor> zero_points, DType dtype) {
  Tensor centered = AsFloat(to, x);
  if (zero_points) centered = to.Sub(centered, AsFloat(to, *zero_points));
  return to.CastTo(to.Mul(centered, AsFloat(to, scales)), dtype);
}

Tensor QuantizePerToken(Lowering& to, Tensor input, Tensor scales, Tensor zero_points, int64_t quant_min,
                        int64_t quant_max, DType dtype) {
  return QuantizeRows(to, input, scales, zero_points, quant_min, quant_max, dtype);
}
Tensor DequantizePerToken(Lowering& to, Tensor input, Tensor scales, Tensor zero_points, int64_t, int64_t, DType,
                          DType output_dtype) {
  return DequantizeRows(to, input, scales, zero_points, output_dtype);
}

// A row for each group of columns; a group longer than the row is the row.
Tensor InGroups(Lowering& to, Tensor x, const Tensor& scales, int64_t group_size) {
  const auto columns = to.AsConstant(x.size(1));
  if (columns && group_size > *columns && to.AsConstant(scales.size(scales.rank() - 1)) == 1) group_size = *columns;
  return to.ReshapeTo(x, Ints{-1, group_size});
}
Tensor AsColumn(Lowering& to, Tensor x) { return to.ReshapeTo(x, Ints{-1, 1}); }
Tensor QuantizePerGroup(Lowering& to, Tensor input, Tensor scales, Tensor zero_points, int64_t quant_min,
                        int64_t quant_max, DType dtype, int64_t group_size) {
  const Tensor quantized = QuantizeRows(to, InGroups(to, input, scales, group_size), AsColumn(to, scales),
                                        AsColumn(to, zero_points), quant_min, quant_max, dtype);
  return to.ReshapeTo(quantized, input.sizes());
}
Tensor DequantizePerGroup(Lowering& to, Tensor input, Tensor scales, std::optional<Tensor> zero_points, int64_t,
                          int64_t, DType, int64_t group_size, DType output_dtype) {
  if (zero_points) zero_points = AsColumn(to, *zero_points);
  const Tensor groups = InGroups(to, input, scales, group_size);
  return to.ReshapeTo(DequantizeRows(to, groups, AsColumn(to, scales), zero_points, output_dtype), input.sizes());
}

// --- grids of what is to be quantized ----------------------------------------------------

using Parameters = std::tuple<Tensor, Tensor>;

// Of all elements, or of each row; zero is on the grid.
struct Extent {
  Tensor low, high;
};
Extent ExtentOf(Lowering& to, Tensor x, bool rows) {
  const Tensor axes = rows ? to.ConstantInts({x.rank() - 1}) : Tensor();
  const Tensor zero = to.NumberOf(0.0, DType::kFloat32), values = AsFloat(to, x);
  return {to.Min({to.ReduceMin(values, axes, {.keepdims = rows}), zero}),
          to.Max({to.ReduceMax(values, axes, {.keepdims = rows}), zero})};
}
Tensor ScaleOf(Lowering& to, Tensor range, double steps, double eps) {
  return to.Max({to.Div(range, to.NumberOf(steps, DType::kFloat32)), to.NumberOf(eps, DType::kFloat32)});
}
Parameters InTheirTypes(Lowering& to, Tensor scale, Tensor zero_point) {
  if (scale.rank() == 0) scale = to.UnsqueezeAt(scale, {0});
  if (zero_point.rank() == 0) zero_point = to.UnsqueezeAt(zero_point, {0});
  return {to.CastTo(scale, DType::kFloat64), to.CastTo(zero_point, DType::kInt64)};
}

Parameters ChooseParameters(Lowering& to, Tensor input, int64_t quant_min, int64_t quant_max, double eps, DType) {
  const auto [low, high] = ExtentOf(to, input, false);
  const Tensor scale = ScaleOf(to, to.Sub(high, low), static_cast<double>(quant_max - quant_min), eps);
  const Tensor bottom = to.NumberOf(quant_min, DType::kFloat32), top = to.NumberOf(quant_max, DType::kFloat32);
  return InTheirTypes(to, scale, to.Clip(to.Sub(bottom, to.Round(to.Div(low, scale))), bottom, top));
}
Parameters ChooseSymmetricParameters(Lowering& to, Tensor input, int64_t quant_min, int64_t quant_max, double eps,
                                     DType dtype) {
  const auto [low, high] = ExtentOf(to, input, false);
  const Tensor scale = ScaleOf(to, to.Max({to.Neg(low), high}), static_cast<double>(quant_max - quant_min) / 2, eps);
  return InTheirTypes(to, scale, to.ConstantInt(dtype == DType::kUint8 ? 128 : 0));
}

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
// Rows are quantized to int8 whatever the dtype.
constexpr int64_t kRowMin = -128, kRowMax = 127;

Parameters ChooseRowParameters(Lowering& to, Tensor input, DType) {
  const Tensor largest = to.ReduceMax(to.Abs(AsFloat(to, input)), to.ConstantInts({input.rank() - 1}), {.keepdims = 1});
  const Tensor scale = to.Div(to.Max({largest, to.NumberOf(1e-5, DType::kFloat32)}), to.NumberOf(double{kRowMax}, DType::kFloat32));
  return InTheirTypes(to, scale, to.CastTo(to.Mul(scale, to.NumberOf(0.0, DType::kFloat32)), DType::kInt64));
}
// The zero point comes from the end of the range at which the error is smaller.
Parameters ChooseAsymmetricRowParameters(Lowering& to, Tensor input, DType) {
  const auto [low, high] = ExtentOf(to, input, true);
  const Tensor scale = ScaleOf(to, to.Sub(high, low), double{kRowMax - kRowMin}, kEpsilon);
  const Tensor bottom = to.NumberOf(kRowMin, DType::kFloat32), top = to.NumberOf(kRowMax, DType::kFloat32);
  const Tensor least = to.Div(low, scale), most = to.Div(high, scale);
  const Tensor errors = to.Add(to.Add(bottom, least), to.Add(top, most));
  const Tensor zero_point = to.Where(to.Greater(errors, to.NumberOf(0.0, DType::kFloat32)), to.Sub(bottom, least), to.Sub(top, most));
  return InTheirTypes(to, scale, to.Round(to.Clip(zero_point, bottom, top)));
}

// --- fake quantization ----------------------------------------------------------------

bool IsZero(Lowering& to, const Tensor& zero_point) {
  const auto bytes = to.ConstantBytes(zero_point);
  return bytes && std::ranges::all_of(*bytes, [](std::byte each) { return each == std::byte{}; });
}

// The same grid in bytes without sign: from opset 21 on onnxruntime 1.31 writes models that it then refuses around int8 with a zero
// point (LegalizeRule of DequantizeLinear).
Grid AsUnsigned(Lowering& to, const Grid& grid) {
  constexpr int64_t kShift = 128;
  if (!to.widens_for_runtime() || to.opset() < 21 || grid.axis || TypeOf(grid) != DType::kInt8 || IsZero(to, grid.zero_point)) return grid;
  Grid shifted = grid;
  shifted.zero_point = to.Add(to.CastTo(grid.zero_point, DType::kInt64), to.ConstantInt(kShift));
  shifted.low += kShift;
  shifted.high += kShift;
  return shifted;
}

Tensor ThereAndBack(Lowering& to, Tensor x, const Grid& grid) {
  const Grid same = AsUnsigned(to, grid);
  return Dequantize(to, Quantize(to, x, same, TypeOf(same)), same, x.dtype());
}

// Which elements are not cut.
Tensor OnGrid(Lowering& to, Tensor x, const Grid& grid) {
  const Tensor place = Unbounded(to, x, grid);
  const auto end = [&](int64_t value) { return to.NumberOf(static_cast<double>(value), place.dtype()); };
  return to.Not(to.Or(to.Less(place, end(grid.low)), to.Greater(place, end(grid.high))));
}

Tensor FakeQuantize(Lowering& to, Tensor self, Scalar scale, Dim zero_point, int64_t quant_min,
                    int64_t quant_max) {
  return ThereAndBack(to, self, OfNumbers(to, scale, zero_point, quant_min, quant_max));
}
Tensor FakeQuantizeOfTensors(Lowering& to, Tensor self, Tensor scale, Tensor zero_point, int64_t quant_min,
                             int64_t quant_max) {
  return ThereAndBack(to, self, {scale, zero_point, std::nullopt, quant_min, quant_max});
}
Tensor FakeQuantizePerChannel(Lowering& to, Tensor self, Tensor scale, Tensor zero_point, int64_t axis,
                              int64_t quant_min, int64_t quant_max) {
  return ThereAndBack(to, self, {scale, zero_point, axis, quant_min, quant_max});
}

// A learnt zero point is a float, which is rounded and kept on the grid before it is used.
Tensor OnGrid(Lowering& to, Tensor zero_point, int64_t low, int64_t high) {
  const Tensor rounded = IsFloating(zero_point.dtype()) ? to.Round(zero_point) : zero_point;
  return to.Clip(rounded, to.NumberOf(low, rounded.dtype()), to.NumberOf(high, rounded.dtype()));
}

// Of scale and zero point, each a tensor of one dimension, the first counts.
Tensor FakeQuantizeLearnt(Lowering& to, Tensor self, Tensor scale, Tensor zero_point, int64_t quant_min,
                          int64_t quant_max, double) {
  auto first = [&](Tensor values) { return values.rank() == 0 ? values : to.Gather(values, to.ConstantInt(0)); };
  return ThereAndBack(to, self, {first(scale), OnGrid(to, first(zero_point), quant_min, quant_max), std::nullopt, quant_min, quant_max});
}
Tensor FakeQuantizeLearntPerChannel(Lowering& to, Tensor self, Tensor scale, Tensor zero_point, int64_t axis,
                                    int64_t quant_min, int64_t quant_max, double) {
  return ThereAndBack(to, self, {scale, OnGrid(to, zero_point, quant_min, quant_max), axis, quant_min, quant_max});
}

// --- fake quantization on a grid that follows what is seen --------------------------------

// As PyTorch chooses a grid for what lies between `low` and `high`; zero is on it, in the middle where it is symmetric.
std::pair<Tensor, Tensor> ChooseGrid(Lowering& to, Tensor low, Tensor high, int64_t quant_min, int64_t quant_max, bool symmetric) {
  constexpr double kSmallest = 6.1e-5, kOfNothing = 0.1;
  const auto number = [&](double value) { return to.NumberOf(value, DType::kFloat64); };
  // The ends of the range are floats, and the rest is computed in double.
  const auto as_float = [&](Tensor x) { return to.CastTo(AsFloat(to, x), DType::kFloat64); };
  const Tensor zero = number(0), steps = number(static_cast<double>(quant_max - quant_min));
  low = to.Min({to.CastTo(low, DType::kFloat64), zero});
  high = to.Max({to.CastTo(high, DType::kFloat64), zero});
  const Tensor around = to.And(to.Less(low, zero), to.Greater(high, zero));
  if (symmetric) {
    const int64_t half = (quant_max - quant_min) / 2;
    const Tensor most = number(static_cast<double>(half)), least = number(static_cast<double>(-half - 1));
    const Tensor widest = to.Max({to.Abs(to.Div(low, least)), to.Abs(to.Div(high, most))});
    low = to.Where(around, as_float(to.Mul(widest, least)), low);
    high = to.Where(around, as_float(to.Mul(widest, most)), high);
  }
  Tensor scale = to.Div(to.Sub(high, low), steps);
  scale = to.Where(to.Equal(AsFloat(to, scale), to.NumberOf(0.0, DType::kFloat32)), number(kOfNothing), scale);
  const Tensor small = to.Less(scale, number(kSmallest)), wide = number(kSmallest * static_cast<double>(quant_max - quant_min));
  const Tensor wider = to.Div(number(kSmallest), scale);
  const auto widened = [&](Tensor end, Tensor other, Tensor alone) {
    return to.Where(small, as_float(to.Where(to.Equal(other, zero), alone, to.Mul(end, wider))), end);
  };
  const Tensor before = low;
  low = widened(low, high, to.Neg(wide));
  high = widened(high, before, wide);
  scale = to.Max({scale, number(kSmallest)});
  const Tensor bottom = number(static_cast<double>(quant_min)), top = number(static_cast<double>(quant_max));
  const Tensor least = to.Div(low, scale), most = to.Div(high, scale);
  const Tensor from_low = to.Less(to.Add(to.Abs(bottom), to.Abs(least)), to.Add(to.Abs(top), to.Abs(most)));
  Tensor zero_point = to.Where(from_low, to.Sub(bottom, least), to.Sub(top, most));
  if (symmetric) zero_point = to.Where(around, number(static_cast<double>(quant_min + quant_max) / 2), zero_point);
  return {AsFloat(to, scale), to.Round(to.Min({to.Max({zero_point, bottom}), top}))};
}

struct Observed {
  Tensor output, low, high, scale, zero_point;
  Grid grid;
};
// The flags are tensors of one number.
Observed Observe(Lowering& to, Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale,
                 Tensor zero_point, double averaging_const, int64_t quant_min, int64_t quant_max, int64_t ch_axis, bool per_row,
                 bool symmetric) {
  const auto is_on = [&](Tensor flag) {
    const Tensor number = to.CastTo(to.ReshapeTo(flag, Ints{}), DType::kInt64);
    return to.Not(to.Equal(number, to.ConstantInt(0)));
  };
  Ints others;
  for (int64_t axis = 0; axis < self.rank(); ++axis)
    if (!per_row || axis != to.Axis(ch_axis, self)) others.push_back(axis);
  const Tensor values = AsFloat(to, self), axes = to.ConstantInts(others), observes = is_on(observer_on);
  const auto followed = [&](Tensor running, Tensor now) {
    now = to.ReshapeTo(now, running.sizes());
    const Tensor unset = to.Equal(to.Abs(running), to.NumberOf(std::numeric_limits<double>::infinity(), running.dtype()));
    const Tensor moved = to.Add(running, to.Mul(to.NumberOf(averaging_const, running.dtype()), to.Sub(now, running)));
    return to.Where(observes, to.Where(unset, now, moved), running);
  };
  const Tensor low = followed(running_min, to.ReduceMin(values, axes, {.keepdims = 0}));
  const Tensor high = followed(running_max, to.ReduceMax(values, axes, {.keepdims = 0}));
  const auto [new_scale, new_zero_point] = ChooseGrid(to, low, high, quant_min, quant_max, symmetric);
  // The grid is chosen where it is used, whether something was observed or not.
  const Tensor quantizes = is_on(fake_quant_on);
  scale = to.Where(quantizes, to.CastTo(to.ReshapeTo(new_scale, scale.sizes()), scale.dtype()), scale);
  zero_point = to.Where(quantizes, to.CastTo(to.ReshapeTo(new_zero_point, zero_point.sizes()), zero_point.dtype()), zero_point);
  const Grid grid = {scale, zero_point, per_row ? std::optional(ch_axis) : std::nullopt, quant_min, quant_max};
  return {to.Where(quantizes, ThereAndBack(to, self, grid), self), low, high, scale, zero_point, grid};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> ObserveAndFakeQuantize(
    Lowering& to, Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale,
    Tensor zero_point, double averaging_const, int64_t quant_min, int64_t quant_max, int64_t ch_axis, bool per_row, bool symmetric) {
  const Observed seen = Observe(to, self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const,
                                quant_min, quant_max, ch_axis, per_row, symmetric);
  return {seen.output, seen.low, seen.high, seen.scale, seen.zero_point};
}
// And which elements lie on the grid.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> ObserveWithMask(
    Lowering& to, Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale,
    Tensor zero_point, double averaging_const, int64_t quant_min, int64_t quant_max, int64_t ch_axis, bool per_row, bool symmetric) {
  const Observed seen = Observe(to, self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const,
                                quant_min, quant_max, ch_axis, per_row, symmetric);
  const Tensor off = to.Equal(to.CastTo(to.ReshapeTo(fake_quant_on, Ints{}), DType::kInt64), to.ConstantInt(0));
  return {seen.output, to.Or(OnGrid(to, self, seen.grid), off), seen.low, seen.high, seen.scale, seen.zero_point};
}

using WithMask = std::tuple<Tensor, Tensor>;

WithMask FakeQuantizeWithMask(Lowering& to, Tensor self, Scalar scale, Dim zero_point, int64_t quant_min, int64_t quant_max) {
  const Grid grid = OfNumbers(to, scale, zero_point, quant_min, quant_max);
  return {ThereAndBack(to, self, grid), OnGrid(to, self, grid)};
}
WithMask FakeQuantizePerChannelWithMask(Lowering& to, Tensor self, Tensor scale, Tensor zero_point, int64_t axis,
                                        int64_t quant_min, int64_t quant_max) {
  const Grid grid{scale, zero_point, axis, quant_min, quant_max};
  return {ThereAndBack(to, self, grid), OnGrid(to, self, grid)};
}
// Where it is not enabled, the elements stay.
WithMask FakeQuantizeOfTensorsWithMask(Lowering& to, Tensor self, Tensor scale, Tensor zero_point, Tensor fake_quant_enabled,
                                       int64_t quant_min, int64_t quant_max) {
  const Grid grid{scale, zero_point, std::nullopt, quant_min, quant_max};
  const Tensor off = to.Equal(to.CastTo(to.ReshapeTo(fake_quant_enabled, Ints{}), DType::kInt64), to.ConstantInt(0));
  return {to.Where(off, self, ThereAndBack(to, self, grid)), to.Or(OnGrid(to, self, grid), off)};
}

constexpr OpRow kRows[] = {
    Op<FakeQuantizeLearntPerChannel>("aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor "
                                     "zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> Tensor"),
    Op<FakeQuantizeLearnt>("aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, "
                           "int quant_min, int quant_max, float grad_factor=1.) -> Tensor"),
    Op<FakeQuantizeOfTensorsWithMask>("aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, "
                                      "Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor "
                                      "output, Tensor mask)"),
    Op<ObserveWithMask>("aten::_fused_moving_avg_obs_fq_helper_functional(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor "
                        "running_min, Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int "
                        "quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor "
                        "mask, Tensor running_min_out, Tensor running_max_out, Tensor scale_out, Tensor zero_point_out)"),
    Op<WeightInt8Mm>("aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor"),
    Op<FakeQuantizePerChannel>("aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, "
                               "int axis, int quant_min, int quant_max) -> Tensor"),
    Op<FakeQuantizePerChannelWithMask>("aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor "
                                       "zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)"),
    Op<FakeQuantize>("aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, "
                     "int quant_max) -> Tensor"),
    Op<FakeQuantizeOfTensors>("aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor "
                              "zero_point, int quant_min, int quant_max) -> Tensor"),
    Op<FakeQuantizeWithMask>("aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int "
                             "quant_min, int quant_max) -> (Tensor output, Tensor mask)"),
    Op<ObserveAndFakeQuantize>("flambeau::fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor "
                               "running_min, Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int "
                               "quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> "
                               "(Tensor, Tensor, Tensor, Tensor, Tensor)"),
    Op<ChooseAsymmetricRowParameters>("quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, "
                                      "ScalarType dtype) -> (Tensor, Tensor)"),
    Op<ChooseParameters>("quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float "
                         "eps, ScalarType dtype) -> (Tensor, Tensor)"),
    Op<ChooseRowParameters>("quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, "
                            "Tensor)"),
    Op<ChooseAsymmetricRowParameters>("quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, "
                                      "ScalarType dtype) -> (Tensor, Tensor)"),
    Op<ChooseSymmetricParameters>("quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, "
                                  "int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"),
    Op<DequantizePerChannel>(
        "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int "
        "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"),
    Op<DequantizePerGroup>("quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? "
                           "zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType "
                           "output_dtype) -> Tensor"),
    Op<DequantizePerTensor>(
        "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int "
        "quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"),
    Op<DequantizePerTensorOfTensors>(
        "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
        "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"),
    Op<DequantizeWithin>("quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor "
                         "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? "
                         "out_dtype=None) -> Tensor"),
    Op<DequantizePerToken>("quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, "
                           "int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor"),
    Op<FakeQuantizePerChannel>("quantized_decomposed::fake_quant_per_channel(Tensor input, Tensor scales, Tensor "
                               "zero_points, int axis, int quant_min, int quant_max) -> Tensor"),
    Op<QuantizePerChannel>(
        "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
        "quant_min, int quant_max, ScalarType dtype) -> Tensor"),
    Op<QuantizePerGroup>("quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor "
                         "zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor"),
    Op<QuantizePerTensor>("quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int "
                          "quant_min, int quant_max, ScalarType dtype) -> Tensor"),
    Op<QuantizePerTensorOfTensors>(
        "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
        "quant_min, int quant_max, ScalarType dtype) -> Tensor"),
    Op<QuantizeWithin>("quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, "
                       "Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor"),
    Op<QuantizePerToken>("quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int "
                         "quant_min, int quant_max, ScalarType dtype) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Quantization() { return kRows; }

}  // namespace flambeau::lower
