// Pooling and patches.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

bool HasDilations(const Request& request) {
  return std::ranges::any_of(request.IntList("dilations"), [](int64_t dilation) { return dilation != 1; });
}

// The windows of one axis of a pool. Where sizes are rounded up, the last window may reach beyond the padded end.
struct Windows {
  int64_t axis, kernel, stride, dilation, before, after;  // `after`: the padding at the end
  int64_t beyond;                                         // at most so much is missing behind that
  Tensor count;                                           // 0-d
};

// Whether the model can count the windows: those that are rounded up by the result's sizes.
bool CanCountWindows(Builder& to, const Request& request) {
  if (!request.operands[0].ranked()) return false;
  if (request.Int("ceil_mode", 0) == 0) return true;
  bool known = true;
  for (size_t i = 2; i < request.types[0].sizes.size(); ++i)
    to.exprs().ForEachSymbol(request.types[0].sizes[i], [&](Expr symbol) { known &= to.HasSource(symbol); });
  return known;
}

std::vector<Windows> WindowsOf(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const Ints kernel = request.IntList("kernel_shape");
  Ints dilations = request.IntList("dilations"), strides = request.IntList("strides"), pads = request.IntList("pads");
  const size_t axes = kernel.size();
  if (dilations.empty()) dilations.assign(axes, 1);
  if (strides.empty()) strides.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  const bool rounds_up = request.Int("ceil_mode", 0) != 0;
  std::vector<Windows> windows;
  for (size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const int64_t reach = dilations[i] * (kernel[i] - 1) + 1;
    const Dim wanted{request.types[0].sizes[i + 2]};
    const auto counted = to.AsConstant(wanted), size = to.AsConstant(x.size(axis));
    Windows one{axis, kernel[i], strides[i], dilations[i], pads[i], pads[axes + i], rounds_up ? strides[i] - 1 : 0, {}};
    if (rounds_up && counted && size) one.beyond = std::max<int64_t>((*counted - 1) * strides[i] + reach - (*size + one.before + one.after), 0);
    if (rounds_up) {
      one.count = to.Number(wanted);
    } else {
      const Tensor room = to.Add(SizeNumber(to, x, axis), to.ConstantInt(one.before + one.after - reach));
      one.count = to.Add(to.Div(room, to.ConstantInt(strides[i])), to.ConstantInt(1));
    }
    windows.push_back(std::move(one));
  }
  return windows;
}

// The axis padded with a value.
Tensor Padded(Builder& to, const Tensor& x, int64_t axis, int64_t before, int64_t after, double value) {
  if (before == 0 && after == 0) return x;
  Ints around(2 * static_cast<size_t>(x.rank()));
  around[static_cast<size_t>(axis)] = before;
  around[static_cast<size_t>(x.rank() + axis)] = after;
  return to.Pad(x, to.ConstantInts(around), to.ConstantOf(value, x.dtype()));
}

// The windows side by side: the axis becomes two, of windows and of places in them.
Tensor SideBySide(Builder& to, const Tensor& x, int64_t axis, const Windows& windows) {
  const Tensor starts = to.UnsqueezeAt(to.Mul(Iota(to, windows.count), to.ConstantInt(windows.stride)), {1});
  Ints offsets;
  for (int64_t k = 0; k < windows.kernel; ++k) offsets.push_back(k * windows.dilation);
  return to.Gather(x, to.Add(starts, to.ConstantInts(offsets)), {.axis = axis});
}

// The largest element of each window, axis by axis.
Results MaxOfWindows(Builder& to, const Request& request) {
  Tensor x = request.operands[0];
  if (request.results > 1 || !CanCountWindows(to, request) || !x.is_floating())
    return Refuse(to, request, HasDilations(request) ? "has no dilations" : "rounds sizes up only where they are known");
  for (const Windows& windows : WindowsOf(to, request)) {
    x = Padded(to, x, windows.axis, windows.before, windows.after + windows.beyond, -std::numeric_limits<double>::infinity());
    x = to.ReduceMax(SideBySide(to, x, windows.axis, windows), to.ConstantInts({windows.axis + 1}), {.keepdims = 0});
  }
  return {{to.Refined(x, request.types[0])}};
}

// The average of each window, axis by axis: its sum by how many of its places count. Those beyond the padding never do.
Results AverageOfWindows(Builder& to, const Request& request) {
  Tensor x = request.operands[0];
  if (!CanCountWindows(to, request)) return Refuse(to, request, "rounds sizes up only where they are known");
  const double of_pad = request.Int("count_include_pad", 0) != 0 ? 1 : 0;
  for (const Windows& windows : WindowsOf(to, request)) {
    const int64_t axis = windows.axis;
    const Tensor sums = to.ReduceSum(SideBySide(to, Padded(to, x, axis, windows.before, windows.after + windows.beyond, 0), axis, windows),
                                     to.ConstantInts({axis + 1}), {.keepdims = 0});
    const Tensor ones = to.Expand(to.ConstantOf(1.0, x.dtype()), SizeAlong(to, x, axis));
    const Tensor places = Padded(to, Padded(to, ones, 0, windows.before, windows.after, of_pad), 0, 0, windows.beyond, 0);
    const Tensor counts = to.ReduceSum(SideBySide(to, places, 0, windows), to.ConstantInts({1}), {.keepdims = 0});
    Ints after_it;  // so that the counts stand on the axis
    for (int64_t d = axis + 1; d < x.rank(); ++d) after_it.push_back(d - axis);
    x = to.Div(sums, after_it.empty() ? counts : to.UnsqueezeAt(counts, after_it));
  }
  return {{to.Refined(x, request.types[0])}};
}

