// torchao's operators: blocks of elements that share a scale, as long in each
// dimension as `block_size` says: (1, 64) of (n, 64) is a row, (1, 32) a part of one.
#include <cmath>

#include "lower/ops/quantization.h"
#include "lower/ops/reduction.h"
#include "support/numeric.h"

namespace flambeau::lower {
namespace {

// A positive number for each dimension, of which the size is a multiple.
void RequireBlocks(Lowering& to, const Tensor& x, const Dims& blocks) {
  bool fit = static_cast<int64_t>(blocks.size()) == x.rank();
  for (size_t i = 0; fit && i < blocks.size(); ++i) {
    const auto size = to.AsConstant(x.sizes()[i]), block = to.AsConstant(blocks[i]);
    fit = (!block || *block > 0 || size == 0) && (!size || !block || *block == 0 || *size % *block == 0);
  }
  if (!fit) throw onnx::BadOperand("argument 'block_size' must have a part of the size for each dimension");
}

Dim Quotient(Lowering& to, Dim size, Dim block) {
  if (size == block) return to.Of(1);
  if (to.AsConstant(block) == 1) return size;
  return to.Kept(to.exprs().FloorDiv(size.expr, block.expr), {size, block}, [&] { return to.Div(to.Number(size), to.Number(block)); });
}

// The tensor's sizes in blocks.
Dims CountsOf(Lowering& to, const Tensor& x, const Dims& blocks) {
  const Dims sizes = x.sizes();
  Dims counts;
  for (size_t i = 0; i < sizes.size(); ++i) counts.push_back(Quotient(to, sizes[i], blocks[i]));
  return counts;
}

// The sizes where a dimension of several blocks is two: the blocks, and what is in one.
struct Split {
  Dims sizes;
  Ints within;  // the axes that blocks cover
  Dims counts;  // `sizes`, 1 along those
};
Split SplitOf(Lowering& to, const Tensor& x, const Dims& blocks) {
  Split split;
  const Dims sizes = x.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool one = to.AsConstant(blocks[i]) == 1;
    if (!one && blocks[i] != sizes[i]) {
      split.sizes.push_back(Quotient(to, sizes[i], blocks[i]));
      split.counts.push_back(split.sizes.back());
    }
    if (!one) split.within.push_back(static_cast<int64_t>(split.sizes.size()));
    split.sizes.push_back(one ? sizes[i] : blocks[i]);
    split.counts.push_back(one ? sizes[i] : to.Of(1));
  }
  return split;
}

// How blocks lie, so that ONNX's operators know them: one, or along an axis, of one index each or of `block` elements.
struct Layout {
  std::optional<int64_t> axis, block;
};
std::optional<Layout> LayoutOf(Lowering& to, const Tensor& x, const Dims& blocks, bool takes_blocks) {
  const Dims sizes = x.sizes();
  Ints cut, longer;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (blocks[i] != sizes[i]) cut.push_back(static_cast<int64_t>(i));
    if (to.AsConstant(blocks[i]) != 1) longer.push_back(static_cast<int64_t>(i));
  }
  if (cut.empty()) return Layout{};
  if (cut.size() == 1 && to.AsConstant(blocks[static_cast<size_t>(cut[0])]) == 1) return Layout{.axis = cut[0]};
  if (!takes_blocks || longer.size() != 1) return std::nullopt;
  const auto block = to.AsConstant(blocks[static_cast<size_t>(longer[0])]);
  if (!block) return std::nullopt;
  return Layout{.axis = longer[0], .block = *block};
}

// Blocks that lie one behind the other, as rows of so many elements.
std::optional<Dim> RowOf(Lowering& to, const Tensor& x, const Dims& blocks) {
  const Dims sizes = x.sizes();
  Dim row = to.Of(1);
  bool inside = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (inside && blocks[i] != sizes[i]) return std::nullopt;
    inside |= to.AsConstant(blocks[i]) != 1;
    row = to.Times(row, blocks[i]);
  }
  return row;
}

