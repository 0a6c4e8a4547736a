// Quantizing and dequantizing, as QuantizeLinear and DequantizeLinear where
// ONNX has the integer type.
#include <limits>

#include "lower/op.h"

namespace flambeau::lower {
namespace {

// One scale and zero point, or one for each index of `axis`; the integers lie in [low, high].
struct Grid {
  Tensor scale, zero_point;
  std::optional<int64_t> axis;
  int64_t low, high;
};

bool IsQuantizedType(Lowering& to, DType dtype) {
  if (dtype == DType::kInt8 || dtype == DType::kUint8) return true;
  return (dtype == DType::kInt16 || dtype == DType::kUint16) && to.opset() >= 21;
}

struct Limits {
  int64_t low, high;
};
Limits LimitsOf(DType dtype) {
  const int bits = static_cast<int>(ByteSize(dtype)) * 8;
  if (bits == 64) return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  return IsSigned(dtype) ? Limits{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1}
                         : Limits{0, (int64_t{1} << bits) - 1};
}

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
  return attributes;
}

Tensor Scalars(Lowering& to, Tensor values, const Grid& grid) {
  return !grid.axis && values.rank() == 1 ? to.SqueezeAt(values, {0}) : values;
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

Tensor Dequantize(Lowering& to, Tensor x, const Grid& grid, DType result) {
  if (IsQuantizedType(to, x.dtype())) {
    onnx::DequantizeLinearAttributes attributes;
    if (grid.axis) attributes.axis = to.Axis(*grid.axis, x);
    const Tensor zero = grid.zero_point ? to.CastTo(Scalars(to, grid.zero_point, grid), x.dtype()) : Tensor();
    return to.CastTo(to.DequantizeLinear(x, AsFloat(to, Scalars(to, grid.scale, grid)), zero, attributes), result);
  }
  Tensor centered = AsFloat(to, x);
  if (grid.zero_point) centered = to.Sub(centered, AsFloat(to, OverChannels(to, grid.zero_point, grid, x)));
  return to.CastTo(to.Mul(centered, AsFloat(to, OverChannels(to, grid.scale, grid, x))), result);
}

// --- quantized_decomposed -----------------------------------------------------------

Grid OfNumbers(Lowering& to, double scale, int64_t zero_point, int64_t low, int64_t high) {
  return {to.NumberOf(scale, DType::kFloat32), to.ConstantInt(zero_point), std::nullopt, low, high};
}

Tensor QuantizePerTensor(Lowering& to, Tensor input, double scale, int64_t zero_point, int64_t quant_min,
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
Tensor DequantizePerTensor(Lowering& to, Tensor input, double scale, int64_t zero_point, int64_t quant_min,
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

// --- fake quantization ----------------------------------------------------------------

Tensor ThereAndBack(Lowering& to, Tensor x, const Grid& grid) {
  return Dequantize(to, Quantize(to, x, grid, TypeOf(grid)), grid, x.dtype());
}

Tensor FakeQuantize(Lowering& to, Tensor self, double scale, int64_t zero_point, int64_t quant_min,
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

constexpr OpRow kRows[] = {
    Op<FakeQuantizePerChannel>("aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, "
                               "int axis, int quant_min, int quant_max) -> Tensor"),
    Op<FakeQuantize>("aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, "
                     "int quant_max) -> Tensor"),
    Op<FakeQuantizeOfTensors>("aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor "
                              "zero_point, int quant_min, int quant_max) -> Tensor"),
    Op<DequantizePerChannel>(
        "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int "
        "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"),
    Op<DequantizePerTensor>(
        "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int "
        "quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"),
    Op<DequantizePerTensorOfTensors>(
        "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
        "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"),
    Op<QuantizePerChannel>(
        "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
        "quant_min, int quant_max, ScalarType dtype) -> Tensor"),
    Op<QuantizePerTensor>("quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int "
                          "quant_min, int quant_max, ScalarType dtype) -> Tensor"),
    Op<QuantizePerTensorOfTensors>(
        "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
        "quant_min, int quant_max, ScalarType dtype) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Quantization() { return kRows; }

}  // namespace flambeau::lower
