#include "aten/strides.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace flambeau::aten {
namespace {

// Whether a sum is 0 for no integers, because what divides all terms but the constant one does not divide that: 32·n - 8.
bool IsNeverZero(Expr sum, const ExprPool& exprs) {
  if (exprs.kind(sum) != ExprKind::kAdd) return exprs.AsConstant(sum).value_or(0) != 0;
  int64_t constant = 0, divisor = 0;
  for (const Expr term : exprs.operands(sum)) {
    const std::optional<int64_t> number = exprs.AsConstant(term);
    const Expr first = exprs.kind(term) == ExprKind::kMul ? exprs.operands(term)[0] : term;
    const int64_t factor = exprs.AsConstant(first).value_or(1);
    if (factor == INT64_MIN) return false;  // has no absolute value
    if (number) constant = *number;
    else divisor = std::gcd(divisor, factor);
  }
  return divisor != 0 && constant % divisor != 0;
}

Decision Same(Expr a, Expr b, ExprPool& exprs) {
  if (a == b) return Decision::kYes;
  return IsNeverZero(exprs.Sub(a, b), exprs) ? Decision::kNo : Decision::kUnknown;
}

// Then its stride is free.
bool MayBeOne(Expr size, const ExprPool& exprs) { return !exprs.AsConstant(size) && exprs.RangeOf(size).min < 2; }

enum class Ones : bool { kPossible, kExcluded };  // among sizes that are known at run time only

// The same for sizes as tensors mostly have them: all different, and none of them small.
Decision SameMostly(Expr a, Expr b, ExprPool& exprs) {
  std::unordered_map<Expr, int64_t> sizes;
  int64_t next = 101;
  for (const Expr side : {a, b})
    exprs.ForEachSymbol(side, [&](Expr symbol) {
      if (sizes.emplace(symbol, next).second) next += 12;
    });
  const auto one = exprs.Evaluate(a, sizes), other = exprs.Evaluate(b, sizes);
  if (!one || !other) return Decision::kUnknown;
  return *one == *other ? Decision::kYes : Decision::kNo;
}

// Whether the strides are those of a dense tensor whose dimensions lie in
// memory in `order`, outermost first. Strides of dimensions of size 1 are free.
Decision IsDenseIn(const Type& type, std::span<const int64_t> order, ExprPool& exprs, Ones ones = Ones::kPossible) {
  // Where a size may be 0, PyTorch strides over it as if it were 1; captures record the product either way.
  Expr expected = exprs.Constant(1), product = expected;
  Decision decision = Decision::kYes;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(order[i]);
    if (exprs.IsConstant(type.sizes[dim], 0)) return Decision::kYes;
    if (exprs.IsConstant(type.sizes[dim], 1)) continue;
    Decision same = type.strides[dim] == product ? Decision::kYes : Same(type.strides[dim], expected, exprs);
    if (same == Decision::kUnknown && ones == Ones::kExcluded) same = SameMostly(type.strides[dim], expected, exprs);
    if (same == Decision::kNo && (ones == Ones::kExcluded || !MayBeOne(type.sizes[dim], exprs))) return Decision::kNo;
    if (same != Decision::kYes) decision = Decision::kUnknown;
    expected = exprs.Mul(expected, exprs.Max(exprs.Constant(1), type.sizes[dim]));
    product = exprs.Mul(product, type.sizes[dim]);
  }
  return decision;
}

// The order of `rank` dimensions in memory, outermost first; none where they have no such format.
std::optional<Ints> OrderIn(MemoryFormat format, size_t rank) {
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (format == MemoryFormat::kChannelsLast || format == MemoryFormat::kChannelsLast3d) {
    if (rank != (format == MemoryFormat::kChannelsLast ? 4u : 5u)) return std::nullopt;
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  return order;
}

bool HasStrides(const Type& type) { return type.ranked && type.strides.size() == type.sizes.size(); }

Decision IsContiguousIf(const Type& type, MemoryFormat format, ExprPool& exprs, Ones ones) {
  if (!HasStrides(type)) return Decision::kUnknown;
  const auto order = OrderIn(format, type.rank());
  return order ? IsDenseIn(type, *order, exprs, ones) : Decision::kNo;
}

}  // namespace

