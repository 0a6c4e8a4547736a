// Medians, modes, quantiles, differences and covariances.
#include <algorithm>
#include <limits>
#include <numeric>

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/loops.h"
#include "lower/ops/reduction.h"
#include "lower/ops/steps.h"
#include "onnx/complex.h"
#include "onnx/infer/sizes.h"

namespace flambeau::lower {
namespace {

using ValuesAndIndices = std::tuple<Tensor, Tensor>;

Tensor Infinity(Lowering& to, DType dtype) { return to.NumberOf(std::numeric_limits<double>::infinity(), dtype); }
Tensor Nan(Lowering& to, DType dtype) { return to.NumberOf(std::numeric_limits<double>::quiet_NaN(), dtype); }

Tensor CountAlong(Lowering& to, Tensor truth, int64_t axis) {
  return to.ReduceSum(to.CastTo(truth, DType::kInt64), to.ConstantInts({axis}));
}

Tensor IsNan(Lowering& to, Tensor x) { return to.Not(to.Equal(x, x)); }

struct Sorted {
  Tensor values, order;
};

// Ascending; NaN comes last, as infinity.
Sorted SortedAlong(Lowering& to, Tensor x, int64_t axis) {
  const Tensor keys = x.is_floating() ? to.Where(IsNan(to, x), Infinity(to, x.dtype()), x) : x;
  const auto [values, order] = to.TopK(keys, to.Number1(x.size(axis)), {.axis = axis, .largest = 0});
  return {values, order};
}

Tensor Dropped(Lowering& to, Tensor x, int64_t axis, bool keepdim) { return keepdim ? x : to.SqueezeAt(x, {axis}); }

// The lower of the two middle elements, and where it is. NaN is the median where
// there is any, or is left out.
template <bool kIgnoreNan>
ValuesAndIndices MedianDim(Lowering& to, Tensor self, int64_t dim, bool keepdim) {
  if (self.rank() == 0) return {self, to.ConstantInt(0)};
  const int64_t axis = to.Axis(dim, self);
  const auto [sorted, order] = SortedAlong(to, self, axis);
  const Dim middle{to.exprs().FloorDiv(to.Minus(self.size(axis), to.Of(1)).expr, to.Of(2).expr)};
  if (!self.is_floating()) {
    const Tensor at = to.Number1(middle);
    return {Dropped(to, to.Gather(sorted, at, {.axis = axis}), axis, keepdim),
            Dropped(to, to.Gather(order, at, {.axis = axis}), axis, keepdim)};
  }
  Tensor index;
  if constexpr (kIgnoreNan) {
    const Tensor last = to.Sub(CountAlong(to, to.Equal(self, self), axis), to.ConstantInt(1));
    const Tensor at = to.Div(to.Max({last, to.ConstantInt(0)}), to.ConstantInt(2));
    index = to.GatherElements(order, at, {.axis = axis});
  } else {
    const Tensor nan = to.CastTo(IsNan(to, self), DType::kInt32);
    const Tensor first_nan = to.ArgMax(nan, {.axis = axis});
    const Tensor any = to.CastTo(to.ReduceMax(nan, to.ConstantInts({axis})), DType::kBool);
    index = to.Where(any, first_nan, to.Gather(order, to.Number1(middle), {.axis = axis}));
  }
  const Tensor value = to.GatherElements(self, index, {.axis = axis});
  return {Dropped(to, value, axis, keepdim), Dropped(to, index, axis, keepdim)};
}

Tensor Flattened(Lowering& to, Tensor x) { return x.rank() == 1 ? x : to.ReshapeTo(x, Dims{to.Numel(x)}); }

// The median of nothing: NaN, and what a cast makes of it in PyTorch.
Scalar MedianOfNothing(DType dtype) {
  switch (dtype) {
    case DType::kInt64: return Scalar(std::numeric_limits<int64_t>::min());
    case DType::kInt32: return Scalar(int64_t{std::numeric_limits<int32_t>::min()});
    default: return IsFloating(dtype) ? Scalar(std::numeric_limits<double>::quiet_NaN()) : Scalar(int64_t{0});
  }
}

template <bool kIgnoreNan>
Tensor Median(Lowering& to, Tensor self) {
  const Dim count = to.Numel(self);
  if (to.AsConstant(count) == 0) return to.NumberOf(MedianOfNothing(self.dtype()), self.dtype());
  Tensor flat = Flattened(to, self);
  if (onnx::MayBeZero(to.exprs(), count.expr)) {  // then its median is the only element
    const Dim missing = to.Minus({to.exprs().Max(count.expr, to.exprs().Constant(1))}, count);
    flat = to.Concat({flat, to.Full(Dims{missing}, MedianOfNothing(self.dtype()), self.dtype())}, {.axis = 0});
  }
  return std::get<0>(MedianDim<kIgnoreNan>(to, flat, 0, false));
}

// The smallest of the most frequent elements, and its last position. Every pair
// is compared.
ValuesAndIndices Mode(Lowering& to, Tensor self, int64_t dim, bool keepdim) {
  if (self.rank() == 0) return {self, to.ConstantInt(0)};
  const int64_t axis = to.Axis(dim, self), last = self.rank() - 1;
  Ints swapped(static_cast<size_t>(self.rank()));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<size_t>(axis)], swapped[static_cast<size_t>(last)]);
  const Tensor numbers = self.is_bool() ? to.CastTo(self, DType::kInt32) : self;
  const Tensor x = to.Permute(numbers, swapped);
  const Tensor same = to.Equal(to.UnsqueezeAt(x, {last}), to.UnsqueezeAt(x, {last + 1}));
  const Tensor count = to.ReduceSum(to.CastTo(same, DType::kInt64), to.ConstantInts({last + 1}), {.keepdims = 0});
  const Tensor axes = to.ConstantInts({last});
  const Tensor most = to.Equal(count, to.ReduceMax(count, axes));
  const Tensor largest = x.is_floating() ? to.ReduceMax(x, axes) : Amax(to, x, {last}, true);
  const Tensor chosen = to.Where(most, x, largest);
  const Tensor value = x.is_floating() ? to.ReduceMin(chosen, axes) : Amin(to, chosen, {last}, true);
  const Tensor positions = to.Range(to.ConstantInt(0), to.Number(x.size(last)), to.ConstantInt(1));
  const Tensor index = to.ReduceMax(to.Where(to.Equal(x, value), positions, to.ConstantInt(-1)), axes);
  return {to.CastTo(Dropped(to, to.Permute(value, swapped), axis, keepdim), self.dtype()),
          Dropped(to, to.Permute(index, swapped), axis, keepdim)};
}

