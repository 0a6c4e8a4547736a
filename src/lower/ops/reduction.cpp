// Sums, means, extrema, norms and variances.
#include "lower/ops/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lower/op.h"
#include "lower/ops/arithmetic.h"
#include "lower/ops/complex.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/geometry.h"
#include "lower/ops/loops.h"
#include "lower/ops/nan_order.h"
#include "lower/ops/views.h"
#include "onnx/complex.h"

namespace flambeau::lower {

Ints ReducedAxes(Lowering& to, const Tensor& tensor, const std::optional<Ints>& dims) {
  Ints axes;
  if (tensor.rank() == 0) return axes;
  if (dims && !dims->empty()) {
    axes = to.Axes(*dims, tensor);
    std::sort(axes.begin(), axes.end());
  } else {
    for (int64_t axis = 0; axis < tensor.rank(); ++axis) axes.push_back(axis);
  }
  return axes;
}

Tensor AxesOperand(Lowering& to, const Tensor& tensor, const Ints& axes) {
  return static_cast<int64_t>(axes.size()) == tensor.rank() ? Tensor() : to.ConstantInts(axes);
}

Dim ReducedCount(Lowering& to, const Tensor& tensor, const Ints& axes) {
  Dim count = to.Of(1);
  for (int64_t axis : axes) count = to.Times(count, tensor.size(axis));
  return count;
}

namespace {

// One ONNX reduction. Nothing is reduced in a 0-d tensor.
template <Text kOp>
Tensor Reduce(Lowering& to, Tensor x, const std::optional<Ints>& dims, bool keepdim) {
  if (x.rank() == 0) return x;
  const Tensor operands[] = {x, AxesOperand(to, x, ReducedAxes(to, x, dims))};
  onnx::AttributeList attributes;
  if (!keepdim) attributes.Add("keepdims", int64_t{0});
  return to.Emit(kOp.view(), operands, attributes, 1).front();
}

constexpr int kFirstOpsetOfIntegerProducts = 9;

// onnxruntime sums and multiplies int32 in float64 and cuts off at the ends of the range, where PyTorch wraps.
bool IsCutOff(Lowering& to, const Tensor& x) { return x.dtype() == DType::kInt32 && to.widens_for_runtime(); }

// Whether sums of the elements may pass 2^53, up to where onnxruntime's ReduceSum is exact.
bool MaySumWide(Lowering& to, const Tensor& x) { return to.opset() >= kFirstOpsetOfIntegerProducts && MayBeWide(to, x); }

// The sum along the axes, the last of them first, as products with columns of ones.
Tensor SumByProducts(Lowering& to, Tensor x, const Ints& axes, bool keepdim) {
  for (size_t i = axes.size(); i-- > 0;) {
    const Dim count = x.size(axes[i]);
    if (x.rank() == 1) {
      x = to.MatMul(x, to.Full(Dims{count}, int64_t{1}, x.dtype()));
      if (keepdim) x = to.UnsqueezeAt(x, {0});
      continue;
    }
    const Tensor column = to.Full(Dims{count, to.Of(1)}, int64_t{1}, x.dtype());
    const Tensor sums = to.MatMul(MoveDims(to, x, {axes[i]}, {-1}), column);
    x = keepdim ? MoveDims(to, sums, {-1}, {axes[i]}) : to.SqueezeAt(sums, {sums.rank() - 1});
  }
  return x;
}

// The mean of nothing is NaN; onnxruntime says 0.
Tensor MeanOf(Lowering& to, Tensor x, const std::optional<Ints>& dims, bool keepdim) {
  const Tensor mean = Reduce<"ReduceMean">(to, x, dims, keepdim);
  const Dim count = ReducedCount(to, x, ReducedAxes(to, x, dims));
  if (to.exprs().RangeOf(count.expr).min > 0) return mean;
  const Tensor part = to.NumberOf(std::numeric_limits<double>::quiet_NaN(), RealDtype(x));
  const Tensor nan = x.is_complex() ? onnx::ComplexOf(to, {part, part}) : part;
  if (to.AsConstant(count)) return to.ExpandTo(nan, mean.sizes());
  return to.Where(to.Equal(to.Number(count), to.ConstantInt(0)), nan, mean);
}

template <Text kArg>
Tensor ArgExtremum(Lowering& to, Tensor self, std::optional<int64_t> dim, bool keepdim);

// Axis by axis, as the element at the place of the extremum: its ReduceMax and ReduceMin compare as onnxruntime's Max does.
template <Text kArg>
Tensor WideExtremum(Lowering& to, Tensor x, const Ints& axes, bool keepdim) {
  for (const int64_t axis : axes) x = to.GatherElements(x, ArgExtremum<kArg>(to, x, axis, true), {.axis = axis});
  return keepdim ? x : to.SqueezeAt(x, axes);
}

template <Text kOp>
Tensor Extremum(Lowering& to, Tensor x, const std::optional<Ints>& dims, bool keepdim) {
  if (x.rank() == 0) return x;
  if (MayBeWide(to, x)) {
    constexpr bool kMax = kOp.view() == "ReduceMax";
    return WideExtremum<kMax ? Text("ArgMax") : Text("ArgMin")>(to, x, ReducedAxes(to, x, dims), keepdim);
  }
  return NanWhereAny(to, Reduce<kOp>(to, x, dims, keepdim), x, AxesOperand(to, x, ReducedAxes(to, x, dims)), keepdim);
}

// Sums and products of integers and bools are int64.
Tensor SumAll(Lowering& to, Tensor self, std::optional<DType> dtype) {
  return Sum(to, Ranked(to, self), std::nullopt, false, dtype);
}

constexpr Restriction kUnknownSum = {"sizes of which it is not known whether they are 1",
                                     "x.sum_to_size(y.shape)", "those are summed over, and others kept"};

// The opposite of broadcasting.
Tensor SumToSize(Lowering& to, Tensor self, Dims size) {
  if (size.empty()) return SumAll(to, self, std::nullopt);  // of integers int64, as where any axis goes
  const int64_t extra = self.rank() - static_cast<int64_t>(size.size());
  Ints leading, stretched;
  for (int64_t axis = 0; axis < extra; ++axis) leading.push_back(axis);
  for (int64_t axis = extra; axis < self.rank(); ++axis) {
    const Dim wanted = size[static_cast<size_t>(axis - extra)];
    const auto known = to.AsConstant(wanted);
    if (wanted == self.size(axis) || (known && *known != 1)) continue;  // only what was 1 was broadcast
    if (!known) return to.Unsupported(kUnknownSum);
    stretched.push_back(axis);
  }
  Tensor sum = self;
  if (!stretched.empty()) sum = Sum(to, sum, stretched, true, std::nullopt);
  return leading.empty() ? sum : Sum(to, sum, leading, false, std::nullopt);
}

Tensor MeanAll(Lowering& to, Tensor self, std::optional<DType> dtype) {
  return Mean(to, Ranked(to, self), std::nullopt, false, dtype);
}

// Of complex numbers, factor by factor.
Tensor ComplexProduct(Lowering& to, Tensor x, int64_t axis) {
  Dims sizes = x.sizes();
  sizes.erase(sizes.begin() + axis);
  return Repeat(to, to.Number(x.size(axis)), {to.Full(sizes, 1.0, x.dtype())},
                [&](const Tensor& k, const std::vector<Tensor>& states) {
                  return std::vector<Tensor>{to.Mul(states[0], to.Gather(x, k, {.axis = axis}))};
                })[0];
}

constexpr int64_t kFewFactors = 4;

// Whether a product of the elements may pass 2^53, up to where onnxruntime's ReduceProd is exact.
bool MayMultiplyWide(Lowering& to, const Tensor& x) {
  if (x.dtype() != DType::kInt64 || !to.widens_for_runtime() || x.is_number() || x.type().contents) return false;
  const flambeau::Value& value = to.graph()[x.id()];
  if (value.kind != ValueKind::kResult || to.graph().op(value.node) != "Cast") return true;
  return to.graph().type(to.graph().operand(value.node, 0)).dtype != DType::kBool;
}

// Of integers, which wrap as they do in PyTorch: the second half is multiplied onto the first until one is left.
Tensor IntegerProduct(Lowering& to, Tensor x, int64_t axis) {
  const auto count = to.AsConstant(x.size(axis));
  if (count && *count > 0 && *count <= kFewFactors) {
    Tensor product = to.GatherIndex(x, axis, to.Of(0));
    for (int64_t i = 1; i < *count; ++i) product = to.Mul(product, to.GatherIndex(x, axis, to.Of(i)));
    return product;
  }
  const Tensor one = to.Full(WithSize(x.sizes(), axis, to.Of(1)), int64_t{1}, x.dtype()), unit = to.ConstantInt(1);
  auto with_one = [&](const Tensor& factors) { return to.Concat({factors, one}, {.axis = axis}); };
  // How many are left is a state of its own: their size is another in each round.
  const Tensor factors = Sized(to, with_one(x), WithSize(x.sizes(), axis, {to.exprs().Anonymous()}));
  const Tensor size = to.Number(to.Plus(x.size(axis), to.Of(1)));
  const auto states = RepeatWhile(to, to.ConstantInt(64), {to.Greater(size, unit), factors, size}, [&](const Tensor&, const std::vector<Tensor>& states) {
    const Tensor half = to.Div(to.Add(states[2], unit), to.ConstantInt(2)), padded = with_one(states[1]);
    const Dim middle = to.DimOf(half), end = to.DimOf(to.Add(half, half));
    const Tensor product = to.Mul(to.SliceAxis(padded, axis, to.Of(0), middle), to.SliceAxis(padded, axis, middle, end));
    return std::vector<Tensor>{to.Greater(half, unit), Sized(to, product, states[1].sizes()), half};
  });
  return to.GatherIndex(states[1], axis, to.Of(0));
}

}  // namespace

Tensor ProdDim(Lowering& to, Tensor self, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, SumDtype(self, dtype));
  if (IsCutOff(to, x)) return to.CastTo(ProdDim(to, x, dim, keepdim, DType::kInt64), DType::kInt32);
  if (!x.is_complex() && !MayMultiplyWide(to, x)) return Reduce<"ReduceProd">(to, x, Ints{dim}, keepdim);
  if (x.rank() == 0) return x;
  const int64_t axis = to.Axis(dim, x);
  const Tensor product = x.is_complex() ? ComplexProduct(to, x, axis) : IntegerProduct(to, x, axis);
  return keepdim ? to.UnsqueezeAt(product, {axis}) : product;
}

