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

// The largest element of each window, axis by axis: windows side by side on an axis of their own. Sizes that are rounded
// up are those of windows that reach beyond the end.
Results MaxOfWindows(Builder& to, const Request& request) {
  Tensor x = request.operands[0];
  const Ints kernel = request.IntList("kernel_shape");
  Ints dilations = request.IntList("dilations");
  if (request.results > 1 || !x.ranked() || !x.is_floating()) return Refuse(to, request, HasDilations(request) ? "has no dilations" : "rounds sizes up only where they are known");
  const size_t axes = kernel.size();
  Ints strides = request.IntList("strides"), pads = request.IntList("pads");
  if (dilations.empty()) dilations.assign(axes, 1);
  if (strides.empty()) strides.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  const bool rounds_up = request.Int("ceil_mode", 0) != 0;
  for (size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const int64_t reach = dilations[i] * (kernel[i] - 1) + 1;
    const Dim wanted{request.types[0].sizes[i + 2]};
    const auto counted = to.AsConstant(wanted), size = to.AsConstant(x.size(axis));
    bool known = true;  // when the model runs
    to.exprs().ForEachSymbol(wanted.expr, [&](Expr symbol) { known &= to.HasSource(symbol); });
    if (rounds_up && !known) return Refuse(to, request, "rounds sizes up only where they are known");
    int64_t more = rounds_up ? strides[i] - 1 : 0;
    if (rounds_up && counted && size) more = (*counted - 1) * strides[i] + reach - (*size + pads[i] + pads[axes + i]);
    Ints around(2 * static_cast<size_t>(x.rank()));
    around[i + 2] = pads[i];
    around[static_cast<size_t>(x.rank()) + i + 2] = pads[axes + i] + std::max<int64_t>(more, 0);
    const Tensor least = to.ConstantOf(-std::numeric_limits<double>::infinity(), x.dtype());
    if (std::ranges::any_of(around, [](int64_t pad) { return pad != 0; })) x = to.Pad(x, to.ConstantInts(around), least);
    const Tensor room = rounds_up ? Tensor() : to.Sub(SizeNumber(to, x, axis), to.ConstantInt(reach));
    const Tensor count = rounds_up ? to.Number(wanted) : to.Add(to.Div(room, to.ConstantInt(strides[i])), to.ConstantInt(1));
    const Tensor starts = to.UnsqueezeAt(to.Mul(Iota(to, count), to.ConstantInt(strides[i])), {1});
    Ints offsets;
    for (int64_t k = 0; k < kernel[i]; ++k) offsets.push_back(k * dilations[i]);
    x = to.ReduceMax(to.Gather(x, to.Add(starts, to.ConstantInts(offsets)), {.axis = axis}), to.ConstantInts({axis + 1}), {.keepdims = 0});
  }
  return {{to.Refined(x, request.types[0])}};
}

// A result size that is rounded up is one rounded down, of more pads at the end.
Results PoolWithMorePads(Builder& to, const Request& request) {
  if (HasDilations(request)) return request.op == "MaxPool" ? MaxOfWindows(to, request) : Refuse(to, request, "has no dilations");
  if (request.op == "MaxPool" && LacksKernelOfDouble(to, request)) return MaxOfWindows(to, request);
  AttributeList attributes = Without(request.attributes, "dilations");
  if (to.opset() < 10 && request.Int("ceil_mode", 0) != 0) {
    const Ints kernel = request.IntList("kernel_shape");
    const auto in = KnownSizes(to, request.operands[0].type()), out = KnownSizes(to, request.types[0]);
    if (!in || !out) return request.op == "MaxPool" ? MaxOfWindows(to, request) : Refuse(to, request, "rounds sizes up only where they are known");
    Ints strides = request.IntList("strides"), pads = request.IntList("pads");
    if (strides.empty()) strides.assign(kernel.size(), 1);
    if (pads.empty()) pads.assign(2 * kernel.size(), 0);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t covered = ((*out)[i + 2] - 1) * strides[i] + kernel[i];
      const int64_t more = covered - ((*in)[i + 2] + pads[i] + pads[kernel.size() + i]);
      if (more <= 0) continue;
      if (request.Int("count_include_pad", 0) != 0) return Refuse(to, request, "counts what it rounds up by");
      pads[kernel.size() + i] += more;
      if (pads[kernel.size() + i] >= kernel[i]) return Refuse(to, request, "rounds up only by less than its kernel");
    }
    attributes = Without(attributes, "ceil_mode");
    attributes = With(attributes, "pads", pads);
  }
  return EmitAsIs(to, request.op, request.operands, attributes, request.results);
}

// Patches of known sizes, one a column of Col2Im's input.
struct Patches {
  Ints image, block, dilations, strides, pads;
  int64_t channels;
  size_t axes() const { return block.size(); }
  int64_t padded(size_t i) const { return image[i] + pads[i] + pads[axes() + i]; }
  // How far the first place of a patch moves along an axis.
  int64_t room(size_t i) const { return padded(i) - dilations[i] * (block[i] - 1) - 1; }
  int64_t count(size_t i) const { return room(i) / strides[i] + 1; }
  int64_t places() const { return std::accumulate(block.begin(), block.end(), int64_t{1}, std::multiplies<>()); }
};

