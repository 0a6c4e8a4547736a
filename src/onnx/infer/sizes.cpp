#include "onnx/infer/sizes.h"

#include <algorithm>
#include <numeric>

namespace flambeau::onnx {
namespace {

void AppendFactors(const ExprPool& exprs, Expr e, Sizes* factors) {
  if (exprs.kind(e) == ExprKind::kMul) {
    const auto inner = exprs.operands(e);
    factors->insert(factors->end(), inner.begin(), inner.end());
  } else {
    factors->push_back(e);
  }
}

// `e` without one factor `by`, which each term of a sum must have.
std::optional<Expr> DivideOut(ExprPool& exprs, Expr e, Expr by) {
  const auto operands = exprs.operands(e);
  const Sizes terms = exprs.kind(e) == ExprKind::kAdd ? Sizes(operands.begin(), operands.end()) : Sizes{e};
  Expr sum = exprs.Constant(0);
  for (Expr term : terms) {
    Sizes factors;
    AppendFactors(exprs, term, &factors);
    const auto found = std::find(factors.begin(), factors.end(), by);
    if (found == factors.end()) return std::nullopt;
    factors.erase(found);
    sum = exprs.Add(sum, Product(exprs, factors));
  }
  return sum;
}

// Removes what occurs in both lists, once for each occurrence.
void CancelCommon(Sizes* a, Sizes* b) {
  for (auto it = b->begin(); it != b->end();) {
    const auto found = std::find(a->begin(), a->end(), *it);
    if (found == a->end()) {
      ++it;
    } else {
      a->erase(found);
      it = b->erase(it);
    }
  }
}

}  // namespace

Expr UnknownElement(ExprPool& exprs) {
  const Expr element = exprs.Anonymous();
  exprs.SetRange(element, {INT64_MIN, INT64_MAX});
  return element;
}

Sizes AnonymousSizes(ExprPool& exprs, size_t rank) {
  Sizes sizes(rank);
  for (Expr& size : sizes) size = exprs.Anonymous();
  return sizes;
}

Expr AsSize(ExprPool& exprs, Expr e) {
  const bool anonymous = exprs.kind(e) == ExprKind::kSymbol && exprs.symbol_kind(e) == SymbolKind::kAnonymous;
  const bool negative = exprs.AsConstant(e).value_or(0) < 0;
  return (anonymous && exprs.RangeOf(e).min < 0) || negative ? exprs.Anonymous() : e;
}

Sizes ConstantExprs(ExprPool& exprs, std::span<const int64_t> values) {
  Sizes sizes;
  for (int64_t value : values) sizes.push_back(exprs.Constant(value));
  return sizes;
}

std::optional<Sizes> SizesFromOperand(InferContext& context, size_t i) {
  ExprPool& exprs = context.exprs();
  if (const auto* elements = context.contents(i)) {
    Sizes sizes;
    for (Expr element : *elements) sizes.push_back(AsSize(exprs, element));
    return sizes;
  }
  const Sizes* list = context.sizes(i);
  const auto rank = list && list->size() == 1 ? exprs.AsConstant(list->front()) : std::nullopt;
  if (!rank || *rank < 0 || *rank > kMaxContents) return std::nullopt;
  return AnonymousSizes(exprs, static_cast<size_t>(*rank));
}

Expr SizeFromScalar(InferContext& context, size_t i) {
  const auto* elements = context.contents(i);
  return elements && elements->size() == 1 ? AsSize(context.exprs(), elements->front()) : context.exprs().Anonymous();
}

Expr Product(ExprPool& exprs, std::span<const Expr> factors) {
  Expr product = exprs.Constant(1);
  for (Expr factor : factors) product = exprs.Mul(product, factor);
  return product;
}

Expr ExactQuotient(ExprPool& exprs, Sizes dividend, Sizes divisor) {
  CancelCommon(&dividend, &divisor);
  const Expr whole = Product(exprs, divisor);
  Sizes factors;
  AppendFactors(exprs, whole, &factors);
  Expr quotient = Product(exprs, dividend);
  if (quotient == whole) return exprs.Constant(1);
  Sizes left;
  for (Expr factor : factors) {
    if (const auto divided = DivideOut(exprs, quotient, factor)) {
      quotient = *divided;
    } else {
      left.push_back(factor);
    }
  }
  if (exprs.IsConstant(quotient, 0) && !left.empty() && !exprs.AsConstant(Product(exprs, left)))
    return exprs.Anonymous();
  const Expr rest = Product(exprs, left);
  if (exprs.IsConstant(rest, 0)) return exprs.Anonymous();
  return exprs.FloorDiv(quotient, rest);
}

bool MayBeZero(const ExprPool& exprs, Expr size) {
  const ExprPool::Range range = exprs.RangeOf(size);
  return range.min <= 0 && range.max >= 0;
}

std::optional<size_t> NormalizeAxis(int64_t axis, size_t rank) {
  const auto dims = static_cast<int64_t>(rank);
  if (axis < -dims || axis >= dims) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + dims : axis);
}