namespace {

Tensor Prod(Lowering& to, Tensor self, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, SumDtype(self, dtype));
  if (IsCutOff(to, x)) return to.CastTo(Prod(to, x, DType::kInt64), DType::kInt32);
  if (x.is_complex()) return ComplexProduct(to, Flat(to, AtLeast1d(to, x)), 0);
  if (x.rank() > 0 && MayMultiplyWide(to, x)) return IntegerProduct(to, Flat(to, x), 0);
  return Reduce<"ReduceProd">(to, x, std::nullopt, false);
}

Tensor WithoutNan(Lowering& to, Tensor self) {
  return self.is_floating() ? to.Where(to.IsNaN(self), to.NumberOf(0.0, self.dtype()), self) : self;
}

Tensor Nansum(Lowering& to, Tensor self, std::optional<Ints> dim, bool keepdim, std::optional<DType> dtype) {
  return Sum(to, WithoutNan(to, self), dim, keepdim, dtype);
}

Tensor Nanmean(Lowering& to, Tensor self, std::optional<Ints> dim, bool keepdim, std::optional<DType> dtype) {
  const DType result = dtype.value_or(self.dtype());
  const Tensor sum = Nansum(to, self, dim, keepdim, result);
  const Tensor counted = to.CastTo(to.Not(to.IsNaN(self)), result);
  return to.Div(sum, Sum(to, counted, dim, keepdim, result));
}