struct Scales {
  Tensor scale;
  std::optional<Tensor> zero_point;
  int64_t low, high;
};

bool IsConstant(Lowering& to, const Tensor& tensor) { return to.graph()[tensor.id()].kind == ValueKind::kConstant; }

// Of a constant, the same bytes in those sizes.
Tensor Reshaped(Lowering& to, const Tensor& x, const Dims& sizes) {
  const auto known = to.AsConstants(sizes);
  if (!known || !IsConstant(to, x)) return to.ReshapeTo(x, sizes);
  const flambeau::Value& value = to.graph()[x.id()];
  TensorData data = to.context()[value.data];
  if (!data.contiguous() || data.sizes == *known) return to.ReshapeTo(x, sizes);
  const uint64_t bytes = data.byte_size();
  data.sizes = *known;
  data.strides.clear();
  if (data.byte_size() != bytes) return to.ReshapeTo(x, sizes);  // which reports it
  return to.Weight(to.context().Add(std::move(data)), value.name);
}

// `apply` to the tensor in the shape in which ONNX's operators can say its blocks, where they can.
template <class Apply>
std::optional<Tensor> ByBlocks(Lowering& to, Tensor x, const Dims& blocks, const Scales& scales, bool takes_blocks, Apply apply) {
  auto shaped = [&](const Dims& sizes) {
    const Tensor scale = Reshaped(to, scales.scale, sizes);
    return Grid{scale, scales.zero_point ? Reshaped(to, *scales.zero_point, sizes) : Tensor(), std::nullopt, scales.low, scales.high};
  };
  const Dims counts = CountsOf(to, x, blocks);
  if (const auto layout = LayoutOf(to, x, blocks, takes_blocks)) {
    Grid grid = shaped(!layout->axis ? Dims() : layout->block ? counts : Dims{counts[static_cast<size_t>(*layout->axis)]});
    grid.axis = layout->axis;
    grid.block = layout->block;
    return apply(x, grid);
  }
  const auto row = RowOf(to, x, blocks);
  if (!row) return std::nullopt;
  const Dim rows = to.Product(counts);
  Grid grid = shaped({rows});
  grid.axis = 0;
  return to.ReshapeTo(apply(Reshaped(to, x, Dims{rows, *row}), grid), x.sizes());
}

// Whether the zero points are of that type, or known to fit: ONNX's are of the type of what is quantized.
bool FitsIn(Lowering& to, const std::optional<Tensor>& zero_point, DType dtype) {
  if (!zero_point || zero_point->dtype() == dtype) return true;
  constexpr uint64_t kMost = 1 << 20;
  const auto bytes = IsConstant(to, *zero_point) && IsInteger(zero_point->dtype()) ? to.ConstantBytes(*zero_point, kMost) : std::nullopt;
  if (!bytes) return false;
  const Limits limits = LimitsOf(dtype);
  const auto width = static_cast<size_t>(ByteSize(zero_point->dtype()));
  for (size_t at = 0; at < bytes->size(); at += width) {
    const int64_t value = LoadInt(zero_point->dtype(), bytes->data() + at);
    if (value < limits.low || value > limits.high) return false;
  }
  return true;
}

// --- integers ---------------------------------------------------------------------------

struct Range {
  double low, high;
};
Range RangeOf(DType dtype, const std::optional<Const<Scalar>>& low, const std::optional<Const<Scalar>>& high) {
  const bool floats = IsFloating(dtype);
  const Limits limits = floats ? Limits{} : LimitsOf(dtype);
  const double largest = floats ? LargestFinite(dtype) : static_cast<double>(limits.high);
  const double least = floats ? -largest : static_cast<double>(limits.low);
  const Range range{low ? low->value.AsDouble() : least, high ? high->value.AsDouble() : largest};
  if (!(range.low >= least && range.high <= largest))
    throw onnx::BadOperand("arguments 'quant_min' and 'quant_max' must be numbers that the dtype has");
  return range;
}