// --- quantiles ----------------------------------------------------------------------

// Between the neighbours of rank q·(count - 1) along the last axis, for each q of
// one axis, which comes last.
Tensor QuantilesOfRows(Lowering& to, Tensor rows, Tensor q, bool ignore_nan, std::string_view interpolation) {
  const DType dtype = rows.dtype();
  const int64_t last = rows.rank() - 1;
  const Tensor sorted = SortedAlong(to, rows, last).values;
  const Tensor known = CountAlong(to, to.Equal(rows, rows), last);
  const Tensor size = to.Number1(rows.size(last));
  // The axis of q takes the place of the elements.
  const Tensor count = ignore_nan ? known : to.Where(to.Equal(known, known), size, known);
  const Tensor top = to.CastTo(to.Max({to.Sub(count, to.ConstantInt(1)), to.ConstantInt(0)}), dtype);
  const Tensor rank = to.Mul(top, q);
  Tensor result;
  auto at = [&](Tensor position) {
    return to.GatherElements(sorted, to.CastTo(position, DType::kInt64), {.axis = last});
  };
  if (interpolation == "lower") {
    result = at(to.Floor(rank));
  } else if (interpolation == "higher") {
    result = at(to.Ceil(rank));
  } else if (interpolation == "nearest") {
    result = at(to.Round(rank));
  } else {
    const Tensor below = to.Floor(rank), low = at(below), high = at(to.Ceil(rank));
    const Tensor weight = interpolation == "midpoint" ? to.NumberOf(0.5, dtype) : to.Sub(rank, below);
    const Tensor between = to.Add(low, to.Mul(weight, to.Sub(high, low)));
    // Equal infinities have no difference.
    result = to.Where(to.Equal(low, high), low, between);
  }
  const Tensor undefined = ignore_nan ? to.Equal(known, to.ConstantInt(0)) : to.Not(to.Equal(known, size));
  return to.Where(undefined, Nan(to, dtype), result);
}

