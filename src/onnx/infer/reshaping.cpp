// Operators that move elements and change none: Reshape, Transpose, Expand and their like.
#include <algorithm>

#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

void KeepContents(InferContext& context) {
  if (context.contents(0)) context.SetContents(0, *context.contents(0));
}

void Reshape(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const std::vector<Expr>* shape = context.contents(1);
  ExprPool& exprs = context.exprs();
  if (!shape) {
    if (auto sizes = SizesFromOperand(context, 1)) context.SetSizes(0, std::move(*sizes));
    return;
  }
  const bool zero_copies = context.Int("allowzero", 0) == 0;
  Sizes sizes;
  std::optional<size_t> open;  // the -1
  for (size_t d = 0; d < shape->size(); ++d) {
    const Expr element = (*shape)[d];
    if (exprs.IsConstant(element, 0) && zero_copies) {
      sizes.push_back(input && d < input->size() ? (*input)[d] : exprs.Anonymous());
    } else {
      if (exprs.IsConstant(element, -1)) open = d;
      sizes.push_back(AsSize(exprs, element));
    }
  }
  if (open && input) {
    Sizes others = sizes;
    others.erase(others.begin() + static_cast<ptrdiff_t>(*open));
    sizes[*open] = ExactQuotient(exprs, *input, std::move(others));
  }
  context.SetSizes(0, std::move(sizes));
  KeepContents(context);
}

void Flatten(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input) return context.SetSizes(0, AnonymousSizes(context.exprs(), 2));
  const auto rank = static_cast<int64_t>(input->size());
  int64_t axis = context.Int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return;
  const std::span<const Expr> sizes(*input);
  context.SetSizes(0, {Product(context.exprs(), sizes.first(axis)), Product(context.exprs(), sizes.subspan(axis))});
  KeepContents(context);
}

void Squeeze(InferContext& context) {
  const Sizes* input = context.sizes(0);
  bool absent;
  const auto axes = context.IntsOf("axes", 1, &absent);
  if (!input) return;
  Sizes sizes;
  if (absent) {
    for (Expr size : *input) {
      if (!context.exprs().AsConstant(size)) return;  // perhaps 1
      if (!context.exprs().IsConstant(size, 1)) sizes.push_back(size);
    }
  } else {
    const auto mask = axes ? AxisMask(*axes, input->size()) : std::nullopt;
    if (!mask) return;
    for (size_t d = 0; d < input->size(); ++d)
      if (!(*mask)[d]) sizes.push_back((*input)[d]);
  }
  context.SetSizes(0, std::move(sizes));
  KeepContents(context);
}

void Unsqueeze(InferContext& context) {
  const Sizes* input = context.sizes(0);
  bool absent;
  const auto axes = context.IntsOf("axes", 1, &absent);
  if (!input || absent) return;
  if (!axes) {
    if (const auto added = SizesFromOperand(context, 1))
      context.SetSizes(0, AnonymousSizes(context.exprs(), input->size() + added->size()));
    return;
  }
  const size_t rank = input->size() + axes->size();
  const auto mask = AxisMask(*axes, rank);
  if (!mask || std::count(mask->begin(), mask->end(), true) != static_cast<ptrdiff_t>(axes->size())) return;
  Sizes sizes;
  for (size_t d = 0, from = 0; d < rank; ++d)
    sizes.push_back((*mask)[d] ? context.exprs().Constant(1) : (*input)[from++]);
  context.SetSizes(0, std::move(sizes));
  KeepContents(context);
}

void Transpose(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input) return;
  auto perm = context.IntList("perm");
  if (!perm) {
    perm.emplace();
    for (size_t d = input->size(); d-- > 0;) perm->push_back(static_cast<int64_t>(d));
  }
  if (perm->size() != input->size()) return;
  Sizes sizes;
  for (int64_t from : *perm) {
    const auto dim = NormalizeAxis(from, input->size());
    if (!dim) return;
    sizes.push_back((*input)[*dim]);
  }
  const auto fixed = ConstantSizes(context.exprs(), *input);
  context.SetSizes(0, std::move(sizes));
  if (!fixed || !context.contents(0)) return;
  const Ints own = RowMajorStrides(*fixed);
  Ints view_sizes, strides;
  for (int64_t from : *perm) {
    const size_t dim = *NormalizeAxis(from, input->size());
    view_sizes.push_back((*fixed)[dim]);
    strides.push_back(own[dim]);
  }
  if (auto elements = ReadView(*context.contents(0), 0, view_sizes, strides))
    context.SetContents(0, std::move(*elements));
}

void Expand(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const auto target = SizesFromOperand(context, 1);
  ExprPool& exprs = context.exprs();
  if (!input || !target) return;
  const Sizes sizes = BroadcastSizes(exprs, *input, *target);
  context.SetSizes(0, sizes);
  if (auto elements = BroadcastContents(exprs, *context.operand(0), sizes))
    context.SetContents(0, std::move(*elements));
}

void Tile(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const std::vector<Expr>* repeats = context.contents(1);
  ExprPool& exprs = context.exprs();
  if (!input) return;
  if (!repeats || repeats->size() != input->size()) return context.SetSizes(0, AnonymousSizes(exprs, input->size()));
  Sizes sizes;
  for (size_t d = 0; d < input->size(); ++d)
    sizes.push_back(AsSize(exprs, exprs.Mul((*input)[d], AsSize(exprs, (*repeats)[d]))));
  context.SetSizes(0, sizes);
  const auto count = SmallCount(exprs, sizes);
  if (!count || !context.contents(0) || sizes.size() != 1 || context.contents(0)->empty()) return;
  std::vector<Expr> elements;
  for (int64_t n = 0; n < *count; ++n) elements.push_back((*context.contents(0))[n % context.contents(0)->size()]);
  context.SetContents(0, std::move(elements));
}

constexpr InferRule kReshaping[] = {
    {"Expand", Expand}, {"Flatten", Flatten},     {"Reshape", Reshape},     {"Squeeze", Squeeze},
    {"Tile", Tile},     {"Transpose", Transpose}, {"Unsqueeze", Unsqueeze},
};

}  // namespace

std::span<const InferRule> ReshapingRules() { return kReshaping; }

}  // namespace flambeau::onnx