// As PyTorch computes it, in its dtypes: of scales that come from the elements, many quotients lie halfway between integers.
Tensor QuantizeByRounding(Lowering& to, Tensor input, const Dims& blocks, const Scales& scales, Range range, DType dtype) {
  const Split split = SplitOf(to, input, blocks);
  const Tensor x = to.ReshapeTo(input, split.sizes), inverse = to.Reciprocal(to.ReshapeTo(scales.scale, split.counts));
  const DType computed = to.PromotedDtype({x, inverse});
  Tensor rounded = to.Round(to.Mul(to.CastTo(x, computed), to.CastTo(inverse, computed)));
  if (scales.zero_point) rounded = to.Add(rounded, to.CastTo(to.ReshapeTo(*scales.zero_point, split.counts), computed));
  const Tensor cut = to.Clip(rounded, to.NumberOf(range.low, computed), to.NumberOf(range.high, computed));
  return to.ReshapeTo(to.CastTo(cut, dtype), input.sizes());
}

Tensor QuantizeAffine(Lowering& to, Tensor input, Dims block_size, Tensor scale, std::optional<Tensor> zero_point,
                      DType output_dtype, std::optional<Const<Scalar>> quant_min, std::optional<Const<Scalar>> quant_max) {
  RequireBlocks(to, input, block_size);
  const Range range = RangeOf(output_dtype, quant_min, quant_max);
  Scales scales{scale, zero_point, 0, 0};
  if (IsConstant(to, scale) && IsQuantizedType(to, output_dtype) && FitsIn(to, zero_point, output_dtype)) {
    if (!zero_point) scales.zero_point = to.Full(scale.sizes(), int64_t{0}, output_dtype);
    scales.low = static_cast<int64_t>(range.low);
    scales.high = static_cast<int64_t>(range.high);
    const auto quantized = ByBlocks(to, input, block_size, scales, to.opset() >= 21,
                                    [&](Tensor x, const Grid& grid) { return Quantize(to, x, grid, output_dtype); });
    if (quantized) return *quantized;
  }
  return QuantizeByRounding(to, input, block_size, scales, range, output_dtype);
}

Tensor DequantizeByScaling(Lowering& to, Tensor input, const Dims& blocks, const Scales& scales, DType result) {
  const Split split = SplitOf(to, input, blocks);
  Tensor centered = to.CastTo(to.ReshapeTo(input, split.sizes), result);
  if (scales.zero_point) centered = to.Sub(centered, to.CastTo(to.ReshapeTo(*scales.zero_point, split.counts), result));
  const Tensor scale = to.ReshapeTo(scales.scale, split.counts);
  const DType computed = to.PromotedDtype({centered, scale});
  const Tensor product = to.Mul(to.CastTo(centered, computed), to.CastTo(scale, computed));
  return to.ReshapeTo(to.CastTo(product, result), input.sizes());
}

Tensor DequantizeAffine(Lowering& to, Tensor input, Dims block_size, Tensor scale, std::optional<Tensor> zero_point, DType,
                        std::optional<Const<Scalar>> quant_min, std::optional<Const<Scalar>> quant_max, DType output_dtype) {
  RequireBlocks(to, input, block_size);
  Scales scales{scale, zero_point, 0, 0};
  if (IsQuantizedType(to, input.dtype()) && FitsIn(to, zero_point, input.dtype())) {
    const Range range = RangeOf(input.dtype(), quant_min, quant_max);
    scales.low = static_cast<int64_t>(range.low);
    scales.high = static_cast<int64_t>(range.high);
    // Weights are dequantized in rows: onnxruntime multiplies by dequantized blocks in a way that rounds the other factor to 8 bits.
    const bool takes_blocks = to.opset() >= 21 && !IsConstant(to, input);
    const auto floats = ByBlocks(to, input, block_size, scales, takes_blocks,
                                 [&](Tensor x, const Grid& grid) { return Dequantize(to, x, grid, output_dtype); });
    if (floats) return *floats;
  }
  return DequantizeByScaling(to, input, block_size, scales, output_dtype);
}

// --- grids of what is to be quantized ---------------------------------------------------