template <bool kIgnoreNan>
Tensor Quantile(Lowering& to, Tensor self, Tensor q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  const bool one_number = q.rank() == 0;
  const Tensor qs = one_number ? to.UnsqueezeAt(to.CastTo(q, self.dtype()), {0}) : q;
  Tensor rows = self.rank() == 0 ? to.UnsqueezeAt(self, {0}) : dim ? self : Flattened(to, self);
  const int64_t axis = dim && self.rank() > 0 ? to.Axis(*dim, self) : 0, last = rows.rank() - 1;
  Ints to_end;
  for (int64_t i = 0; i <= last; ++i)
    if (i != axis) to_end.push_back(i);
  to_end.push_back(axis);
  const Tensor found = QuantilesOfRows(to, to.Permute(rows, to_end), qs, kIgnoreNan, interpolation);
  // (rows…, q) to (q, rows…).
  Ints q_first{last};
  for (int64_t i = 0; i < last; ++i) q_first.push_back(i);
  Tensor result = to.Permute(found, q_first);
  if (keepdim && self.rank() > 0) {
    Ints kept;
    for (int64_t i = 0; i < (dim ? 1 : self.rank()); ++i) kept.push_back(axis + 1 + i);
    result = to.UnsqueezeAt(result, kept);
  }
  return one_number ? to.SqueezeAt(result, {0}) : result;
}

template <bool kIgnoreNan>
Tensor QuantileScalar(Lowering& to, Tensor self, Scalar q, std::optional<int64_t> dim, bool keepdim,
                      std::string_view interpolation) {
  return Quantile<kIgnoreNan>(to, self, to.NumberOf(q, self.dtype()), dim, keepdim, interpolation);
}

// --- differences ----------------------------------------------------------------------

Tensor From(Lowering& to, Tensor x, int64_t axis, int64_t start, int64_t end) {
  return to.SliceAxis(x, axis, to.Of(start), to.Of(end));
}

Tensor Difference(Lowering& to, const Tensor& x, int64_t axis) {
  const Tensor later = From(to, x, axis, 1, INT64_MAX), earlier = From(to, x, axis, 0, -1);
  return x.dtype() == DType::kBool ? to.Xor(later, earlier) : to.Sub(later, earlier);
}

Tensor Diff(Lowering& to, Tensor self, Dim n, int64_t dim, std::optional<Tensor> prepend, std::optional<Tensor> append) {
  const std::optional<int64_t> times = to.AsConstant(n);
  if (times == 0) return self;  // what is put at the ends as well is left out, too
  const int64_t axis = to.Axis(dim, self);
  std::vector<Tensor> parts;
  for (const std::optional<Tensor>& part : {prepend, std::optional(self), append})
    if (part) parts.push_back(*part);
  const DType dtype = to.PromotedDtype(parts);
  for (Tensor& part : parts) part = to.CastTo(part, dtype);
  Tensor x = parts.size() == 1 ? parts[0] : to.Concat(parts, {.axis = axis});
  if (times) {
    for (int64_t i = 0, count = WrittenOut(*times); i < count; ++i) x = Difference(to, x, axis);
    return x;
  }
  ExprPool& exprs = to.exprs();
  const Dim all = x.size(axis), most{exprs.Min(n.expr, all.expr)};  // then nothing is left
  if (parts.size() > 1) {
    const Expr none = exprs.Equal(n.expr, exprs.Constant(0));
    const Dim start{exprs.Select(none, prepend ? prepend->size(axis).expr : exprs.Constant(0), exprs.Constant(0))};
    const Dim end{exprs.Select(none, exprs.Add(start.expr, self.size(axis).expr), all.expr)};
    x = to.SliceAxis(x, axis, start, end);
  }
  Type type = x.type();
  type.sizes[static_cast<size_t>(axis)] = exprs.Anonymous();
  return Repeat(to, to.Number(most), {to.Refined(x, type)}, [&](const Tensor&, const std::vector<Tensor>& states) {
    return std::vector<Tensor>{Difference(to, states[0], axis)};
  })[0];
}

// --- covariances ------------------------------------------------------------------------

