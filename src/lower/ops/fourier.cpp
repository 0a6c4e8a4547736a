// fft, rfft, hfft and their kin over any dimensions. As in PyTorch, all are three
// transforms: complex to complex, real to complex, complex to real.
#include "lower/ops/fourier.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/reduction.h"
#include "lower/ops/steps.h"
#include "onnx/complex.h"

namespace flambeau::lower {
namespace {

// n^power as a number of that dtype.
Tensor PowerOf(Lowering& to, Dim n, double power, DType dtype) {
  if (const auto known = to.AsConstant(n))
    return to.NumberOf(std::pow(static_cast<double>(*known), power), dtype);
  return to.Pow(to.CastTo(to.Number(n), dtype), to.NumberOf(power, dtype));
}

// ONNX divides inverse transforms by n, and others by nothing.
Tensor Normalized(Lowering& to, Tensor pairs, Normalization norm, bool inverse, Dim count) {
  const double power = (inverse ? 1.0 : 0.0) - 0.5 * static_cast<double>(static_cast<int64_t>(norm));
  return power == 0 ? pairs : to.Mul(pairs, PowerOf(to, count, power, pairs.dtype()));
}

// The axes of a transform between real and complex numbers, of which the last keeps a half only.
Ints AtLeastOne(Ints axes) {
  if (axes.empty()) throw onnx::BadOperand("transforms no dimension");
  return axes;
}

// ONNX's transform wants a dimension before the transformed one's parts.
Tensor Dft(Lowering& to, Tensor pairs, int64_t axis, bool inverse, bool onesided) {
  const bool lone = pairs.rank() == 2;
  if (lone) pairs = to.UnsqueezeAt(pairs, {0});
  const Tensor result = to.DFT(pairs, {}, to.ConstantInt(axis + (lone ? 1 : 0)), {.inverse = inverse, .onesided = onesided});
  return lone ? to.SqueezeAt(result, {0}) : result;
}

}  // namespace

Tensor FourierC2c(Lowering& to, Tensor self, const Ints& axes, Normalization norm, bool forward) {
  if (axes.empty()) return self;
  Tensor pairs = onnx::Pairs(to, self);
  for (int64_t axis : to.Axes(axes, self)) pairs = Dft(to, pairs, axis, !forward, false);
  return onnx::OfPairs(to, Normalized(to, pairs, norm, !forward, ReducedCount(to, self, axes)));
}

Tensor FourierR2c(Lowering& to, Tensor self, const Ints& axes, Normalization norm, bool onesided) {
  const Ints positive = AtLeastOne(to.Axes(axes, self));
  Tensor pairs = Dft(to, to.UnsqueezeAt(self, {self.rank()}), positive.back(), false, onesided);
  for (size_t i = 0; i + 1 < positive.size(); ++i) pairs = Dft(to, pairs, positive[i], false, false);
  return onnx::OfPairs(to, Normalized(to, pairs, norm, false, ReducedCount(to, self, axes)));
}

namespace {

// The tensor cut or filled up with zeros to `size` along the axis.
Tensor Resized(Lowering& to, Tensor tensor, int64_t axis, Dim size) {
  const Dim present = tensor.size(axis);
  if (present == size) return tensor;
  ExprPool& exprs = to.exprs();
  const auto missing = to.AsConstant(to.Minus(size, present));
  if (!missing || *missing > 0) {
    const Dim count{exprs.Max(to.Minus(size, present).expr, exprs.Constant(0))};
    tensor = PadEnd(to, tensor, axis, missing ? to.Of(*missing) : count);
  }
  if (!missing || *missing < 0) tensor = to.SliceAxis(tensor, axis, to.Of(0), size);
  return Sized(to, tensor, WithSize(tensor.sizes(), axis, size));
}

// 2 for each frequency that stands for its mirror image too: all but the first
// and, of an even number, the one in the middle.
Tensor MirrorWeights(Lowering& to, Dim half, Dim full, DType dtype) {
  const Tensor k = Iota(to, half), zero = to.ConstantInt(0);
  const Tensor alone = to.Or(to.Equal(k, zero), to.Equal(to.Mul(k, to.ConstantInt(2)), to.Number(full)));
  return to.Where(alone, to.NumberOf(1.0, dtype), to.NumberOf(2.0, dtype));
}

}  // namespace

// The real part of the inverse transform of the half with weights, filled up
// with zeros: what it leaves of imaginary parts at both ends is imaginary.
Tensor FourierC2r(Lowering& to, Tensor self, const Ints& axes, Normalization norm, Dim last_size) {
  const Ints positive = AtLeastOne(to.Axes(axes, self));
  const int64_t last = positive.back();
  const Tensor spread = FourierC2c(to, self, {positive.begin(), positive.end() - 1}, norm, false);
  const Dim half{to.exprs().Add(to.exprs().FloorDiv(last_size.expr, to.exprs().Constant(2)), to.exprs().Constant(1))};
  const Tensor pairs = onnx::Pairs(to, Resized(to, spread, last, half));
  const Tensor weights = MirrorWeights(to, half, last_size, pairs.dtype());
  Ints behind(static_cast<size_t>(pairs.rank() - 1 - last));
  std::iota(behind.begin(), behind.end(), 1);
  const Tensor weighted = to.Mul(pairs, to.UnsqueezeAt(weights, behind));
  const Tensor full = Resized(to, onnx::OfPairs(to, weighted), last, last_size);
  const Tensor result = onnx::PartsOf(to, onnx::OfPairs(to, Dft(to, onnx::Pairs(to, full), last, true, false))).re;
  return Normalized(to, result, norm, true, last_size);
}

namespace {

using Text = std::optional<std::string_view>;

Normalization NormOf(const Text& norm, bool forward) {
  if (norm == "ortho") return Normalization::kByRoot;
  return (norm == "forward") == forward ? Normalization::kByCount : Normalization::kNone;
}

// Of floating point, complex if it is asked for.
Tensor ToSignal(Lowering& to, Tensor self, bool complex) {
  const Tensor x = to.ToFloat(self);
  return complex && !x.is_complex() ? to.CastTo(x, onnx::ComplexDtype(x.dtype())) : x;
}

// The axes and the sizes along them, from what was given of both.
struct Extent {
  Ints axes;
  Dims sizes;
};
Extent ExtentOf(Lowering& to, const Tensor& self, const std::optional<Dims>& s, const std::optional<Ints>& dim) {
  Extent extent;
  if (dim && s && dim->size() != s->size()) throw onnx::BadOperand("takes a size for each dimension");
  if (dim) {
    extent.axes = to.Axes(*dim, self);
  } else {
    const int64_t count = s ? static_cast<int64_t>(s->size()) : self.rank();
    for (int64_t axis = self.rank() - count; axis < self.rank(); ++axis) extent.axes.push_back(axis);
  }
  for (size_t i = 0; i < extent.axes.size(); ++i) {
    const bool given = s && i < s->size() && to.AsConstant((*s)[i]) != -1;
    extent.sizes.push_back(given ? (*s)[i] : self.size(extent.axes[i]));
    if (to.AsConstant(extent.sizes.back()).value_or(1) < 1) throw onnx::BadOperand("transforms no elements");
  }
  return extent;
}

// `left`: how many of the last axes are left as they are.
Tensor Resized(Lowering& to, Tensor self, const Extent& extent, size_t left = 0) {
  for (size_t i = 0; i + left < extent.axes.size(); ++i) self = Resized(to, self, extent.axes[i], extent.sizes[i]);
  return self;
}

// The size along the last axis of a result of which there is the half.
Dim FullSize(Lowering& to, const Tensor& self, const Extent& extent, const std::optional<Dims>& s) {
  const bool given = s && !s->empty() && to.AsConstant(s->back()) != -1;
  return given ? s->back() : to.Times(to.Of(2), to.Minus(self.size(AtLeastOne(extent.axes).back()), to.Of(1)));
}

template <bool kForward>
Tensor Fftn(Lowering& to, Tensor self, std::optional<Dims> s, std::optional<Ints> dim, Text norm) {
  const Extent extent = ExtentOf(to, self, s, dim);
  if (kForward && !self.is_complex() && !extent.axes.empty())
    return FourierR2c(to, Resized(to, ToSignal(to, self, false), extent), extent.axes, NormOf(norm, true), false);
  const Tensor x = Resized(to, ToSignal(to, self, true), extent);
  return FourierC2c(to, x, extent.axes, NormOf(norm, kForward), kForward);
}

Tensor Rfftn(Lowering& to, Tensor self, std::optional<Dims> s, std::optional<Ints> dim, Text norm) {
  const Extent extent = ExtentOf(to, self, s, dim);
  const Tensor x = Resized(to, ToSignal(to, self, false), extent);
  return FourierR2c(to, x, extent.axes, NormOf(norm, true), true);
}

// The inverse of Rfftn.
Tensor Irfftn(Lowering& to, Tensor self, std::optional<Dims> s, std::optional<Ints> dim, Text norm) {
  const Extent extent = ExtentOf(to, self, s, dim);
  const Tensor x = Resized(to, ToSignal(to, self, true), extent, 1);
  return FourierC2r(to, x, extent.axes, NormOf(norm, false), FullSize(to, self, extent, s));
}

// Of a signal that is symmetric: an inverse transform with the sign turned and
// a forward one's norm.
Tensor Hfftn(Lowering& to, Tensor self, std::optional<Dims> s, std::optional<Ints> dim, Text norm) {
  const Extent extent = ExtentOf(to, self, s, dim);
  const Tensor x = Resized(to, ToSignal(to, self, true), extent, 1);
  return FourierC2r(to, Conj(to, x), extent.axes, NormOf(norm, true), FullSize(to, self, extent, s));
}

// The inverse of Hfftn.
Tensor Ihfftn(Lowering& to, Tensor self, std::optional<Dims> s, std::optional<Ints> dim, Text norm) {
  const Extent extent = ExtentOf(to, self, s, dim);
  const Tensor x = Resized(to, ToSignal(to, self, false), extent);
  return Conj(to, FourierR2c(to, x, extent.axes, NormOf(norm, false), true));
}

using Transform = Tensor (*)(Lowering& to, Tensor self, std::optional<Dims> s, std::optional<Ints> dim, Text norm);

template <Transform kOfMany>
Tensor AlongOne(Lowering& to, Tensor self, std::optional<Dim> n, int64_t dim, Text norm) {
  return kOfMany(to, self, n ? std::optional(Dims{*n}) : std::nullopt, Ints{dim}, norm);
}
template <Transform kOfMany>
Tensor AlongTwo(Lowering& to, Tensor self, std::optional<Dims> s, Ints dim, Text norm) {
  return kOfMany(to, self, std::move(s), std::move(dim), norm);
}

Tensor C2c(Lowering& to, Tensor self, Const<Dims> dim, int64_t normalization, bool forward) {
  return FourierC2c(to, self, dim, static_cast<Normalization>(normalization), forward);
}
Tensor C2r(Lowering& to, Tensor self, Ints dim, int64_t normalization, Dim last_dim_size) {
  return FourierC2r(to, self, dim, static_cast<Normalization>(normalization), last_dim_size);
}
Tensor R2c(Lowering& to, Tensor self, Ints dim, int64_t normalization, bool onesided) {
  return FourierR2c(to, self, dim, static_cast<Normalization>(normalization), onesided);
}

// --- shifts ------------------------------------------------------------------------

// Rolls each axis by half of it; the odd element of the middle goes to the front
// part forwards, and to the back part backwards.
template <bool kInverse>
Tensor Shift(Lowering& to, Tensor self, std::optional<Ints> dim) {
  Ints axes;
  for (int64_t axis : dim.value_or(Ints{})) axes.push_back(to.Axis(axis, self));
  if (!dim) {
    axes.resize(static_cast<size_t>(self.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (self.rank() == 0) return self;
  for (int64_t axis : axes) {
    const Dim size = self.size(axis);
    const Expr rounded = kInverse ? size.expr : to.exprs().Add(size.expr, to.exprs().Constant(1));
    const Dim middle{to.exprs().FloorDiv(rounded, to.exprs().Constant(2))};
    const Tensor rolled = to.Concat({to.SliceAxis(self, axis, middle, size), to.SliceAxis(self, axis, to.Of(0), middle)},
                                    {.axis = axis});
    self = Sized(to, rolled, self.sizes());
  }
  return self;
}

// --- frequencies --------------------------------------------------------------------

// k / (n·d), for k = 0, 1, … and, of both sides, the negative ones behind them.
template <bool kOnesided>
Tensor Frequencies(Lowering& to, Dim n, double d, std::optional<DType> dtype, Unused, Unused, Unused) {
  constexpr int64_t kMostStored = 1 << 12;
  const DType made = dtype.value_or(to.default_dtype());
  if (const auto known = to.AsConstant(n); known && *known <= kMostStored) {
    if (*known < 0) throw onnx::BadOperand("asks for a negative number of frequencies");
    std::vector<double> values;
    const int64_t count = kOnesided ? *known / 2 + 1 : *known;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<double>(!kOnesided && i >= (*known + 1) / 2 ? i - *known : i) / (static_cast<double>(*known) * d));
    return to.ConstantFloats(values, made, {&count, 1});
  }
  const Dim half{to.exprs().FloorDiv(n.expr, to.Of(2).expr)};
  Tensor k = Iota(to, kOnesided ? to.Plus(half, to.Of(1)) : n);
  if (!kOnesided) k = to.Where(to.Less(k, to.Number(to.Minus(n, half))), k, to.Sub(k, to.Number(n)));
  const Tensor length = to.Mul(to.CastTo(to.Number(n), DType::kFloat64), to.ConstantOf(d, DType::kFloat64));
  return to.CastTo(to.Div(to.CastTo(k, DType::kFloat64), length), made);
}

#define FLAMBEAU_FFT(name, transform)                                                                              \
  Op<AlongOne<transform>>("aten::fft_" name "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"), \
      Op<AlongTwo<transform>>("aten::fft_" name                                                                    \
                              "2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor"),  \
      Op<transform>("aten::fft_" name                                                                              \
                    "n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor")

constexpr OpRow kRows[] = {
    Op<C2c>("aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor"),
    Op<C2r>("aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor"),
    Op<R2c>("aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor"),
    FLAMBEAU_FFT("fft", Fftn<true>),
    Op<Frequencies<false>>("aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, "
                           "Device? device=None, bool? pin_memory=None) -> Tensor"),
    Op<Shift<false>>("aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor"),
    FLAMBEAU_FFT("hfft", Hfftn),
    FLAMBEAU_FFT("ifft", Fftn<false>),
    Op<Shift<true>>("aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor"),
    FLAMBEAU_FFT("ihfft", Ihfftn),
    FLAMBEAU_FFT("irfft", Irfftn),
    FLAMBEAU_FFT("rfft", Rfftn),
    Op<Frequencies<true>>("aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, "
                          "Device? device=None, bool? pin_memory=None) -> Tensor"),
};
#undef FLAMBEAU_FFT

}  // namespace

std::span<const OpRow> Fourier() { return kRows; }

}  // namespace flambeau::lower
