// Pools over windows of one size.
#include "lower/ops/pooling.h"

#include <algorithm>
#include <limits>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/open_windows.h"
#include "lower/ops/spatial.h"
#include "lower/ops/windows.h"

namespace flambeau::lower {

Dim PooledSize(Lowering& to, Dim size, Dim window, Dim stride, Dim padding, bool ceil_mode) {
  auto& exprs = to.exprs();
  Dim padded = to.Plus(to.Minus(size, window), to.Times(to.Of(2), padding));
  if (ceil_mode) padded = to.Plus(padded, to.Minus(stride, to.Of(1)));
  const Expr count = exprs.Add(exprs.FloorDiv(padded.expr, stride.expr), exprs.Constant(1));
  if (!ceil_mode) return {count};
  // The last window starts inside the input or its left padding.
  return {exprs.Min(count, exprs.CeilDiv(exprs.Add(size.expr, padding.expr), stride.expr))};
}

Scalar LeastOf(DType dtype) {
  if (IsFloating(dtype)) return Scalar(-std::numeric_limits<double>::infinity());
  const int bits = static_cast<int>(ByteSize(dtype)) * 8;
  return Scalar(IsSigned(dtype) ? std::numeric_limits<int64_t>::min() >> (64 - bits) : int64_t{0});
}

namespace {

struct Window {
  Ints kernel, stride, padding, dilation;
};

Window WindowOf(int64_t spatial, const Ints& kernel, const Ints& stride, const Ints& padding, const Ints& dilation) {
  const Ints all = StepsPerAxis(kernel, spatial);
  return {all, stride.empty() ? all : StepsPerAxis(stride, spatial), PerAxis(padding, spatial), StepsPerAxis(dilation, spatial)};
}

// The attributes that make ONNX's pool see PyTorch's windows. Where sizes are
// known, ceil_mode becomes padding at the ends: versions of ONNX disagree on
// whether a window may start in the padding. Beside a size that is not known,
// ceil_mode stays, and padding in which no window of a known size ends goes.
struct Geometry {
  Ints pads;
  bool ceil_mode;
};

int64_t Extent(const Window& window, size_t i) { return window.dilation[i] * (window.kernel[i] - 1) + 1; }

Geometry GeometryOf(Lowering& to, const Tensor& x, const Window& window, bool ceil_mode) {
  const size_t spatial = window.kernel.size();
  Geometry known{BothSides(window.padding), false}, open{known.pads, true};
  if (!ceil_mode) return known;
  bool all_known = true;
  for (size_t i = 0; i < spatial; ++i) {
    const auto size = to.AsConstant(x.size(static_cast<int64_t>(i) - static_cast<int64_t>(spatial)));
    all_known = all_known && size;
    if (!size) continue;
    const Dim count = PooledSize(to, to.Of(*size), to.Of(Extent(window, i)), to.Of(window.stride[i]), to.Of(window.padding[i]), true);
    const int64_t covered = (*to.AsConstant(count) - 1) * window.stride[i] + Extent(window, i);
    int64_t& end = known.pads[spatial + i];
    end = std::max<int64_t>(covered - *size - window.padding[i], 0);
    open.pads[spatial + i] = std::min(end, window.padding[i]);
    // onnxruntime refuses as much, which only dilated windows need.
    all_known = all_known && end < window.kernel[i];
  }
  return all_known ? known : open;
}

// onnxruntime merges a Pad of zeros into the pool behind it: then a maximum has no zeros, and pads may be larger than the
// kernel, which it refuses. It leaves a pool alone that says that it pads nothing.
constexpr const char* kUnpadded = "VALID";

bool FollowsPad(Lowering& to, const Tensor& x) {
  const flambeau::Value& value = to.graph()[x.id()];
  return value.kind == ValueKind::kResult && to.graph().op(value.node) == "Pad";
}

bool HasPadding(const Window& window) {
  return std::ranges::any_of(window.padding, [](int64_t padding) { return padding != 0; });
}

// --- over whole axes ----------------------------------------------------------------

// A pool whose windows are constants, over what is left where windows are axes of dynamic sizes.
struct Reduced {
  Tensor tensor;
  Window window;
  bool changed;
};

// `reduce` takes the axes that are windows; nothing where a window is neither a constant nor such an axis.
template <class Reduce>
std::optional<Reduced> ReduceWholeAxes(Lowering& to, Tensor x, int64_t spatial, const Dims& kernel, const Dims& stride, const Dims& given_padding,
                                       const Dims& given_dilation, Reduce reduce) {
  const auto sizes = to.AsConstants(kernel), steps = to.AsConstants(stride), padding = to.AsConstants(given_padding),
             dilation = to.AsConstants(given_dilation);
  if (!padding || !dilation) return std::nullopt;
  if (sizes && steps) return Reduced{x, WindowOf(spatial, *sizes, *steps, *padding, *dilation), false};
  const auto count = static_cast<size_t>(spatial);
  const auto fits = [count](const Dims& dims) { return dims.size() == 1 || dims.size() == count; };
  if (!x.ranked() || x.rank() < spatial || !fits(kernel) || !(stride.empty() || fits(stride))) return std::nullopt;
  const auto of = [](const Dims& dims, size_t i) { return dims.size() == 1 ? dims[0] : dims[i]; };
  const Ints pads = PerAxis(*padding, spatial), gaps = StepsPerAxis(*dilation, spatial);
  Ints axes, rest_kernel, rest_stride, rest_dilation;
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = x.rank() - spatial + static_cast<int64_t>(i);
    const Dim size = of(kernel, i);
    const bool whole = !to.AsConstant(size) && size.expr == x.size(axis).expr && pads[i] == 0;
    if (whole) axes.push_back(axis);
    const auto rest = whole ? int64_t{1} : to.AsConstant(size);
    const auto step = whole ? int64_t{1} : to.AsConstant(stride.empty() ? size : of(stride, i));
    if (!rest || !step) return std::nullopt;
    rest_kernel.push_back(*rest);
    rest_stride.push_back(*step);
    rest_dilation.push_back(whole ? 1 : gaps[i]);
  }
  return Reduced{reduce(x, to.ConstantInts(axes)), WindowOf(spatial, rest_kernel, rest_stride, pads, rest_dilation), true};
}

bool IsPoint(const Window& window) {
  const auto is_one = [](int64_t value) { return value == 1; };
  return std::ranges::all_of(window.kernel, is_one) && std::ranges::all_of(window.stride, is_one) &&
         std::ranges::all_of(window.padding, [](int64_t value) { return value == 0; });
}

// --- by windows -------------------------------------------------------------------

// A tensor around which `value` was put, so that all windows lie within; how many windows an axis has, and its size.
struct Surrounded {
  Tensor tensor;
  Dims counts, sizes;
};

Dim AtLeastZero(Lowering& to, Dim dim) { return {to.exprs().Max(dim.expr, to.Of(0).expr)}; }

Surrounded Surround(Lowering& to, Tensor x, const Window& window, bool ceil_mode, const Scalar& value) {
  Dims begins(static_cast<size_t>(x.rank()), to.Of(0)), ends = begins, counts, sizes;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const Dim size = x.size(static_cast<int64_t>(2 + i));
    counts.push_back(PooledSize(to, size, to.Of(Extent(window, i)), to.Of(window.stride[i]), to.Of(window.padding[i]), ceil_mode));
    const Dim covered = to.Plus(to.Times(to.Minus(counts[i], to.Of(1)), to.Of(window.stride[i])),
                                to.Of(Extent(window, i)));
    sizes.push_back(covered);
    begins[2 + i] = to.Of(window.padding[i]);
    // Strides longer than the window may leave elements at the end: they are not asked for.
    ends[2 + i] = AtLeastZero(to, to.Minus(covered, to.Plus(size, to.Of(window.padding[i]))));
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return {to.Pad(x, to.Shape1(begins), to.NumberOf(value, x.dtype())), counts, sizes};
}

// The elements of each window side by side: (batch, channels, windows…, elements).
Tensor ElementsOf(Lowering& to, const Surrounded& surrounded, const Window& window) {
  int64_t elements = 1;
  for (int64_t size : window.kernel) elements *= size;
  Dims sizes{surrounded.tensor.size(0), surrounded.tensor.size(1)};
  sizes.insert(sizes.end(), surrounded.counts.begin(), surrounded.counts.end());
  sizes.push_back(to.Of(elements));
  return to.ReshapeTo(
      WindowsOf(to, surrounded.tensor, {DimsOf(to, window.kernel), DimsOf(to, window.stride), DimsOf(to, window.dilation)}, surrounded.counts), sizes);
}

// The positions of the elements are windows of their own.
std::tuple<Tensor, Tensor> MaxPoolOfWindows(Lowering& to, Tensor x, const Window& window, bool ceil_mode) {
  const auto last = static_cast<int64_t>(2 + window.kernel.size());
  const Tensor values = ElementsOf(to, Surround(to, x, window, ceil_mode, LeastOf(x.dtype())), window);
  Dims plane{to.Of(1), to.Of(1)};
  for (int64_t axis = 2; axis < last; ++axis) plane.push_back(x.size(axis));
  const Tensor positions = to.ReshapeTo(Iota(to, to.Product(plane)), plane);
  const Tensor places = ElementsOf(to, Surround(to, positions, window, ceil_mode, Scalar(-1)), window);
  // Padding is not chosen, not even where all elements are the least number.
  const Tensor inside = to.GreaterOrEqual(places, to.ConstantInt(0));
  const Tensor largest = to.ReduceMax(values, to.ConstantInts({last}));
  // Where the largest is NaN, the first is taken.
  const Tensor chosen = to.And(to.Not(to.Less(values, largest)), inside);
  const Tensor first = to.ArgMax(to.CastTo(chosen, DType::kInt32), {.axis = last});
  Dims sizes = values.sizes();
  sizes.back() = places.size(last);
  const Tensor index = to.GatherElements(to.ExpandTo(places, sizes), first, {.axis = last});
  return {to.SqueezeAt(largest, {last}), to.SqueezeAt(index, {last})};
}

// Sums over the elements; divided by all of a window, by those that the input or its padding has, or by `divisor`.
Tensor AveragePoolOfWindows(Lowering& to, Tensor x, const Window& window, bool ceil_mode, bool count_include_pad,
                           std::optional<int64_t> divisor) {
  const auto last = static_cast<int64_t>(2 + window.kernel.size());
  auto sum = [&](Tensor tensor, const Window& over) {
    return to.ReduceSum(ElementsOf(to, Surround(to, tensor, over, ceil_mode, Scalar(0)), over), to.ConstantInts({last}),
                        {.keepdims = 0});
  };
  const Tensor total = sum(x, window);
  if (divisor) return to.Div(total, to.NumberOf(*divisor, x.dtype()));
  Dims counted{to.Of(1), to.Of(1)};
  for (int64_t axis = 2; axis < last; ++axis) {
    const auto i = static_cast<size_t>(axis - 2);
    counted.push_back(count_include_pad ? to.Plus(x.size(axis), to.Of(2 * window.padding[i])) : x.size(axis));
  }
  const Tensor ones = to.Full(counted, int64_t{1}, x.dtype());
  if (!count_include_pad) return to.Div(total, sum(ones, window));
  // Windows that ceil_mode adds reach beyond the padding.
  const Surrounded surrounded = Surround(to, x, window, ceil_mode, Scalar(0));
  Dims ends(static_cast<size_t>(2 * last), to.Of(0));
  for (size_t i = 0; i < surrounded.sizes.size(); ++i)
    ends[static_cast<size_t>(last) + 2 + i] = AtLeastZero(to, to.Minus(surrounded.sizes[i], counted[2 + i]));
  const Surrounded all{to.Pad(ones, to.Shape1(ends), to.NumberOf(0, x.dtype())), surrounded.counts, surrounded.sizes};
  return to.Div(total, to.ReduceSum(ElementsOf(to, all, window), to.ConstantInts({last}), {.keepdims = 0}));
}

// --- max -------------------------------------------------------------------------

// Whether the elements of a window may all lie in the padding, on both sides of a short axis: their maximum is -infinity,
// and to onnxruntime the least finite number.
bool MayMiss(Lowering& to, const Tensor& x, const Window& window) {
  const auto spatial = static_cast<int64_t>(window.kernel.size());
  for (int64_t i = 0; i < spatial; ++i) {
    const auto size = to.AsConstant(x.size(i - spatial));
    if (window.padding[static_cast<size_t>(i)] > 0 && size && *size < window.dilation[static_cast<size_t>(i)]) return true;
  }
  return false;
}

// (values, indices): PyTorch's indices count within a channel, ONNX's within
// the whole tensor.
std::tuple<Tensor, Tensor> MaxPoolOf(Lowering& to, Tensor self, const Window& window, bool ceil_mode,
                                     bool with_indices) {
  const auto spatial = static_cast<int64_t>(window.kernel.size());
  const Batched batched(to, self, spatial);
  // onnxruntime has kernels for the narrow ones. Before opset 10, where what was chosen is asked for, too, ONNX's operator
  // has no such windows.
  const bool dilated = std::ranges::any_of(window.dilation, [](int64_t step) { return step != 1; });
  const bool lacks_indices = with_indices && (to.opset() < 8 || (to.opset() < 10 && (dilated || ceil_mode)));
  if (lacks_indices || (!self.is_floating() && ByteSize(self.dtype()) > 1) || (dilated && MayMiss(to, self, window))) {
    const auto [values, indices] = MaxPoolOfWindows(to, batched.tensor(), window, ceil_mode);
    return {batched.Undo(values), batched.Undo(indices)};
  }
  if (!with_indices && FollowsPad(to, batched.tensor())) {
    const bool covered = !ceil_mode && !HasPadding(window);
    const Tensor x = covered ? batched.tensor()
                             : Surround(to, batched.tensor(), window, ceil_mode, LeastOf(self.dtype())).tensor;
    const auto [values, none] = to.MaxPool(x,
                                           {.kernel_shape = window.kernel,
                                            .auto_pad = kUnpadded,
                                            .dilations = window.dilation,
                                            .strides = window.stride},
                                           1);
    return {batched.Undo(values), Tensor()};
  }
  const Geometry geometry = GeometryOf(to, self, window, ceil_mode);
  const auto [values, indices] = to.MaxPool(batched.tensor(),
                                            {.kernel_shape = window.kernel,
                                             .ceil_mode = geometry.ceil_mode,
                                             .dilations = window.dilation,
                                             .pads = geometry.pads,
                                             .strides = window.stride},
                                            with_indices ? 2 : 1);
  if (!with_indices) return {batched.Undo(values), Tensor()};
  Dim plane = to.Of(1);
  for (int64_t axis = 1; axis <= spatial; ++axis) plane = to.Times(plane, self.size(-axis));
  return {batched.Undo(values), batched.Undo(to.Mod(indices, to.Number(plane)))};
}

template <int64_t kSpatial>
Tensor MaxPoolNd(Lowering& to, Tensor self, Dims kernel_size, Dims stride, Dims padding, Dims dilation, bool ceil_mode) {
  const auto reduced = ReduceWholeAxes(to, self, kSpatial, kernel_size, stride, padding, dilation,
                                       [&](Tensor x, Tensor axes) { return to.ReduceMax(x, axes); });
  if (!reduced) return MaxPoolByAxes(to, self, OpenWindowOf(to, kSpatial, kernel_size, stride, padding, dilation, ceil_mode));
  if (reduced->changed && IsPoint(reduced->window)) return reduced->tensor;
  return std::get<0>(MaxPoolOf(to, reduced->tensor, reduced->window, ceil_mode, false));
}

template <int64_t kSpatial>
std::tuple<Tensor, Tensor> MaxPoolNdWithIndices(Lowering& to, Tensor self, Ints kernel_size, Ints stride, Ints padding,
                                                Ints dilation, bool ceil_mode) {
  return MaxPoolOf(to, self, WindowOf(kSpatial, kernel_size, stride, padding, dilation), ceil_mode, true);
}

// --- average ---------------------------------------------------------------------

// Zeros around the spatial axes, so that windows of ceil_mode lie within.
Tensor PadForWindows(Lowering& to, Tensor x, const Window& window, bool ceil_mode) {
  Dims begins(static_cast<size_t>(x.rank()), to.Of(0)), ends = begins;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const auto axis = static_cast<size_t>(x.rank()) - window.kernel.size() + i;
    const Dim size = x.size(static_cast<int64_t>(axis));
    const Dim count = PooledSize(to, size, to.Of(window.kernel[i]), to.Of(window.stride[i]), to.Of(window.padding[i]), ceil_mode);
    const Dim covered = to.Plus(to.Times(to.Minus(count, to.Of(1)), to.Of(window.stride[i])), to.Of(window.kernel[i]));
    begins[axis] = to.Of(window.padding[i]);
    ends[axis] = ceil_mode ? to.Minus(covered, to.Plus(size, to.Of(window.padding[i]))) : to.Of(window.padding[i]);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return to.Pad(x, to.Shape1(begins));
}

// What count_include_pad divides by along an axis: windows end with the padding.
Tensor WindowCounts(Lowering& to, int64_t count, int64_t size, const Window& window, size_t i, DType dtype) {
  std::vector<double> counts;
  for (int64_t w = 0; w < count; ++w) {
    const int64_t begin = w * window.stride[i], end = std::min(begin + window.kernel[i], size + 2 * window.padding[i]);
    counts.push_back(static_cast<double>(end - begin) / static_cast<double>(window.kernel[i]));
  }
  Ints sizes(window.kernel.size(), 1);
  sizes[i] = count;
  return to.ConstantFloats(counts, dtype, sizes);
}

Tensor AveragePoolOf(Lowering& to, Tensor self, const Window& window, bool ceil_mode, bool count_include_pad,
                     std::optional<int64_t> divisor) {
  const size_t spatial = window.kernel.size();
  const Batched batched(to, self, static_cast<int64_t>(spatial));
  if (NeedsWindows(to, self, "AveragePool"))
    return batched.Undo(
        AveragePoolOfWindows(to, batched.tensor(), window, ceil_mode, count_include_pad, divisor));
  const Geometry geometry = GeometryOf(to, self, window, ceil_mode);
  const bool extended = !std::ranges::equal(geometry.pads, BothSides(window.padding), std::ranges::less_equal());
  const bool follows_pad = FollowsPad(to, batched.tensor()) && !geometry.ceil_mode;
  const bool padded = HasPadding(window);
  if (!divisor && !(count_include_pad && (extended || (follows_pad && padded)))) {
    onnx::AveragePoolAttributes how{.kernel_shape = window.kernel,
                                    .ceil_mode = geometry.ceil_mode,
                                    .count_include_pad = count_include_pad,
                                    .pads = geometry.pads,
                                    .strides = window.stride};
    if (follows_pad && !padded && !extended) {
      how.auto_pad = kUnpadded;
      how.pads.clear();
    }
    return batched.Undo(to.AveragePool(batched.tensor(), how));
  }
  // Means of full windows over zeros, to be divided anew.
  Tensor y = to.AveragePool(PadForWindows(to, batched.tensor(), window, ceil_mode),
                            {.kernel_shape = window.kernel,
                             .auto_pad = follows_pad ? kUnpadded : "NOTSET",
                             .strides = window.stride});
  if (divisor) {
    int64_t elements = 1;
    for (int64_t size : window.kernel) elements *= size;
    return batched.Undo(to.Scale(y, static_cast<double>(elements) / static_cast<double>(*divisor)));
  }
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t axis = static_cast<int64_t>(i) - static_cast<int64_t>(spatial);
    if (geometry.pads[spatial + i] <= window.padding[i]) continue;
    const int64_t size = *to.AsConstant(self.size(axis));
    const Dim count = PooledSize(to, to.Of(size), to.Of(window.kernel[i]), to.Of(window.stride[i]), to.Of(window.padding[i]), true);
    y = to.Div(y, WindowCounts(to, *to.AsConstant(count), size, window, i, y.dtype()));
  }
  return batched.Undo(y);
}