// Of variables in rows, as a matrix.
Tensor CovMatrix(Lowering& to, Tensor self, Dim correction, std::optional<Tensor> fweights,
                 std::optional<Tensor> aweights) {
  std::vector<Tensor> all = {self};
  for (const std::optional<Tensor>& weights : {fweights, aweights})
    if (weights) all.push_back(*weights);
  Tensor x = to.ToFloat(to.CastTo(self, to.PromotedDtype(all)));
  if (x.rank() < 2) x = to.ReshapeTo(x, Dims{to.Of(1), to.Numel(x)});
  const DType dtype = x.is_complex() ? onnx::PartDtype(x.dtype()) : x.dtype();
  const auto as_data = [&](const Tensor& real) { return to.CastTo(real, x.dtype()); };
  const Tensor samples = to.ConstantInts({1});
  Tensor weight = fweights ? to.CastTo(*fweights, dtype) : Tensor();
  if (aweights) weight = weight ? to.Mul(weight, to.CastTo(*aweights, dtype)) : to.CastTo(*aweights, dtype);
  const Tensor corrected = to.NumberOf(correction, dtype);
  Tensor mean, divisor;
  if (weight) {
    const Tensor total = Sum(to, weight, std::nullopt, false, std::nullopt);
    mean = to.Div(to.ReduceSum(to.Mul(x, as_data(weight)), samples), as_data(total));
    if (aweights && to.AsConstant(correction) != 0) {
      const Tensor spread = Sum(to, to.Mul(weight, to.CastTo(*aweights, dtype)), std::nullopt, false, std::nullopt);
      divisor = to.Sub(total, to.Div(to.Mul(corrected, spread), total));
    } else {
      divisor = to.Sub(total, corrected);
    }
  } else {
    mean = to.ReduceMean(x, samples);
    divisor = to.Sub(to.CastTo(to.Number(x.size(1)), dtype), corrected);
  }
  const Tensor centered = to.Sub(x, mean);
  const Tensor weighted = weight ? to.Mul(centered, as_data(weight)) : centered;
  const Tensor other = to.Transpose(x.is_complex() ? Conj(to, weighted) : weighted, {.perm = {1, 0}});
  return to.Div(to.MatMul(centered, other), as_data(to.Relu(divisor)));
}

// Of one variable, a number.
Tensor AsNumberIfOne(Lowering& to, Tensor matrix) {
  return to.AsConstant(matrix.size(0)) == 1 ? to.SqueezeAt(matrix, {0, 1}) : matrix;
}

Tensor Cov(Lowering& to, Tensor self, Dim correction, std::optional<Tensor> fweights,
           std::optional<Tensor> aweights) {
  return AsNumberIfOne(to, CovMatrix(to, self, correction, fweights, aweights));
}

Tensor Corrcoef(Lowering& to, Tensor self) {
  const Tensor covariance = CovMatrix(to, self, to.Of(1), std::nullopt, std::nullopt);
  const bool is_complex = covariance.is_complex();
  const Tensor variances = is_complex ? onnx::PartsOf(to, covariance).re : covariance;
  const Tensor diagonal = to.CastTo(to.EyeLike(variances, {.dtype = Info(DType::kInt32).onnx_code}), DType::kBool);
  const Tensor zero = to.NumberOf(0.0, variances.dtype()), one = to.NumberOf(1.0, variances.dtype());
  const Tensor deviation = to.Sqrt(to.ReduceSum(to.Where(diagonal, variances, zero), to.ConstantInts({1})));
  const auto ratio = [&](const Tensor& part) {
    return to.Clip(to.Div(to.Div(part, deviation), to.Transpose(deviation, {.perm = {1, 0}})), to.Neg(one), one);
  };
  if (!is_complex) return AsNumberIfOne(to, ratio(covariance));
  const onnx::Parts parts = onnx::PartsOf(to, covariance);
  return AsNumberIfOne(to, onnx::ComplexOf(to, {ratio(parts.re), ratio(parts.im)}));
}

constexpr OpRow kRows[] = {
    Op<Corrcoef>("aten::corrcoef(Tensor self) -> Tensor"),
    Op<Cov>("aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor"),
    Op<Diff>("aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor"),
    Op<Median<false>>("aten::median(Tensor self) -> Tensor"),
    Op<MedianDim<false>>(
        "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    Op<Mode>("aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    Op<Median<true>>("aten::nanmedian(Tensor self) -> Tensor"),
    Op<MedianDim<true>>(
        "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    Op<Quantile<true>>("aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
                       "interpolation=\"linear\") -> Tensor"),
    Op<QuantileScalar<true>>("aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
                             "interpolation=\"linear\") -> Tensor"),
    Op<Quantile<false>>("aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
                        "interpolation=\"linear\") -> Tensor"),
    Op<QuantileScalar<false>>("aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
                              "interpolation=\"linear\") -> Tensor"),
};

}  // namespace

std::span<const OpRow> Statistics() { return kRows; }

}  // namespace flambeau::lower