// --- extrema --------------------------------------------------------------------

Tensor Max(Lowering& to, Tensor self) { return Extremum<"ReduceMax">(to, Ranked(to, self), std::nullopt, false); }
Tensor Min(Lowering& to, Tensor self) { return Extremum<"ReduceMin">(to, Ranked(to, self), std::nullopt, false); }

template <Text kOp>
Tensor ArgExtremum(Lowering& to, Tensor self, std::optional<int64_t> dim, bool keepdim) {
  if (self.rank() == 0) return to.ConstantInt(0);
  auto index_along = [&](Tensor x, int64_t axis, bool keep) {
    const Tensor keys = OrderKeys(to, x, kOp.view() == "ArgMax" ? NanRank::kHighest : NanRank::kLowest);
    onnx::AttributeList attributes;
    attributes.Add("axis", axis);
    attributes.Add("keepdims", int64_t{keep});
    return to.Emit(kOp.view(), {&keys, 1}, attributes, 1).front();
  };
  if (dim) return index_along(self, to.Axis(*dim, self), keepdim);
  const Tensor flat = self.rank() == 1 ? self : to.ReshapeTo(self, Ints{-1});
  const Tensor index = index_along(flat, 0, keepdim);
  return keepdim ? to.ReshapeTo(index, Ints(static_cast<size_t>(self.rank()), 1)) : index;
}