// A result size that is rounded up is one rounded down, of more pads at the end.
Results PoolWithMorePads(Builder& to, const Request& request) {
  const bool of_max = request.op == "MaxPool";
  if (HasDilations(request)) return of_max ? MaxOfWindows(to, request) : Refuse(to, request, "has no dilations");
  if (of_max && LacksKernelOfDouble(to, request)) return MaxOfWindows(to, request);
  AttributeList attributes = Without(request.attributes, "dilations");
  if (to.opset() < 10 && request.Int("ceil_mode", 0) != 0) {
    const auto by_windows = [&] { return of_max ? MaxOfWindows(to, request) : AverageOfWindows(to, request); };
    const Ints kernel = request.IntList("kernel_shape");
    const auto in = KnownSizes(to, request.operands[0].type()), out = KnownSizes(to, request.types[0]);
    if (!in || !out) return by_windows();
    Ints strides = request.IntList("strides"), pads = request.IntList("pads");
    if (strides.empty()) strides.assign(kernel.size(), 1);
    if (pads.empty()) pads.assign(2 * kernel.size(), 0);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t covered = ((*out)[i + 2] - 1) * strides[i] + kernel[i];
      const int64_t more = covered - ((*in)[i + 2] + pads[i] + pads[kernel.size() + i]);
      if (more <= 0) continue;
      pads[kernel.size() + i] += more;
      if (request.Int("count_include_pad", 0) != 0 || pads[kernel.size() + i] >= kernel[i]) return by_windows();
    }
    attributes = Without(attributes, "ceil_mode");
    attributes = With(attributes, "pads", pads);
  }
  return EmitAsIs(to, request.op, request.operands, attributes, request.results);
}

// Where the patches lie that are the columns of Col2Im's input.
struct PatchWindows {
  Ints block, dilations, strides, pads;
  size_t axes() const { return block.size(); }
  int64_t places() const { return std::accumulate(block.begin(), block.end(), int64_t{1}, std::multiplies<>()); }
  bool valid() const {
    const auto positive = [](const Ints& values) { return std::ranges::all_of(values, [](int64_t value) { return value > 0; }); };
    return positive(block) && positive(strides);
  }
  // What an image has to be larger than by steps for more than one patch.
  int64_t Covered(size_t i) const { return dilations[i] * (block[i] - 1) + 1 - pads[i] - pads[axes() + i]; }
};

PatchWindows PatchWindowsOf(const Request& request, const Ints& block) {
  PatchWindows windows{block, request.IntList("dilations"), request.IntList("strides"), request.IntList("pads")};
  if (windows.dilations.empty()) windows.dilations.assign(windows.axes(), 1);
  if (windows.strides.empty()) windows.strides.assign(windows.axes(), 1);
  if (windows.pads.empty()) windows.pads.assign(2 * windows.axes(), 0);
  return windows;
}

// The size of an image along one of its axes.
Dim ImageSize(Builder& to, const Request& request, const std::optional<Ints>& known, size_t i) {
  return known ? to.Of((*known)[i]) : to.DimOf(to.GatherIndex(request.operands[1], 0, to.Of(static_cast<int64_t>(i))));
}

// How many patches lie along an axis of an image of that size.
Dim PatchCount(Builder& to, const PatchWindows& windows, Dim size, size_t i) {
  ExprPool& exprs = to.exprs();
  const Expr room = exprs.Sub(size.expr, exprs.Constant(windows.Covered(i)));
  return {exprs.Add(exprs.FloorDiv(room, exprs.Constant(windows.strides[i])), exprs.Constant(1))};
}

