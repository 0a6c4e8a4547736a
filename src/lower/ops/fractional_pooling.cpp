// Max pools over windows at random places.
#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/nan_order.h"
#include "lower/ops/spatial.h"

namespace flambeau::lower {
namespace {

// Where the windows of each channel begin along an axis, (batch, channels, count): steps of a fractional length from
// a random start, truncated; the last window ends with the axis.
Tensor WindowStarts(Lowering& to, Tensor samples, Dim size, int64_t window, Dim count) {
  const Tensor last = to.Number(to.Minus(size, to.Of(window)));
  Dims one_each{samples.size(0), samples.size(1), to.Of(1)};
  const Tensor end = to.ExpandTo(last, one_each);
  if (count == to.Of(1)) return end;
  const Dim before = to.Minus(count, to.Of(1));
  // PyTorch rounds each step of these to the dtype of the samples; onnxruntime computes several halves on end in float32.
  const DType dtype = samples.dtype(), compute = ByteSize(dtype) < 4 ? DType::kFloat32 : dtype;
  const auto rounded = [&](const Tensor& x) { return to.CastTo(to.CastTo(x, dtype), compute); };
  const Tensor sample = to.UnsqueezeAt(to.CastTo(samples, compute), {2});
  const Tensor step = rounded(to.Div(rounded(last), rounded(to.Number(before))));
  const auto counted = [&](const Tensor& steps) { return to.CastTo(rounded(to.Mul(steps, step)), DType::kInt64); };
  return to.Concat({to.Sub(counted(rounded(to.Add(rounded(Iota(to, before)), sample))), counted(sample)), end}, {.axis = 2});
}

// (values, indices within a channel).
template <int64_t kSpatial>
std::tuple<Tensor, Tensor> FractionalMaxPool(Lowering& to, Tensor self, Ints kernel_size, Dims output_size,
                                             Tensor random_samples) {
  const Ints kernel = StepsPerAxis(kernel_size, kSpatial);
  const Dims count = PerAxis(output_size, kSpatial);
  const Batched batched(to, self, kSpatial);
  const Tensor x = batched.tensor();
  if (random_samples.size(0) != x.size(0)) {  // PyTorch takes more than it needs
    random_samples = to.SliceAxis(random_samples, 0, to.Of(0), x.size(0));
  }
  // Positions of the elements of all windows: an axis for the windows, then one for their elements.
  Tensor windows, elements;
  Dim plane = to.Of(1), window_count = to.Of(1);
  int64_t element_count = 1;
  for (int64_t i = 0; i < kSpatial; ++i) {
    const Dim size = x.size(2 + i);
    plane = to.Times(plane, size);
    window_count = to.Times(window_count, count[static_cast<size_t>(i)]);
    element_count *= kernel[static_cast<size_t>(i)];
    // PyTorch draws for the last axis first where there are two, for the first one where there are three.
    const int64_t drawn = kSpatial == 2 ? kSpatial - 1 - i : i;
    const Tensor starts = WindowStarts(to, to.GatherIndex(random_samples, 2, to.Of(drawn)), size,
                                       kernel[static_cast<size_t>(i)], count[static_cast<size_t>(i)]);
    const Tensor within = Iota(to, to.Of(kernel[static_cast<size_t>(i)]));
    auto combined = [&](Tensor before, Tensor one) {
      if (!before) return one;
      const Tensor scaled = to.Mul(before, to.Number(size));
      const Tensor pairs = to.Add(to.UnsqueezeAt(scaled, {scaled.rank()}), to.UnsqueezeAt(one, {one.rank() - 1}));
      return one.rank() == 1 ? to.ReshapeTo(pairs, Ints{-1}) : to.ReshapeTo(pairs, Dims{x.size(0), x.size(1), window_count});
    };
    windows = combined(windows, starts);
    elements = combined(elements, within);
  }
  const Tensor positions = to.Add(to.UnsqueezeAt(windows, {3}), elements);
  const Dims lead{x.size(0), x.size(1)};
  auto with = [&](std::initializer_list<Dim> more) {
    Dims sizes = lead;
    sizes.insert(sizes.end(), more);
    return sizes;
  };
  const Tensor flat = to.ReshapeTo(x, with({plane}));
  const Tensor taken = to.GatherElements(
      flat, to.ReshapeTo(positions, with({to.Times(window_count, to.Of(element_count))})), {.axis = 2});
  const Tensor keys = OrderKeys(to, to.ReshapeTo(taken, with({window_count, to.Of(element_count)})), NanRank::kHighest);
  const Tensor best = to.ArgMax(keys, {.axis = 3});
  const Tensor index = to.SqueezeAt(to.GatherElements(positions, best, {.axis = 3}), {3});
  Dims sizes = lead;
  sizes.insert(sizes.end(), count.begin(), count.end());
  return {batched.Undo(to.ReshapeTo(to.GatherElements(flat, index, {.axis = 2}), sizes)),
          batched.Undo(to.ReshapeTo(index, sizes))};
}

constexpr OpRow kRows[] = {
    Op<FractionalMaxPool<2>>("aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor "
                             "random_samples) -> (Tensor, Tensor)"),
    Op<FractionalMaxPool<3>>("aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor "
                             "random_samples) -> (Tensor, Tensor)"),
};

}  // namespace

std::span<const OpRow> FractionalPooling() { return kRows; }

}  // namespace flambeau::lower