// Where NaN may be, the position decides what the value is.
template <Text kReduce, Text kArg>
std::tuple<Tensor, Tensor> ExtremumDim(Lowering& to, Tensor self, int64_t dim, bool keepdim) {
  if (self.rank() == 0 || !(MayHoldNan(to, self) || MayBeWide(to, self)))
    return {Reduce<kReduce>(to, self, Ints{dim}, keepdim), ArgExtremum<kArg>(to, self, dim, keepdim)};
  const int64_t axis = to.Axis(dim, self);
  const Tensor index = ArgExtremum<kArg>(to, self, axis, true);
  const Tensor value = to.GatherElements(self, index, {.axis = axis});
  if (keepdim) return {value, index};
  return {to.SqueezeAt(value, {axis}), to.SqueezeAt(index, {axis})};
}

std::tuple<Tensor, Tensor> Aminmax(Lowering& to, Tensor self, std::optional<int64_t> dim, bool keepdim) {
  return {Extremum<"ReduceMin">(to, self, One(dim), keepdim), Extremum<"ReduceMax">(to, self, One(dim), keepdim)};
}

std::tuple<Tensor, Tensor> AminmaxOfAll(Lowering& to, Tensor self) { return Aminmax(to, self, std::nullopt, false); }
std::tuple<Tensor, Tensor> AminmaxDim(Lowering& to, Tensor self, int64_t dim, bool keepdim) {
  return Aminmax(to, self, dim, keepdim);
}

// --- of bools ---------------------------------------------------------------------

// As sums and products of 0 and 1, which are right for empty tensors too.
template <Text kOp>
Tensor OfTruth(Lowering& to, Tensor self, const std::optional<Ints>& dims, bool keepdim) {
  const Tensor truth = to.CastTo(self, DType::kBool);
  const bool keeps = dims && dims->empty();  // unlike sums, which are then over all dimensions
  const Tensor result = keeps ? truth : to.CastTo(Reduce<kOp>(to, to.CastTo(truth, DType::kInt32), dims, keepdim), DType::kBool);
  return self.dtype() == DType::kUint8 ? to.CastTo(result, DType::kUint8) : result;
}

template <Text kOp>
Tensor Quantifier(Lowering& to, Tensor self) {
  return OfTruth<kOp>(to, self, std::nullopt, false);
}
template <Text kOp>
Tensor QuantifierDim(Lowering& to, Tensor self, int64_t dim, bool keepdim) {
  return OfTruth<kOp>(to, self, Ints{dim}, keepdim);
}
template <Text kOp>
Tensor QuantifierDims(Lowering& to, Tensor self, std::optional<Ints> dim, bool keepdim) {
  return OfTruth<kOp>(to, self, dim, keepdim);
}

Tensor CountNonzeroDims(Lowering& to, Tensor self, Ints dim) {
  const Tensor truth = to.CastTo(to.CastTo(self, DType::kBool), DType::kInt64);
  return Reduce<"ReduceSum">(to, truth, dim, false);
}
Tensor CountNonzero(Lowering& to, Tensor self, std::optional<int64_t> dim) {
  return CountNonzeroDims(to, self, dim ? Ints{*dim} : Ints{});
}

// --- variances ----------------------------------------------------------------------

using Correction = std::optional<Scalar>;
using Pair = std::tuple<Tensor, Tensor>;