std::optional<Patches> PatchesOf(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const auto image = KnownInts(to, request.operands[1]), block = KnownInts(to, request.operands[2]);
  const auto columns = x.ranked() && x.rank() == 3 ? to.AsConstant(x.size(1)) : std::nullopt;
  if (!image || !block || !columns || !x.is_floating()) return std::nullopt;
  Patches patches{*image, *block, request.IntList("dilations"), request.IntList("strides"), request.IntList("pads"), 0};
  if (patches.dilations.empty()) patches.dilations.assign(patches.axes(), 1);
  if (patches.strides.empty()) patches.strides.assign(patches.axes(), 1);
  if (patches.pads.empty()) patches.pads.assign(2 * patches.axes(), 0);
  const auto positive = [](const Ints& values) { return std::ranges::all_of(values, [](int64_t value) { return value > 0; }); };
  if (!positive(patches.block) || !positive(patches.strides)) return std::nullopt;
  patches.channels = *columns / patches.places();
  return patches;
}

// Sums the patches at their places in the padded image, of which all lie on one axis.
Results Col2ImByScattering(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const auto patches = PatchesOf(to, request);
  if (!patches) return std::nullopt;
  constexpr int64_t kMostPlaces = 1 << 22;  // that are listed in the model
  int64_t listed = patches->places();
  for (size_t i = 0; i < patches->axes() && listed <= kMostPlaces; ++i) listed *= std::clamp<int64_t>(patches->count(i), 0, kMostPlaces);
  if (listed > kMostPlaces) return std::nullopt;
  // Of each place in the block, the places in the image that it has in the patches.
  Ints starts = {0};
  auto vary = [&](size_t axis, int64_t count, int64_t step, const Ints& strides) {
    Ints varied;
    for (int64_t start : starts)
      for (int64_t i = 0; i < count; ++i) varied.push_back(start + i * step * strides[axis]);
    starts = std::move(varied);
  };
  Ints strides(patches->axes(), 1), padded = {-1, patches->channels}, begins, ends, axes;
  for (size_t i = patches->axes(); i-- > 1;) strides[i - 1] = strides[i] * patches->padded(i);
  for (size_t i = 0; i < patches->axes(); ++i) vary(i, patches->block[i], patches->dilations[i], strides);
  for (size_t i = 0; i < patches->axes(); ++i) vary(i, patches->count(i), patches->strides[i], strides);
  for (size_t i = 0; i < patches->axes(); ++i) {
    padded.push_back(patches->padded(i));
    begins.push_back(patches->pads[i]);
    ends.push_back(patches->pads[i] + patches->image[i]);
    axes.push_back(static_cast<int64_t>(i) + 2);
  }
  const Tensor updates = to.ReshapeTo(x, Ints{-1, patches->channels, static_cast<int64_t>(starts.size())});
  const Tensor sizes = to.Concat(Tensors{SizeAlong(to, x, 0), to.ConstantInts({patches->channels, strides[0] * patches->padded(0)})}, {.axis = 0});
  const Tensor zeros = to.Expand(to.ConstantOf(0.0, x.dtype()), sizes);
  const Tensor places = to.Expand(to.ConstantInts(starts), to.Shape(updates));
  const Tensor sums = to.ScatterElements(zeros, places, updates, {.axis = 2, .reduction = "add"});
  return {{to.Slice(to.ReshapeTo(sums, padded), to.ConstantInts(begins), to.ConstantInts(ends), to.ConstantInts(axes))}};
}

// Of older opsets, a transposed convolution puts them
// back, with kernels that have a single one.
Results LegalizeCol2Im(Builder& to, const Request& request) {
  if (LacksKernelOfDouble(to, request)) {
    if (Results sums = Col2ImByScattering(to, request)) return sums;
  }
  if (to.opset() >= 18) return std::nullopt;
  const Tensor x = request.operands[0];
  const auto known = PatchesOf(to, request);
  if (!known) return Refuse(to, request, "does not exist");
  const size_t axes = known->axes();
  const int64_t places = known->places();
  Ints patches = {-1, places}, result = {-1, known->channels}, kernel = {places, 1}, output_padding;
  for (size_t i = 0; i < axes; ++i) {
    patches.push_back(known->count(i));
    output_padding.push_back(known->room(i) % known->strides[i]);
    kernel.push_back(known->block[i]);
    result.push_back(known->image[i]);
  }
  Floats ones(static_cast<size_t>(places * places), 0.0);
  for (int64_t i = 0; i < places; ++i) ones[static_cast<size_t>(i * places + i)] = 1;
  const Tensor y = to.ConvTranspose(to.ReshapeTo(x, patches), to.ConstantFloats(ones, x.dtype(), kernel),
                                    {.dilations = known->dilations, .kernel_shape = known->block, .output_padding = output_padding,
                                     .pads = known->pads, .strides = known->strides});
  return {{to.ReshapeTo(y, result)}};
}

constexpr LegalizeRule kRules[] = {
    {"AveragePool", 10, &PoolWithMorePads},
    {"Col2Im", kNever, &LegalizeCol2Im},
    {"MaxPool", 10, &PoolWithMorePads},
};

}  // namespace

std::span<const LegalizeRule> ImageForms() { return kRules; }

}  // namespace flambeau::onnx