Tensor AveragePool(Lowering& to, Tensor self, int64_t spatial, const Dims& kernel_size, const Dims& stride, const Dims& padding,
                   bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor) {
  const auto reduced = ReduceWholeAxes(to, self, spatial, kernel_size, stride, padding, {to.Of(1)},
                                       [&](Tensor x, Tensor axes) { return to.ReduceMean(x, axes); });
  if (!reduced || (divisor && reduced->changed))
    return AveragePoolByAxes(to, self, OpenWindowOf(to, spatial, kernel_size, stride, padding, {to.Of(1)}, ceil_mode), count_include_pad, divisor);
  if (reduced->changed && IsPoint(reduced->window)) return reduced->tensor;
  return AveragePoolOf(to, reduced->tensor, reduced->window, ceil_mode, count_include_pad, divisor);
}

Tensor AvgPool1d(Lowering& to, Tensor self, Dims kernel_size, Dims stride, Dims padding, bool ceil_mode,
                 bool count_include_pad) {
  return AveragePool(to, self, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, std::nullopt);
}

template <int64_t kSpatial>
Tensor AvgPoolNd(Lowering& to, Tensor self, Dims kernel_size, Dims stride, Dims padding, bool ceil_mode,
                 bool count_include_pad, std::optional<int64_t> divisor_override) {
  return AveragePool(to, self, kSpatial, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}

constexpr OpRow kRows[] = {
    Op<AvgPool1d>("aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool "
                  "ceil_mode=False, bool count_include_pad=True) -> Tensor"),
    Op<AvgPoolNd<2>>("aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
                     "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
    Op<AvgPoolNd<3>>("aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
                     "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
    Op<MaxPoolNd<1>>("aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] "
                     "dilation=[1], bool ceil_mode=False) -> Tensor"),
    Op<MaxPoolNdWithIndices<1>>("aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], "
                                "int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)"),
    Op<MaxPoolNd<2>>("aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
                     "dilation=1, bool ceil_mode=False) -> Tensor"),
    Op<MaxPoolNdWithIndices<2>>("aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], "
                                "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"),
    Op<MaxPoolNd<3>>("aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
                     "dilation=1, bool ceil_mode=False) -> Tensor"),
    Op<MaxPoolNdWithIndices<3>>("aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], "
                                "int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"),
};

}  // namespace

std::span<const OpRow> Pooling() { return kRows; }

}  // namespace flambeau::lower