Correction OfBias(bool unbiased) { return Scalar(unbiased ? 1 : 0); }

Tensor VarCorrection(Lowering& to, Tensor self, std::optional<Ints> dim, Correction correction, bool keepdim) {
  return std::get<0>(VarMean(to, self, dim, correction, keepdim));
}
Tensor VarDim(Lowering& to, Tensor self, std::optional<Ints> dim, bool unbiased, bool keepdim) {
  return VarCorrection(to, self, dim, OfBias(unbiased), keepdim);
}
Tensor Var(Lowering& to, Tensor self, bool unbiased) { return VarDim(to, self, std::nullopt, unbiased, false); }

Tensor StdCorrection(Lowering& to, Tensor self, std::optional<Ints> dim, Correction correction, bool keepdim) {
  return to.Sqrt(VarCorrection(to, self, dim, correction, keepdim));
}
Tensor StdDim(Lowering& to, Tensor self, std::optional<Ints> dim, bool unbiased, bool keepdim) {
  return StdCorrection(to, self, dim, OfBias(unbiased), keepdim);
}
Tensor Std(Lowering& to, Tensor self, bool unbiased) { return StdDim(to, self, std::nullopt, unbiased, false); }

Pair StdMeanCorrection(Lowering& to, Tensor self, std::optional<Ints> dim, Correction correction, bool keepdim) {
  const auto [variance, mean] = VarMean(to, self, dim, correction, keepdim);
  return {to.Sqrt(variance), mean};
}
Pair StdMeanDim(Lowering& to, Tensor self, std::optional<Ints> dim, bool unbiased, bool keepdim) {
  return StdMeanCorrection(to, self, dim, OfBias(unbiased), keepdim);
}
Pair StdMean(Lowering& to, Tensor self, bool unbiased) { return StdMeanDim(to, self, std::nullopt, unbiased, false); }
Pair VarMeanDim(Lowering& to, Tensor self, std::optional<Ints> dim, bool unbiased, bool keepdim) {
  return VarMean(to, self, dim, OfBias(unbiased), keepdim);
}
Pair VarMeanAll(Lowering& to, Tensor self, bool unbiased) {
  return VarMeanDim(to, self, std::nullopt, unbiased, false);
}

// --- norms ----------------------------------------------------------------------------

Tensor NormDim(Lowering& to, Tensor self, std::optional<Scalar> p, Ints dim, bool keepdim) {
  return VectorNorm(to, self, p.value_or(Scalar(2)), dim, keepdim, std::nullopt);
}
Tensor NormDimDtype(Lowering& to, Tensor self, std::optional<Scalar> p, Ints dim, bool keepdim, DType dtype) {
  return VectorNorm(to, self, p.value_or(Scalar(2)), dim, keepdim, dtype);
}
Tensor NormDtype(Lowering& to, Tensor self, std::optional<Scalar> p, DType dtype) {
  return NormDimDtype(to, self, p, {}, false, dtype);
}
Tensor Norm(Lowering& to, Tensor self, Scalar p) { return NormDim(to, self, p, {}, false); }

Tensor Dist(Lowering& to, Tensor self, Tensor other, Scalar p) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  return Norm(to, to.Sub(a, b), p);
}

Tensor Logsumexp(Lowering& to, Tensor self, Ints dim, bool keepdim) {
  if (!self.is_complex()) return Reduce<"ReduceLogSumExp">(to, to.ToFloat(self), dim, keepdim);
  // The largest real part is taken out, so that nothing overflows; where it is infinite, nothing is.
  const Tensor most = Reduce<"ReduceMax">(to, RealPart(to, self), dim, true);
  const Tensor finite = to.Where(to.IsInf(most), to.NumberOf(0.0, most.dtype()), most);
  const Tensor sum = Reduce<"ReduceSum">(to, to.Exp(to.Sub(self, to.CastTo(finite, self.dtype()))), dim, true);
  const Tensor result = to.Add(to.Log(sum), to.CastTo(finite, self.dtype()));
  return keepdim || self.rank() == 0 ? result : to.SqueezeAt(result, ReducedAxes(to, self, dim));
}

}  // namespace

