// Operators that cut and join: Slice, Split, Concat, Pad.
#include <algorithm>

#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

// PyTorch and its exporters write "to the end" as any number of this size or more.
constexpr int64_t kUnboundedEnd = INT32_MAX;

// A bound that counts from the end where it is negative.
Expr FromStart(ExprPool& exprs, Expr bound, Expr size) {
  const auto range = exprs.RangeOf(bound);
  if (range.min >= 0) return bound;
  const Expr shifted = exprs.Add(size, bound);
  return range.max < 0 ? shifted : exprs.Select(exprs.Less(bound, exprs.Constant(0)), shifted, bound);
}

Expr ForwardSize(ExprPool& exprs, Expr size, Expr start, Expr end, int64_t step) {
  const Expr zero = exprs.Constant(0);
  const bool to_end = exprs.AsConstant(end).value_or(0) >= kUnboundedEnd;
  const auto fixed_start = exprs.AsConstant(start);
  if (to_end && step == 1 && fixed_start && *fixed_start < 0 && *fixed_start != INT64_MIN)
    return exprs.Min(size, exprs.Constant(-*fixed_start));  // the last elements
  if (fixed_start && *fixed_start <= -kUnboundedEnd) start = zero;
  if (exprs.AsConstant(end).value_or(0) <= -kUnboundedEnd) return zero;
  const Expr last = to_end ? size : exprs.Min(FromStart(exprs, end, size), size);
  const Expr first = exprs.Max(FromStart(exprs, start, size), zero);
  return exprs.Max(zero, exprs.CeilDiv(exprs.Sub(last, first), exprs.Constant(step)));
}

Expr BackwardSize(ExprPool& exprs, Expr size, Expr start, Expr end, int64_t step) {
  const Expr minus_one = exprs.Constant(-1), top = exprs.Add(size, minus_one);
  const int64_t fixed_start = exprs.AsConstant(start).value_or(0), fixed_end = exprs.AsConstant(end).value_or(0);
  if (fixed_start <= -kUnboundedEnd || fixed_end >= kUnboundedEnd) return exprs.Constant(0);
  const Expr first = fixed_start >= kUnboundedEnd ? top : exprs.Min(FromStart(exprs, start, size), top);
  const Expr last = fixed_end <= -kUnboundedEnd ? minus_one : exprs.Max(FromStart(exprs, end, size), minus_one);
  const Expr count = exprs.CeilDiv(exprs.Sub(first, last), exprs.Constant(-step));
  return exprs.Max(exprs.Constant(0), count);
}

Expr SliceSize(ExprPool& exprs, Expr size, Expr start, Expr end, int64_t step) {
  if (exprs.HasAnonymous(start) || exprs.HasAnonymous(end) || step == 0 || step == INT64_MIN) return exprs.Anonymous();
  return step > 0 ? ForwardSize(exprs, size, start, end, step) : BackwardSize(exprs, size, start, end, step);
}

// The first element that a slice of constant bounds takes.
int64_t FirstTaken(int64_t size, int64_t start, int64_t step) {
  if (start < 0) start = start < -size ? (step > 0 ? 0 : -1) : start + size;
  return std::min(start, step > 0 ? size : size - 1);
}

// Whether the first operand has elements to follow; then its sizes are small.
bool HasElements(InferContext& context) {
  const auto count = context.contents(0) ? SmallCount(context.exprs(), *context.sizes(0)) : std::nullopt;
  return count && *count > 0 && static_cast<size_t>(*count) == context.contents(0)->size();
}

// Bounds are attributes before opset 10.
std::optional<std::vector<Expr>> Bounds(InferContext& context, std::string_view name, size_t i) {
  if (const auto ints = context.IntList(name)) {
    std::vector<Expr> bounds;
    for (int64_t value : *ints) bounds.push_back(context.exprs().Constant(value));
    return bounds;
  }
  if (!context.contents(i)) return std::nullopt;
  return *context.contents(i);
}

void Slice(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input) return;
  ExprPool& exprs = context.exprs();
  bool no_axes, no_steps;
  auto axes = context.IntsOf("axes", 3, &no_axes);
  auto steps = context.IntsOf("steps", 4, &no_steps);
  const auto starts = Bounds(context, "starts", 1), ends = Bounds(context, "ends", 2);
  if (no_axes && starts) {
    axes.emplace();
    for (size_t d = 0; d < starts->size(); ++d) axes->push_back(static_cast<int64_t>(d));
  }
  if (!axes) return context.SetSizes(0, AnonymousSizes(exprs, input->size()));
  if (no_steps) steps.emplace(axes->size(), 1);
  const bool known = starts && ends && steps && starts->size() == axes->size() && ends->size() == axes->size() &&
                     steps->size() == axes->size();
  Sizes sizes = *input;
  const auto fixed = ConstantSizes(exprs, *input);
  Ints strides = fixed ? RowMajorStrides(*fixed) : Ints(sizes.size());
  int64_t offset = 0;
  bool readable = known && fixed && HasElements(context);
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto dim = NormalizeAxis((*axes)[i], sizes.size());
    if (!dim) return context.SetSizes(0, AnonymousSizes(exprs, sizes.size()));
    sizes[*dim] = known ? SliceSize(exprs, (*input)[*dim], (*starts)[i], (*ends)[i], (*steps)[i]) : exprs.Anonymous();
    const auto start = known ? exprs.AsConstant((*starts)[i]) : std::nullopt;
    readable = readable && start && (*steps)[i] >= -kMaxContents && (*steps)[i] <= kMaxContents;
    if (!readable) continue;
    offset += FirstTaken((*fixed)[*dim], *start, (*steps)[i]) * strides[*dim];
    strides[*dim] *= (*steps)[i];
  }
  const auto taken = ConstantSizes(exprs, sizes);
  context.SetSizes(0, std::move(sizes));
  if (!readable || !taken) return;
  if (auto elements = ReadView(*context.contents(0), offset, *taken, strides))
    context.SetContents(0, std::move(*elements));
}