// A scale of the largest magnitudes below and above zero, and the zero point.
std::tuple<Tensor, Tensor> GridOf(Lowering& to, std::string_view mapping, Tensor below, Tensor above, Range range, double eps) {
  const auto number = [&](double value) { return to.NumberOf(value, below.dtype()); };
  if (mapping == "ASYMMETRIC") {
    const Tensor scale = to.Max({to.Div(to.Sub(above, below), number(range.high - range.low)), number(eps)});
    const Tensor zero_point = to.Sub(number(range.low), to.Round(to.Div(below, scale)));
    return {scale, to.Clip(zero_point, number(range.low), number(range.high))};
  }
  if (mapping != "SYMMETRIC" && mapping != "SYMMETRIC_NO_CLIPPING_ERR")
    throw onnx::BadOperand("argument 'mapping_type' must be SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC");
  const Tensor scale = mapping == "SYMMETRIC"
                           ? to.Div(to.Max({to.Neg(below), above}), number((range.high - range.low) / 2))
                           : to.Max({to.Div(below, number(range.low)), to.Div(above, number(range.high))});
  return {to.Max({scale, number(eps)}), to.Full(scale.sizes(), std::trunc((range.high + range.low + 1) / 2), scale.dtype())};
}

std::tuple<Tensor, Tensor> ChooseQparamsAffine(Lowering& to, std::optional<Tensor> of, std::string_view mapping_type, Dims block_size,
                                               DType target_dtype, std::optional<Const<Scalar>> quant_min,
                                               std::optional<Const<Scalar>> quant_max, std::optional<double> eps,
                                               std::optional<DType> scale_dtype, std::optional<DType> zero_point_dtype,
                                               bool keepdim) {
  if (!of) throw onnx::BadOperand("argument 'input' must be a tensor: its elements choose the scales");
  const Tensor input = *of;
  RequireBlocks(to, input, block_size);
  const Split split = SplitOf(to, input, block_size);
  const Tensor x = to.ReshapeTo(input, split.sizes), zero = to.NumberOf(0.0, input.dtype());
  auto [scale, zero_point] = GridOf(to, mapping_type, to.Min({Amin(to, x, split.within, keepdim), zero}),
                                    to.Max({Amax(to, x, split.within, keepdim), zero}), RangeOf(target_dtype, quant_min, quant_max),
                                    eps.value_or(SmallestNormal(input.dtype())));
  if (keepdim) {
    const Dims counts = CountsOf(to, input, block_size);
    scale = to.ReshapeTo(scale, counts);
    zero_point = to.ReshapeTo(zero_point, counts);
  }
  const DType of_zeros = mapping_type == "ASYMMETRIC" ? DType::kInt32 : zero_point.dtype();
  return {to.CastTo(scale, scale_dtype.value_or(input.dtype())), to.CastTo(zero_point, zero_point_dtype.value_or(of_zeros))};
}

// --- floats of a byte -------------------------------------------------------------------

Tensor ChooseScaleFloat8(Lowering& to, Tensor tensor, Dims block_size, DType float8_dtype, DType scale_dtype,
                         std::optional<double> hp_value_lb, std::optional<double> hp_value_ub) {
  RequireBlocks(to, tensor, block_size);
  const Split split = SplitOf(to, tensor, block_size);
  Tensor largest = Amax(to, to.Abs(to.ReshapeTo(tensor, split.sizes)), split.within, true);
  if (hp_value_lb) largest = to.Max({largest, to.NumberOf(*hp_value_lb, tensor.dtype())});
  if (hp_value_ub) largest = to.Min({largest, to.NumberOf(*hp_value_ub, tensor.dtype())});
  Tensor scale = to.Div(largest, to.NumberOf(LargestFinite(float8_dtype), tensor.dtype()));
  scale = to.ReshapeTo(scale, CountsOf(to, tensor, block_size));
  if (scale_dtype != DType::kFloat32) {  // a power of two
    const Tensor two = to.NumberOf(2.0, scale.dtype());
    scale = to.Pow(two, to.Round(to.Div(to.Log(scale), to.Log(two))));
  }
  return to.CastTo(scale, DType::kFloat32);
}