Tensor All(Lowering& to, Tensor self) { return Quantifier<"ReduceProd">(to, self); }

Tensor Sum(Lowering& to, Tensor self, std::optional<Ints> dim, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, SumDtype(self, dtype));
  if (IsCutOff(to, x) && ByteSize(self.dtype()) >= 4) return to.CastTo(Sum(to, x, dim, keepdim, DType::kInt64), DType::kInt32);
  const Ints axes = ReducedAxes(to, x, dim);
  return MaySumWide(to, x) ? SumByProducts(to, x, axes, keepdim) : Reduce<"ReduceSum">(to, x, dim, keepdim);
}

Tensor Mean(Lowering& to, Tensor self, std::optional<Ints> dim, bool keepdim, std::optional<DType> dtype) {
  return MeanOf(to, to.CastTo(self, dtype.value_or(self.dtype())), dim, keepdim);
}

Tensor Amax(Lowering& to, Tensor self, Ints dim, bool keepdim) { return Extremum<"ReduceMax">(to, self, dim, keepdim); }
Tensor Amin(Lowering& to, Tensor self, Ints dim, bool keepdim) { return Extremum<"ReduceMin">(to, self, dim, keepdim); }

std::tuple<Tensor, Tensor> VarMean(Lowering& to, Tensor self, std::optional<Ints> dim, Correction correction,
                                   bool keepdim) {
  const Ints axes = ReducedAxes(to, self, dim);
  const Tensor mean = MeanOf(to, self, axes, true);
  Tensor deviation = to.Sub(self, mean);
  if (deviation.is_complex()) deviation = to.Abs(deviation);
  const DType dtype = deviation.dtype();
  const Tensor squares = Reduce<"ReduceSumSquare">(to, deviation, axes, keepdim);
  const Tensor result_mean = keepdim || axes.empty() ? mean : to.SqueezeAt(mean, axes);
  const Scalar minus = correction.value_or(1);
  const Dim count = ReducedCount(to, self, axes);
  Tensor divisor;
  if (const auto known = to.AsConstant(count); known && minus.is_constant()) {
    divisor = to.NumberOf(std::max(static_cast<double>(*known) - minus.AsDouble(), 0.0), dtype);
  } else {
    const Tensor corrected = to.Sub(to.NumberOf(count, dtype), to.NumberOf(minus, dtype));
    const bool may_be_negative = !minus.is_constant() || minus.AsDouble() > 0;
    divisor = may_be_negative ? to.Relu(corrected) : corrected;
  }
  return {to.Div(squares, divisor), result_mean};
}

namespace {

// Of an order that is known at run time.
Tensor NormOfAnyOrder(Lowering& to, Tensor x, Tensor order, const std::optional<Ints>& dim, bool keepdim) {
  auto norm = [&](double p) { return VectorNorm(to, x, Scalar(p), dim, keepdim, std::nullopt); };
  auto is = [&](double p) { return to.Equal(order, to.NumberOf(p, x.dtype())); };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor powers = Reduce<"ReduceSum">(to, to.Pow(to.Abs(x), order), dim, keepdim);
  const Tensor usual = to.Pow(powers, to.Reciprocal(order));
  return to.Where(is(0), norm(0), to.Where(is(kInfinity), norm(kInfinity), to.Where(is(-kInfinity), norm(-kInfinity), usual)));
}

// Σ |x|^ord
Tensor PowerSum(Lowering& to, Tensor self, Scalar ord, std::optional<Ints> dim, bool keepdim, std::optional<DType> dtype) {
  Tensor x = to.Abs(to.CastTo(self, dtype.value_or(self.dtype())));
  return Reduce<"ReduceSum">(to, to.Pow(x, to.NumberOf(ord, x.dtype())), dim, keepdim);
}

}  // namespace