// Sizes of the pieces, by attribute or operand; else equal ones, of which the
// last may be smaller.
std::optional<Sizes> PieceSizes(InferContext& context, Expr size) {
  ExprPool& exprs = context.exprs();
  const size_t count = context.result_count();
  if (const auto split = Bounds(context, "split", 1)) {
    if (split->size() != count) return std::nullopt;
    Sizes pieces;
    for (Expr piece : *split) pieces.push_back(AsSize(exprs, piece));
    return pieces;
  }
  if (context.operand(1) || count == 0) return std::nullopt;
  const Expr pieces = exprs.Constant(static_cast<int64_t>(count));
  const Expr piece = exprs.CeilDiv(size, pieces);
  Sizes sizes(count, piece);
  sizes.back() = exprs.Sub(size, exprs.Mul(piece, exprs.Constant(static_cast<int64_t>(count) - 1)));
  return sizes;
}

void Split(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const auto axis = input ? NormalizeAxis(context.Int("axis", 0), input->size()) : std::nullopt;
  if (!axis) return;
  const auto pieces = PieceSizes(context, (*input)[*axis]);
  const auto fixed = ConstantSizes(context.exprs(), *input);
  int64_t offset = 0;
  bool readable = fixed && HasElements(context);
  for (size_t i = 0; i < context.result_count(); ++i) {
    Sizes sizes = *input;
    sizes[*axis] = pieces ? (*pieces)[i] : context.exprs().Anonymous();
    const auto taken = ConstantSizes(context.exprs(), sizes);
    context.SetSizes(i, std::move(sizes));
    readable = readable && taken && (*taken)[*axis] <= (*fixed)[*axis];
    if (!readable) continue;
    const Ints strides = RowMajorStrides(*fixed);
    if (auto elements = ReadView(*context.contents(0), offset, *taken, strides))
      context.SetContents(i, std::move(*elements));
    offset += (*taken)[*axis] * strides[*axis];
  }
}

// Elements of the joined lists; unknown ones where a part's are unknown.
void JoinContents(InferContext& context) {
  std::vector<Expr> elements;
  bool any = false;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    const auto count = SmallCount(context.exprs(), *context.sizes(i));
    if (!count || elements.size() + *count > static_cast<size_t>(kMaxContents)) return;
    if (const auto* own = context.contents(i)) {
      any = true;
      elements.insert(elements.end(), own->begin(), own->end());
    } else {
      for (int64_t n = 0; n < *count; ++n) elements.push_back(UnknownElement(context.exprs()));
    }
  }
  if (any) context.SetContents(0, std::move(elements));
}

void Concat(InferContext& context) {
  std::optional<Sizes> sizes;
  ExprPool& exprs = context.exprs();
  size_t axis = 0;
  bool all_ranked = true;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    const Sizes* part = context.sizes(i);
    all_ranked &= part != nullptr;
    if (!part) continue;
    if (!sizes) {
      const auto dim = NormalizeAxis(context.Int("axis", 1), part->size());
      if (!dim) return;
      axis = *dim;
      sizes = *part;
      continue;
    }
    if (part->size() != sizes->size()) return;
    for (size_t d = 0; d < part->size(); ++d) {
      // All must agree, so a constant tells what a symbol is.
      if (d == axis) {
        (*sizes)[d] = exprs.Add((*sizes)[d], (*part)[d]);
      } else if (exprs.AsConstant((*part)[d]) || (exprs.HasAnonymous((*sizes)[d]) && !exprs.AsConstant((*sizes)[d]))) {
        (*sizes)[d] = (*part)[d];
      }
    }
  }
  if (!sizes) return;
  if (!all_ranked) (*sizes)[axis] = exprs.Anonymous();
  const bool list = sizes->size() == 1 && all_ranked;
  context.SetSizes(0, std::move(*sizes));
  if (list) JoinContents(context);
}

void Pad(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input) return;
  ExprPool& exprs = context.exprs();
  const auto pads = Bounds(context, "pads", 1);
  bool no_axes;
  auto axes = context.IntsOf("axes", 3, &no_axes);
  if (no_axes) {
    axes.emplace();
    for (size_t d = 0; d < input->size(); ++d) axes->push_back(static_cast<int64_t>(d));
  }
  if (!pads || !axes || pads->size() != 2 * axes->size())
    return context.SetSizes(0, AnonymousSizes(exprs, input->size()));
  Sizes sizes = *input;
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto dim = NormalizeAxis((*axes)[i], sizes.size());
    if (!dim) return context.SetSizes(0, AnonymousSizes(exprs, sizes.size()));
    const Expr added = exprs.Add((*pads)[i], (*pads)[axes->size() + i]);
    sizes[*dim] = exprs.HasAnonymous(added) ? exprs.Anonymous() : exprs.Add(sizes[*dim], added);
  }
  context.SetSizes(0, std::move(sizes));
}

constexpr InferRule kSlicing[] = {
    {"Concat", Concat},
    {"Pad", Pad},
    {"Slice", Slice},
    {"Split", Split},
};

}  // namespace

std::span<const InferRule> SlicingRules() { return kSlicing; }

}  // namespace flambeau::onnx