Decision IsContiguous(const Type& type, MemoryFormat format, ExprPool& exprs) {
  return IsContiguousIf(type, format, exprs, Ones::kPossible);
}

Decision IsContiguousUnlessOne(const Type& type, MemoryFormat format, ExprPool& exprs) {
  return IsContiguousIf(type, format, exprs, Ones::kExcluded);
}

namespace {

// Strides that grow from the channels to the last dimension, and so on out to the batch; not those of one channel's images.
Decision IsLikeChannelsLast(const Type& type, ExprPool& exprs) {
  if (!HasStrides(type)) return Decision::kUnknown;
  std::vector<size_t> inward{1};
  for (size_t dim = type.rank() - 1; dim > 1; --dim) inward.push_back(dim);
  inward.push_back(0);
  Expr least = exprs.Constant(0);
  if (exprs.IsConstant(type.strides[1], 0)) return Decision::kNo;
  for (const size_t dim : inward) {
    if (exprs.IsConstant(type.sizes[dim], 0)) return Decision::kNo;
    const auto distance = exprs.RangeOf(exprs.Sub(type.strides[dim], least));
    if (distance.max < 0) return Decision::kNo;
    if (distance.min < 0) return Decision::kUnknown;
    if (dim == 0 && least == type.strides[1]) return Decision::kNo;
    least = exprs.Mul(type.strides[dim], exprs.Max(exprs.Constant(1), type.sizes[dim]));
  }
  return Decision::kYes;
}

}  // namespace

Decision Suggests(const Type& type, MemoryFormat format, ExprPool& exprs) {
  if (!type.ranked) return Decision::kUnknown;
  const bool last = format == MemoryFormat::kChannelsLast || format == MemoryFormat::kChannelsLast3d;
  if (type.rank() != 4 && type.rank() != 5) return last ? Decision::kNo : Decision::kYes;
  const bool fits = type.rank() == (format == MemoryFormat::kChannelsLast3d ? 5u : 4u);
  if (last && !fits) return Decision::kNo;
  const Decision like = IsLikeChannelsLast(type, exprs);
  if (last || like == Decision::kUnknown) return like;
  return like == Decision::kNo ? Decision::kYes : Decision::kNo;
}

std::optional<std::vector<Expr>> DenseStrides(const std::vector<Expr>& sizes, MemoryFormat format, ExprPool& exprs) {
  const auto order = OrderIn(format, sizes.size());
  if (!order) return std::nullopt;
  std::vector<Expr> ordered;
  for (const int64_t dim : *order) ordered.push_back(sizes[static_cast<size_t>(dim)]);
  const std::vector<Expr> dense = ContiguousStrides(ordered, exprs);
  std::vector<Expr> strides(sizes.size());
  for (size_t i = 0; i < dense.size(); ++i) strides[static_cast<size_t>((*order)[i])] = dense[i];
  return strides;
}