Tensor VectorNorm(Lowering& to, Tensor self, Scalar ord, std::optional<Ints> dim, bool keepdim,
                  std::optional<DType> dtype) {
  Tensor x = to.CastTo(self, dtype.value_or(self.dtype()));
  if (x.is_complex()) x = to.Abs(x);
  if (!ord.is_constant()) return NormOfAnyOrder(to, x, to.NumberOf(ord, x.dtype()), dim, keepdim);
  const double p = ord.AsDouble();
  auto number = [&](double value) { return to.NumberOf(value, x.dtype()); };
  if (p == 0) return Reduce<"ReduceSum">(to, to.CastTo(to.CastTo(x, DType::kBool), x.dtype()), dim, keepdim);
  if (x.rank() == 0) return to.Abs(x);
  if (std::isinf(p))
    return p > 0 ? Extremum<"ReduceMax">(to, to.Abs(x), dim, keepdim)
                 : Extremum<"ReduceMin">(to, to.Abs(x), dim, keepdim);
  if (p == 1) return Reduce<"ReduceL1">(to, x, dim, keepdim);
  if (p == 2) return Reduce<"ReduceL2">(to, x, dim, keepdim);
  const Tensor powers = Reduce<"ReduceSum">(to, to.Pow(to.Abs(x), number(p)), dim, keepdim);
  return to.Pow(powers, number(1 / p));
}

namespace {

constexpr OpRow kRows[] = {
    Op<AminmaxOfAll>("aten::_aminmax(Tensor self) -> (Tensor, Tensor)"),
    Op<AminmaxDim>("aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)"),
    Op<All>("aten::_is_all_true(Tensor self) -> Tensor"),
    Op<Quantifier<"ReduceSum">>("aten::_is_any_true(Tensor self) -> Tensor"),
    Op<All>("aten::all(Tensor self) -> Tensor"),
    Op<QuantifierDim<"ReduceProd">>("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"),
    Op<QuantifierDims<"ReduceProd">>("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
    Op<Amax>("aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"),
    Op<Amin>("aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"),
    Op<Aminmax>("aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"),
    Op<Quantifier<"ReduceSum">>("aten::any(Tensor self) -> Tensor"),
    Op<QuantifierDim<"ReduceSum">>("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"),
    Op<QuantifierDims<"ReduceSum">>("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
    Op<ArgExtremum<"ArgMax">>("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
    Op<ArgExtremum<"ArgMin">>("aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
    Op<CountNonzero>("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor"),
    Op<CountNonzeroDims>("aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor"),
    Op<Dist>("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor"),
    Op<PowerSum>("aten::linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
                 "dtype=None) -> Tensor"),
    Op<VectorNorm>("aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
                   "ScalarType? dtype=None) -> Tensor"),
    Op<Logsumexp>("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"),
    Op<Max>("aten::max(Tensor self) -> Tensor"),
    Op<ExtremumDim<"ReduceMax", "ArgMax">>(
        "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    Op<MeanAll>("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor"),
    Op<Mean>("aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    Op<Min>("aten::min(Tensor self) -> Tensor"),
    Op<ExtremumDim<"ReduceMin", "ArgMin">>(
        "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    Op<Nanmean>(
        "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    Op<Nansum>("aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    Op<Norm>("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor"),
    Op<NormDim>("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor"),
    Op<NormDimDtype>("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType "
                     "dtype) -> Tensor"),
    Op<NormDtype>("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor"),
    Op<Prod>("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor"),
    Op<ProdDim>("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    Op<Logsumexp>("aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"),
    Op<Std>("aten::std(Tensor self, bool unbiased=True) -> Tensor"),
    Op<StdCorrection>("aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
                      "keepdim=False) -> Tensor"),
    Op<StdDim>("aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"),
    Op<StdMean>("aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)"),
    Op<StdMeanCorrection>("aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
                          "keepdim=False) -> (Tensor, Tensor)"),
    Op<StdMeanDim>(
        "aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)"),
    Op<SumToSize>("aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", &kUnknownSum),
    Op<SumAll>("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor"),
    Op<Sum>("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    Op<Var>("aten::var(Tensor self, bool unbiased=True) -> Tensor"),
    Op<VarCorrection>("aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
                      "keepdim=False) -> Tensor"),
    Op<VarDim>("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"),
    Op<VarMeanAll>("aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)"),
    Op<VarMean>("aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
                "keepdim=False) -> (Tensor, Tensor)"),
    Op<VarMeanDim>(
        "aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)"),
};

}  // namespace

std::span<const OpRow> Reduction() { return kRows; }

}  // namespace flambeau::lower