// Along each axis, the scale's size is 1, the tensor's, or the number of blocks.
Dims BlocksOf(Lowering& to, const Tensor& tensor, const Tensor& scale) {
  const Dims sizes = tensor.sizes(), counts = scale.sizes();
  Dims blocks;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool one = i >= counts.size() || to.AsConstant(counts[i]) == 1;
    blocks.push_back(one ? sizes[i] : Quotient(to, sizes[i], counts[i]));
  }
  return blocks;
}

// The scale in a shape that broadcasts, applied to the tensor in a shape where blocks are dimensions.
template <class Apply>
Tensor ScaledByBlocks(Lowering& to, Tensor tensor, Tensor scale, Apply apply) {
  if (scale.rank() != tensor.rank()) return apply(tensor, scale);
  const Split split = SplitOf(to, tensor, BlocksOf(to, tensor, scale));
  return to.ReshapeTo(apply(to.ReshapeTo(tensor, split.sizes), to.ReshapeTo(scale, split.counts)), tensor.sizes());
}

Tensor QuantizeAffineFloat8(Lowering& to, Tensor tensor, Tensor scale, DType float8_dtype) {
  const double largest = LargestFinite(float8_dtype);
  const auto number = [&](double value) { return to.NumberOf(value, DType::kFloat32); };
  return ScaledByBlocks(to, to.CastTo(tensor, DType::kFloat32), to.CastTo(scale, DType::kFloat32), [&](Tensor x, Tensor by) {
    return to.CastTo(to.Clip(to.Div(x, by), number(-largest), number(largest)), float8_dtype);
  });
}

Tensor DequantizeAffineFloat8(Lowering& to, Tensor tensor, Tensor scale, DType output_dtype) {
  const Tensor scaled = ScaledByBlocks(to, to.CastTo(tensor, DType::kFloat32), to.CastTo(scale, DType::kFloat32),
                                       [&](Tensor x, Tensor by) { return to.Mul(x, by); });
  return to.CastTo(scaled, output_dtype);
}

// --- products of floats of a byte -------------------------------------------------------

constexpr Restriction kScales = {
    "scales of other than the whole, of rows, or of blocks of 128",
    "torch._scaled_mm(a, b, torch.ones(512, dtype=torch.float8_e8m0fnu), torch.ones(512, dtype=torch.float8_e8m0fnu), out_dtype=torch.bfloat16)",
    "each kernel has an order of its own for them"};
constexpr Restriction kScaledResult = {"a result of one byte with a scale of its own",
                                       "torch._scaled_mm(a, b, one, one, scale_result=one, out_dtype=torch.float8_e4m3fn)",
                                       "PyTorch's kernels differ in what they do with it"};

bool IsOneNumber(Lowering& to, const Tensor& tensor) {
  return tensor.ranked() && std::ranges::all_of(tensor.sizes(), [&](Dim size) { return to.AsConstant(size) == 1; });
}

// A matrix as float32, and the factor of its part in the product, which keeps the axis `own`. Both casts and products,
// not DequantizeLinear: onnxruntime makes a product of integers of two of these, even where they are floats.
struct Scaled {
  Tensor matrix, factor;  // no factor: the matrix has it
};

std::optional<Scaled> ScaledMatrix(Lowering& to, Tensor matrix, Tensor scale, int64_t own) {
  constexpr int64_t kBlock = 128;
  if (scale.dtype() != DType::kFloat32) return std::nullopt;
  const Tensor floats = to.CastTo(matrix, DType::kFloat32);
  if (IsOneNumber(to, scale)) return Scaled{floats, to.ReshapeTo(scale, Dims{})};
  if (scale.rank() != 2) return std::nullopt;
  if (scale.size(own) == matrix.size(own) && to.AsConstant(scale.size(1 - own)) == 1) return Scaled{floats, scale};
  for (int64_t axis = 0; axis < 2; ++axis) {
    if (scale.size(axis) == matrix.size(axis)) continue;
    const auto size = to.AsConstant(matrix.size(axis)), count = to.AsConstant(scale.size(axis));
    if (!size || !count || *size != *count * kBlock) return std::nullopt;
  }
  return Scaled{DequantizeAffineFloat8(to, matrix, scale, DType::kFloat32), Tensor()};
}

