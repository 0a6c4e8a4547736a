// torchao's operators: blocks of elements that share a scale, as long in each
// dimension as `block_size` says: (1, 64) of (n, 64) is a row, (1, 32) a part of one.
#include <cmath>

#include "lower/ops/quantization.h"
#include "lower/ops/reduction.h"
#include "support/numeric.h"

namespace flambeau::lower {
namespace {

// PyTorch takes as many block sizes as the tensor has dimensions.
void RequireRank(const Tensor& x, const Dims& blocks) {
  if (static_cast<int64_t>(blocks.size()) != x.rank()) onnx::ThrowNoAxis(static_cast<int64_t>(blocks.size()) - 1, x.rank());
}

Dim Quotient(Lowering& to, Dim size, Dim block) {
  if (size == block) return to.Of(1);
  if (to.AsConstant(block) == 1) return size;
  return to.Kept(to.exprs().FloorDiv(size.expr, block.expr), [&] { return to.Div(to.Number(size), to.Number(block)); });
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

// How blocks lie, so that ONNX's operators know them.
struct Layout {
  bool whole = false;             // one block
  std::optional<int64_t> axis;    // of one index each, or of `block` elements
  std::optional<int64_t> block;
};
std::optional<Layout> LayoutOf(Lowering& to, const Tensor& x, const Dims& blocks, bool takes_blocks) {
  const Dims sizes = x.sizes();
  Ints cut, longer;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (blocks[i] != sizes[i]) cut.push_back(static_cast<int64_t>(i));
    if (to.AsConstant(blocks[i]) != 1) longer.push_back(static_cast<int64_t>(i));
  }
  if (cut.empty()) return Layout{.whole = true};
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
  bool takes_blocks;
};

// `apply` to the tensor in the shape in which its blocks can be said best.
template <class Apply>
Tensor ByBlocks(Lowering& to, Tensor x, const Dims& blocks, const Scales& scales, Apply apply) {
  auto shaped = [&](const Dims& sizes) {
    const Tensor scale = to.ReshapeTo(scales.scale, sizes);
    return Grid{scale, scales.zero_point ? to.ReshapeTo(*scales.zero_point, sizes) : Tensor(), std::nullopt, scales.low, scales.high};
  };
  const Dims counts = CountsOf(to, x, blocks);
  if (const auto layout = LayoutOf(to, x, blocks, scales.takes_blocks)) {
    Grid grid = shaped(layout->whole ? Dims() : layout->block ? counts : Dims{counts[static_cast<size_t>(*layout->axis)]});
    grid.axis = layout->axis;
    grid.block = layout->block;
    return apply(x, grid);
  }
  const auto row = RowOf(to, x, blocks);
  const Split split = SplitOf(to, x, blocks);
  if (row) {
    const Dim rows = to.Product(counts);
    Grid grid = shaped({rows});
    grid.axis = 0;
    return to.ReshapeTo(apply(to.ReshapeTo(x, Dims{rows, *row}), grid), x.sizes());
  }
  return to.ReshapeTo(apply(to.ReshapeTo(x, split.sizes), shaped(split.counts)), x.sizes());
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
  return {low ? low->value.AsDouble() : least, high ? high->value.AsDouble() : largest};
}

Tensor QuantizeAffine(Lowering& to, Tensor input, Dims block_size, Tensor scale, std::optional<Tensor> zero_point,
                      DType output_dtype, std::optional<Const<Scalar>> quant_min, std::optional<Const<Scalar>> quant_max) {
  RequireRank(input, block_size);
  const Range range = RangeOf(output_dtype, quant_min, quant_max);
  if (!zero_point) zero_point = to.Full(scale.sizes(), int64_t{0}, IsFloating(output_dtype) ? DType::kFloat32 : output_dtype);
  const bool computed = to.graph()[scale.id()].kind != ValueKind::kConstant;
  const Scales scales{scale, zero_point, static_cast<int64_t>(range.low), static_cast<int64_t>(range.high),
                      !computed && TakesBlocks(to, output_dtype)};
  return ByBlocks(to, input, block_size, scales, [&](Tensor x, Grid grid) {
    grid.exact = computed;
    return Quantize(to, x, grid, output_dtype);
  });
}

Tensor DequantizeAffine(Lowering& to, Tensor input, Dims block_size, Tensor scale, std::optional<Tensor> zero_point, DType,
                        std::optional<Const<Scalar>>, std::optional<Const<Scalar>>, DType output_dtype) {
  RequireRank(input, block_size);
  return ByBlocks(to, input, block_size, {scale, zero_point, 0, 0, TakesBlocks(to, input.dtype())},
                  [&](Tensor x, const Grid& grid) { return Dequantize(to, x, grid, output_dtype); });
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
  const Tensor input = of ? *of : to.ConstantInt(0);  // PyTorch takes None in no form
  RequireRank(input, block_size);
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
  RequireRank(tensor, block_size);
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

constexpr OpRow kRows[] = {
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
