// Operators on images: resampling, blocks, regions of interest.
#include <algorithm>
#include <cmath>

#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

// floor(size * scale), where both are known; whole scales work on symbols, too.
Expr Scaled(ExprPool& exprs, Expr size, double scale) {
  if (!(scale > 0) || scale > 1e9) return exprs.Anonymous();
  if (scale == std::floor(scale)) return exprs.Mul(size, exprs.Constant(static_cast<int64_t>(scale)));
  const auto fixed = exprs.AsConstant(size);
  if (!fixed || *fixed > INT32_MAX) return exprs.Anonymous();
  return exprs.Constant(static_cast<int64_t>(std::floor(static_cast<double>(*fixed) * scale)));
}

// Scales are an attribute in opset 7 and 8. As an operand they are floats, which
// types don't follow.
void Upsample(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input) return;
  const auto scales = context.FloatList("scales");
  Sizes sizes = AnonymousSizes(context.exprs(), input->size());
  if (scales && scales->size() == sizes.size())
    for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = Scaled(context.exprs(), (*input)[d], (*scales)[d]);
  context.SetSizes(0, std::move(sizes));
}

void Resize(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input) return;
  ExprPool& exprs = context.exprs();
  auto axes = context.IntList("axes");
  if (!axes) {
    axes.emplace();
    for (size_t d = 0; d < input->size(); ++d) axes->push_back(static_cast<int64_t>(d));
  }
  const auto* wanted = context.contents(3);
  const bool exact =
      wanted && wanted->size() == axes->size() && context.String("keep_aspect_ratio_policy", "stretch") == "stretch";
  Sizes sizes = *input;
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto dim = NormalizeAxis((*axes)[i], sizes.size());
    if (!dim) return;
    sizes[*dim] = exact ? AsSize(exprs, (*wanted)[i]) : exprs.Anonymous();
  }
  context.SetSizes(0, std::move(sizes));
}

void DepthToSpace(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const int64_t block = context.Int("blocksize", 0);
  if (!input || input->size() != 4 || block <= 0 || block > INT32_MAX) return;
  ExprPool& exprs = context.exprs();
  const Expr side = exprs.Constant(block);
  context.SetSizes(0, {(*input)[0], exprs.FloorDiv((*input)[1], exprs.Constant(block * block)),
                       exprs.Mul((*input)[2], side), exprs.Mul((*input)[3], side)});
}

void SpaceToDepth(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const int64_t block = context.Int("blocksize", 0);
  if (!input || input->size() != 4 || block <= 0 || block > INT32_MAX) return;
  ExprPool& exprs = context.exprs();
  const Expr side = exprs.Constant(block);
  context.SetSizes(0, {(*input)[0], exprs.Mul((*input)[1], exprs.Constant(block * block)),
                       exprs.FloorDiv((*input)[2], side), exprs.FloorDiv((*input)[3], side)});
}

// The grid is [batch, places…, coordinates].
void GridSample(InferContext& context) {
  const Sizes *input = context.sizes(0), *grid = context.sizes(1);
  if (!input || input->size() < 3) return;
  Sizes sizes = AnonymousSizes(context.exprs(), input->size());
  std::copy_n(input->begin(), 2, sizes.begin());
  if (grid && grid->size() == input->size()) std::copy(grid->begin() + 1, grid->end() - 1, sizes.begin() + 2);
  context.SetSizes(0, std::move(sizes));
}

// The second operand is [batch, channels, places…].
void AffineGrid(InferContext& context) {
  const auto image = SizesFromOperand(context, 1);
  if (!image || image->size() < 3) return;
  Sizes sizes{image->front()};
  sizes.insert(sizes.end(), image->begin() + 2, image->end());
  sizes.push_back(context.exprs().Constant(static_cast<int64_t>(image->size()) - 2));
  context.SetSizes(0, std::move(sizes));
}

// [regions, channels, height, width].
void SetRegions(InferContext& context, int64_t height, int64_t width) {
  const Sizes *input = context.sizes(0), *regions = context.sizes(1);
  ExprPool& exprs = context.exprs();
  const Expr count = regions && !regions->empty() ? regions->front() : exprs.Anonymous();
  const Expr channels = input && input->size() == 4 ? (*input)[1] : exprs.Anonymous();
  context.SetSizes(0, {count, channels, exprs.Constant(height), exprs.Constant(width)});
}

void RoiAlign(InferContext& context) {
  SetRegions(context, context.Int("output_height", 1), context.Int("output_width", 1));
}

void MaxRoiPool(InferContext& context) {
  const auto shape = context.IntList("pooled_shape");
  if (shape && shape->size() == 2) SetRegions(context, (*shape)[0], (*shape)[1]);
}

// Triples of batch, class and box.
void NonMaxSuppression(InferContext& context) {
  context.SetSizes(0, {context.exprs().Anonymous(), context.exprs().Constant(3)});
}

void Col2Im(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const auto image = SizesFromOperand(context, 1), block = SizesFromOperand(context, 2);
  if (!input || input->size() != 3 || !image) return;
  ExprPool& exprs = context.exprs();
  Sizes sizes{(*input)[0], block ? ExactQuotient(exprs, {(*input)[1]}, *block) : exprs.Anonymous()};
  sizes.insert(sizes.end(), image->begin(), image->end());
  context.SetSizes(0, std::move(sizes));
}

void CenterCropPad(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input) return;
  auto axes = context.IntList("axes");
  if (!axes) {
    axes.emplace();
    for (size_t d = 0; d < input->size(); ++d) axes->push_back(static_cast<int64_t>(d));
  }
  const auto wanted = SizesFromOperand(context, 1);
  const bool known = wanted && wanted->size() == axes->size();
  Sizes sizes = *input;
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto dim = NormalizeAxis((*axes)[i], sizes.size());
    if (!dim) return;
    sizes[*dim] = known ? (*wanted)[i] : context.exprs().Anonymous();
  }
  context.SetSizes(0, std::move(sizes));
}

constexpr InferRule kImage[] = {
    {"AffineGrid", AffineGrid},
    {"CenterCropPad", CenterCropPad},
    {"Col2Im", Col2Im},
    {"DepthToSpace", DepthToSpace},
    {"GridSample", GridSample},
    {"MaxRoiPool", MaxRoiPool},
    {"NonMaxSuppression", NonMaxSuppression},
    {"Resize", Resize},
    {"RoiAlign", RoiAlign},
    {"SpaceToDepth", SpaceToDepth},
    {"Upsample", Upsample},
};

}  // namespace

std::span<const InferRule> ImageRules() { return kImage; }

}  // namespace flambeau::onnx