Tensor ScaledMm(Lowering& to, Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, std::optional<Tensor> bias,
                std::optional<Tensor> scale_result, std::optional<DType> out_dtype, bool) {
  const auto a = ScaledMatrix(to, self, scale_a, 0), b = ScaledMatrix(to, mat2, scale_b, 1);
  if (!a || !b) return to.Unsupported(kScales);
  Tensor product = to.MatMul(a->matrix, b->matrix);
  for (const Tensor& factor : {a->factor, b->factor})
    if (factor) product = to.Mul(product, factor);
  if (bias) product = to.Add(product, to.CastTo(*bias, DType::kFloat32));
  const DType dtype = out_dtype.value_or(self.dtype());
  if (ByteSize(dtype) > 1) return to.CastTo(product, dtype);
  if (scale_result) return to.Unsupported(kScaledResult);
  const Tensor largest = to.NumberOf(LargestFinite(dtype), DType::kFloat32);
  return to.CastTo(to.Clip(product, to.Neg(largest), largest), dtype);
}

constexpr Restriction kRecipe = {"recipes other than TensorWise and RowWise",
                                 "F.scaled_mm(a, b, scale, F.ScalingType.BlockWise1x128, scale, F.ScalingType.BlockWise1x128)",
                                 "each kernel has an order of its own for the scales"};

Tensor ScaledMmByRecipe(Lowering& to, Tensor self, Tensor mat2, TensorList scale_a, Ints recipe_a, Ints swizzle_a,
                        TensorList scale_b, Ints recipe_b, Ints swizzle_b, std::optional<Tensor> bias,
                        std::optional<DType> out_dtype, Ints contraction_dim, bool use_fast_accum) {
  constexpr int64_t kRowWise = 1;
  const auto is_plain = [](const TensorList& scale, const Ints& recipe, const Ints& swizzle) {
    return scale.size() == 1 && recipe.size() == 1 && recipe[0] <= kRowWise &&
           std::ranges::all_of(swizzle, [](int64_t each) { return each == 0; });
  };
  if (!is_plain(scale_a, recipe_a, swizzle_a) || !is_plain(scale_b, recipe_b, swizzle_b) || !contraction_dim.empty())
    return to.Unsupported(kRecipe);
  return ScaledMm(to, self, mat2, scale_a[0], scale_b[0], bias, {}, out_dtype, use_fast_accum);
}

constexpr OpRow kRows[] = {
    Op<ScaledMm>("aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? "
                 "scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
                 &kScales, &kScaledResult),
    Op<ScaledMmByRecipe>("aten::_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] "
                         "scale_b, int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[], "
                         "bool use_fast_accum=False) -> Tensor",
                         &kRecipe),
    Op<ChooseQparamsAffine>("torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, "
                            "Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, ScalarType? "
                            "zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)"),
    Op<ChooseScaleFloat8>("torchao::choose_scale_float8(Tensor tensor, SymInt[] block_size, ScalarType float8_dtype=24, ScalarType "
                          "scale_dtype=6, float? hp_value_lb=None, float? hp_value_ub=None) -> Tensor"),
    Op<DequantizeAffine>("torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
                         "input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6) -> Tensor"),
    Op<DequantizeAffineFloat8>("torchao::dequantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType output_dtype=6) -> "
                               "Tensor"),
    Op<QuantizeAffine>("torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
                       "output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor"),
    Op<QuantizeAffineFloat8>("torchao::quantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType float8_dtype=24) -> "
                             "Tensor"),
};

}  // namespace

std::span<const OpRow> BlockQuantization() { return kRows; }

}  // namespace flambeau::lower