namespace {

// The same for strides that are known, where those of sizes that may be 1 count as well. `strides` become those of the view.
Decision CanViewByStrides(const Type& type, std::span<const Expr> sizes, ExprPool& exprs, Ones ones, std::vector<Expr>& strides) {
  const auto same_size = [&](Expr a, Expr b) {
    const Decision same = Same(a, b, exprs);
    return same == Decision::kUnknown && ones == Ones::kExcluded ? SameMostly(a, b, exprs) : same;
  };
  // From the innermost dimension out: runs of dimensions that lie in memory as
  // one must be runs of new dimensions of the same number of elements.
  size_t next = sizes.size();
  strides.assign(next, exprs.Constant(1));
  for (size_t dim = type.rank(); dim > 0;) {
    Expr run = exprs.Constant(1), step = run;  // of the innermost dimension
    Expr outer_stride{};
    do {
      --dim;
      if (!exprs.IsConstant(type.sizes[dim], 1)) {
        if (outer_stride) {
          const Decision same = same_size(type.strides[dim], outer_stride);
          if (same == Decision::kUnknown) return same;
        } else {
          step = type.strides[dim];
        }
        run = exprs.Mul(run, type.sizes[dim]);
        outer_stride = exprs.Mul(type.strides[dim], type.sizes[dim]);
      }
      // The run ends where the next outer dimension doesn't continue it.
      if (dim == 0 || !outer_stride) continue;
      size_t outer = dim;
      while (outer > 0 && exprs.IsConstant(type.sizes[outer - 1], 1)) --outer;
      if (outer == 0) continue;
      const Decision joined = same_size(type.strides[outer - 1], outer_stride);
      if (joined == Decision::kUnknown) return joined;
      if (joined == Decision::kNo) break;
    } while (dim > 0);
    Expr covered = exprs.Constant(1);
    while (next > 0 && (covered != run || exprs.IsConstant(sizes[next - 1], 1))) {
      strides[--next] = exprs.Mul(step, covered);
      covered = exprs.Mul(covered, sizes[next]);
      const auto have = exprs.AsConstant(covered), want = exprs.AsConstant(run);
      if (have && want && *have > *want) return Decision::kNo;
    }
    if (covered != run) return same_size(covered, run) == Decision::kNo ? Decision::kNo : Decision::kUnknown;
  }
  return Decision::kYes;
}

Decision CanViewIf(const Type& type, std::span<const Expr> sizes, ExprPool& exprs, Ones ones) {
  const Decision contiguous = IsContiguousIf(type, MemoryFormat::kContiguous, exprs, ones);
  if (contiguous == Decision::kYes || !HasStrides(type)) return contiguous;
  if (std::equal(type.sizes.begin(), type.sizes.end(), sizes.begin(), sizes.end())) return Decision::kYes;
  std::vector<Expr> strides;
  const Decision decision = CanViewByStrides(type, sizes, exprs, ones, strides);
  const bool is_open = ones == Ones::kPossible && std::ranges::any_of(type.sizes, [&](Expr size) { return MayBeOne(size, exprs); });
  return decision == Decision::kNo && is_open ? Decision::kUnknown : decision;
}

}  // namespace

Decision CanView(const Type& type, std::span<const Expr> sizes, ExprPool& exprs) {
  return CanViewIf(type, sizes, exprs, Ones::kPossible);
}

Decision CanViewUnlessOne(const Type& type, std::span<const Expr> sizes, ExprPool& exprs) {
  return CanViewIf(type, sizes, exprs, Ones::kExcluded);
}

std::optional<std::vector<Expr>> StridesAs(const Type& type, const std::vector<Expr>& sizes, ExprPool& exprs) {
  const Decision view = CanView(type, sizes, exprs);
  if (view == Decision::kNo) return ContiguousStrides(sizes, exprs);
  if (view == Decision::kUnknown || !HasStrides(type)) return std::nullopt;
  if (IsContiguous(type, MemoryFormat::kContiguous, exprs) == Decision::kYes) return ContiguousStrides(sizes, exprs);
  if (type.sizes == sizes) return type.strides;
  std::vector<Expr> strides;
  CanViewByStrides(type, sizes, exprs, Ones::kPossible, strides);
  return strides;
}

std::optional<Ints> DenseOrder(const Type& type, ExprPool& exprs) {
  if (!HasStrides(type)) return std::nullopt;
  Ints order(type.rank());
  std::iota(order.begin(), order.end(), 0);
  if (IsDenseIn(type, order, exprs) == Decision::kYes) return order;
  const bool known = std::ranges::all_of(type.strides, [&](Expr stride) { return exprs.AsConstant(stride).has_value(); });
  if (!known) {
    constexpr size_t kMostTried = 4;  // dimensions, of which there are 24 orders
    while (type.rank() <= kMostTried && std::ranges::next_permutation(order).found)
      if (IsDenseIn(type, order, exprs) == Decision::kYes) return order;
    return std::nullopt;
  }
  std::ranges::sort(order, std::greater(), [&](int64_t dim) {
    return std::pair(*exprs.AsConstant(type.strides[static_cast<size_t>(dim)]), -dim);
  });
  if (IsDenseIn(type, order, exprs) == Decision::kYes) return order;
  return std::nullopt;
}

}  // namespace flambeau::aten