std::optional<std::vector<bool>> AxisMask(std::span<const int64_t> axes, size_t rank) {
  std::vector<bool> mask(rank);
  for (int64_t axis : axes) {
    const auto dim = NormalizeAxis(axis, rank);
    if (!dim) return std::nullopt;
    mask[*dim] = true;
  }
  return mask;
}

std::optional<Ints> ConstantSizes(const ExprPool& exprs, std::span<const Expr> sizes) {
  Ints values;
  for (Expr size : sizes) {
    const auto value = exprs.AsConstant(size);
    if (!value || *value < 0) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<int64_t> SmallCount(const ExprPool& exprs, std::span<const Expr> sizes) {
  const auto values = ConstantSizes(exprs, sizes);
  if (!values) return std::nullopt;
  if (std::find(values->begin(), values->end(), 0) != values->end()) return 0;
  int64_t count = 1;
  for (int64_t value : *values) {
    if (value > kMaxContents) return std::nullopt;
    count *= value;
    if (count > kMaxContents) return std::nullopt;
  }
  return count;
}

Ints RowMajorStrides(std::span<const int64_t> sizes) {
  Ints strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (__builtin_mul_overflow(stride, sizes[i], &stride)) stride = 0;
  }
  return strides;
}

std::optional<std::vector<Expr>> ReadView(std::span<const Expr> elements, int64_t offset,
                                          std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (size == 0) return std::vector<Expr>{};
  for (int64_t size : sizes) {
    if (size < 0 || size > kMaxContents) return std::nullopt;
    count *= size;
    if (count > kMaxContents) return std::nullopt;
  }
  std::vector<Expr> seen;
  Ints index(sizes.size());
  for (int64_t n = 0; n < count; ++n) {
    int64_t position = offset;
    for (size_t d = 0; d < sizes.size(); ++d) position += index[d] * strides[d];
    if (position < 0 || position >= static_cast<int64_t>(elements.size())) return std::nullopt;
    seen.push_back(elements[position]);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
  return seen;
}

std::optional<std::vector<Expr>> BroadcastContents(const ExprPool& exprs, const Type& type, std::span<const Expr> to) {
  const auto from = ConstantSizes(exprs, type.sizes);
  const auto sizes = ConstantSizes(exprs, to);
  if (!type.contents || !from || !sizes || from->size() > sizes->size()) return std::nullopt;
  const Ints own = RowMajorStrides(*from);
  Ints strides(sizes->size());
  const size_t lead = sizes->size() - from->size();
  for (size_t d = 0; d < from->size(); ++d) {
    if ((*from)[d] != 1 && (*from)[d] != (*sizes)[lead + d]) return std::nullopt;
    strides[lead + d] = (*from)[d] == 1 ? 0 : own[d];
  }
  return ReadView(*type.contents, 0, *sizes, strides);
}

std::vector<Expr> BroadcastSizes(ExprPool& exprs, std::vector<Expr> a, std::span<const Expr> b) {
  if (a.size() < b.size()) a.insert(a.begin(), b.begin(), b.end() - static_cast<ptrdiff_t>(a.size()));
  const size_t lead = a.size() - b.size();
  for (size_t d = 0; d < b.size(); ++d) {
    Expr& size = a[lead + d];
    const Expr other = b[d];
    if (size == other) continue;
    const auto fixed = exprs.AsConstant(size), fixed_other = exprs.AsConstant(other);
    if (fixed_other == 1) continue;
    if (fixed == 1 || (fixed_other && !fixed)) {
      size = other;  // one that is not known is 1, or the same
    } else if (fixed.has_value() == fixed_other.has_value()) {
      size = exprs.Anonymous();  // of two constants: they cannot be broadcast
    }
  }
  return a;
}

}  // namespace flambeau::onnx