// Sums the patches at their places in the padded image, of which all lie on one axis.
Results Col2ImByScattering(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const auto block = KnownInts(to, request.operands[2]), image = KnownInts(to, request.operands[1]);
  if (!block || !x.ranked() || x.rank() != 3 || !x.is_floating()) return std::nullopt;
  const PatchWindows windows = PatchWindowsOf(request, *block);
  if (!windows.valid()) return std::nullopt;
  ExprPool& exprs = to.exprs();
  const auto axes = static_cast<int64_t>(windows.axes());
  const Dim channels{exprs.FloorDiv(x.size(1).expr, to.Of(windows.places()).expr)};
  Tensor places;  // by the place in the block, and the patch
  Dims padded = {x.size(0), channels}, cut = padded;
  Dim area = to.Of(1);
  for (int64_t axis = 0; axis < axes; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const Dim size = ImageSize(to, request, image, i);
    const Dim wide{exprs.Add(size.expr, exprs.Constant(windows.pads[i] + windows.pads[windows.axes() + i]))};
    Ints offsets, beside;
    for (int64_t k = 0; k < (*block)[i]; ++k) offsets.push_back(k * windows.dilations[i]);
    for (int64_t d = 0; d < 2 * axes; ++d)
      if (d != axis && d != axes + axis) beside.push_back(d);
    const Tensor starts = to.Mul(Iota(to, to.Number(PatchCount(to, windows, size, i))), to.ConstantInt(windows.strides[i]));
    Tensor along = to.Add(to.UnsqueezeAt(to.ConstantInts(offsets), {1}), starts);
    if (!beside.empty()) along = to.UnsqueezeAt(along, beside);
    places = axis == 0 ? along : to.Add(to.Mul(places, to.Number(wide)), along);
    area = Dim{exprs.Mul(area.expr, wide.expr)};
    padded.push_back(wide);
    cut.push_back(size);
  }
  places = to.ReshapeTo(places, Ints{-1});
  const Tensor updates = to.ReshapeTo(x, Dims{x.size(0), channels, places.size(0)});
  const Tensor zeros = to.Full(Dims{x.size(0), channels, area}, 0.0, x.dtype());
  Tensor sums = to.ReshapeTo(to.ScatterElements(zeros, to.Expand(places, to.Shape(updates)), updates, {.axis = 2, .reduction = "add"}), padded);
  for (int64_t axis = 0; axis < axes; ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (windows.pads[i] == 0 && windows.pads[windows.axes() + i] == 0) continue;
    const Dim end{exprs.Add(cut[i + 2].expr, exprs.Constant(windows.pads[i]))};
    sums = to.SliceAxis(sums, axis + 2, to.Of(windows.pads[i]), end);
  }
  return {{sums}};
}

// A transposed convolution puts them back, with kernels that have a single one.
Results Col2ImByConvolution(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const auto block = KnownInts(to, request.operands[2]);
  if (!block || !x.ranked() || x.rank() != 3 || !x.is_floating()) return std::nullopt;
  const PatchWindows windows = PatchWindowsOf(request, *block);
  if (!windows.valid()) return std::nullopt;
  const size_t axes = windows.axes();
  const int64_t places = windows.places();
  const auto known_image = KnownInts(to, request.operands[1]);
  ExprPool& exprs = to.exprs();
  const Dim channels{exprs.FloorDiv(x.size(1).expr, to.Of(places).expr)};
  Dims patches = {{exprs.Mul(x.size(0).expr, channels.expr)}, to.Of(places)}, result = {x.size(0), channels};
  Ints kernel = {places, 1}, output_padding;
  for (size_t i = 0; i < axes; ++i) {
    const Dim image = ImageSize(to, request, known_image, i);
    patches.push_back(PatchCount(to, windows, image, i));
    // What the last patch leaves uncovered; as much as it may, where only a run knows the image.
    output_padding.push_back(known_image ? ((*known_image)[i] - windows.Covered(i)) % windows.strides[i] : windows.strides[i] - 1);
    kernel.push_back((*block)[i]);
    result.push_back(image);
  }
  Floats ones(static_cast<size_t>(places * places), 0.0);
  for (int64_t i = 0; i < places; ++i) ones[static_cast<size_t>(i * places + i)] = 1;
  Tensor y = to.ConvTranspose(to.ReshapeTo(x, patches), to.ConstantFloats(ones, x.dtype(), kernel),
                              {.dilations = windows.dilations, .kernel_shape = *block, .output_padding = output_padding,
                               .pads = windows.pads, .strides = windows.strides});
  for (size_t i = 0; i < axes && !known_image; ++i)
    if (windows.strides[i] > 1) y = to.SliceAxis(y, static_cast<int64_t>(i) + 2, to.Of(0), result[i + 2]);
  return {{to.ReshapeTo(y, result)}};
}

Results LegalizeCol2Im(Builder& to, const Request& request) {
  if (LacksKernelOfDouble(to, request)) {
    if (Results sums = Col2ImByScattering(to, request)) return sums;
  }
  if (to.opset() >= 18) return std::nullopt;
  if (Results sums = Col2ImByConvolution(to, request)) return sums;
  return Refuse(to, request, "does not exist");
}

constexpr LegalizeRule kRules[] = {
    {"AveragePool", 10, &PoolWithMorePads},
    {"Col2Im", kNever, &LegalizeCol2Im},
    {"MaxPool", 10, &PoolWithMorePads},
};

}  // namespace

std::span<const LegalizeRule> ImageForms() { return kRules; }

}  // namespace flambeau::onnx
