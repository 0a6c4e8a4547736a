// Windows of an image taken apart and put together again.
#include <algorithm>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/pooling.h"
#include "lower/ops/spatial.h"

namespace flambeau::lower {
namespace {

Tensor Range(Lowering& to, Dim size, Dim step) {
  const auto known = to.AsConstant(size), constant = to.AsConstant(step);
  if (known && constant) {
    Ints values;
    for (int64_t i = 0; i < *known; ++i) values.push_back(i * *constant);
    return to.ConstantInts(values);
  }
  const Tensor range = to.Range(to.ConstantInt(0), to.Number(size), to.ConstantInt(1));
  return constant == 1 ? range : to.Mul(range, to.Number(step));
}

// (batch, channels, height, width) to (batch, channels · window, windows).
Tensor Im2col(Lowering& to, Tensor self, Dims kernel_size, Dims dilation, Dims padding, Dims stride) {
  const Dims kernel = StepsPerAxis(to, kernel_size, 2), gaps = StepsPerAxis(to, dilation, 2), border = PerAxis(padding, 2),
             steps = StepsPerAxis(to, stride, 2);
  const Dim none = to.Of(0), one = to.Of(1);
  const Batched batched(to, self, 2);
  Tensor x = batched.tensor();
  Dims sizes{x.size(0), to.Times(x.size(1), to.Times(kernel[0], kernel[1])), one};
  const Dims image{x.size(2), x.size(3)};
  if (border[0] != none || border[1] != none) x = to.Pad(x, to.Shape1(Dims{none, none, border[0], border[1], none, none, border[0], border[1]}));
  // An axis becomes (window, windows), first the rows, then the columns.
  for (size_t i = 0; i < 2; ++i) {
    const Dim window = to.Plus(to.Times(gaps[i], to.Minus(kernel[i], one)), one);
    const Dim windows = PooledSize(to, image[i], window, steps[i], border[i], false);
    const Tensor at = to.Add(to.UnsqueezeAt(Range(to, kernel[i], gaps[i]), {1}), Range(to, windows, steps[i]));
    x = to.Gather(x, at, {.axis = i == 0 ? 2 : 4});
    sizes[2] = to.Times(sizes[2], windows);
  }
  return batched.Undo(to.ReshapeTo(to.Transpose(x, {.perm = {0, 1, 2, 4, 3, 5}}), sizes));
}

// Sums what overlaps.
Tensor Col2im(Lowering& to, Tensor self, Dims output_size, Ints kernel_size, Ints dilation, Ints padding, Ints stride) {
  const Batched batched(to, self, 1);
  if (output_size.size() == 1) output_size.push_back(output_size[0]);
  return batched.Undo(to.Col2Im(
      batched.tensor(), to.Shape1(output_size), to.ConstantInts(StepsPerAxis(kernel_size, 2)),
      {.dilations = StepsPerAxis(dilation, 2), .pads = BothSides(PerAxis(padding, 2)), .strides = StepsPerAxis(stride, 2)}));
}

// The inverse of a max pool: values at their indices, zeros elsewhere.
Tensor Unpool(Lowering& to, Tensor self, Tensor indices, const Dims& output_size) {
  const auto spatial = static_cast<int64_t>(output_size.size());
  Dims kept = self.sizes();
  kept.resize(kept.size() - output_size.size());
  auto flat = [&](Dim elements) {
    Dims sizes = kept;
    sizes.push_back(elements);
    return sizes;
  };
  Dim windows = to.Of(1);
  for (int64_t axis = 1; axis <= spatial; ++axis) windows = to.Times(windows, self.size(-axis));
  const Tensor zeros = to.Full(flat(to.Product(output_size)), 0.0, self.dtype());
  const Tensor y = to.ScatterElements(zeros, to.ReshapeTo(indices, flat(windows)), to.ReshapeTo(self, flat(windows)),
                                      {.axis = static_cast<int64_t>(kept.size())});
  Dims sizes = kept;
  sizes.insert(sizes.end(), output_size.begin(), output_size.end());
  return to.ReshapeTo(y, sizes);
}

Tensor MaxUnpool2d(Lowering& to, Tensor self, Tensor indices, Dims output_size) {
  return Unpool(to, self, indices, output_size);
}

Tensor MaxUnpool3d(Lowering& to, Tensor self, Tensor indices, Dims output_size, Ints, Ints) {
  return Unpool(to, self, indices, output_size);
}

// --- adaptive max pools -----------------------------------------------------------

// The elements of each bin along an axis, (bins, longest bin): shorter bins
// repeat their last element, which changes no maximum.
struct Bins {
  int64_t count, longest;
  Ints elements;
};

Bins BinsOf(int64_t size, int64_t count) {
  Bins bins{count, 0, {}};
  auto begin = [&](int64_t i) { return i * size / count; };
  auto end = [&](int64_t i) { return ((i + 1) * size + count - 1) / count; };
  for (int64_t i = 0; i < count; ++i) bins.longest = std::max(bins.longest, end(i) - begin(i));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < bins.longest; ++k) bins.elements.push_back(std::min(begin(i) + k, end(i) - 1));
  return bins;
}

// Positions within a channel of the elements of all bins, (bins · elements of a bin).
Ints Positions(const std::vector<Bins>& axes, const Ints& sizes) {
  Ints positions{0};
  int64_t bin_count = 1, element_count = 1;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const Bins& one = axes[axis];
    Ints next(static_cast<size_t>(bin_count * one.count * element_count * one.longest));
    for (int64_t b = 0; b < bin_count; ++b)
      for (int64_t i = 0; i < one.count; ++i)
        for (int64_t e = 0; e < element_count; ++e)
          for (int64_t k = 0; k < one.longest; ++k)
            next[static_cast<size_t>(((b * one.count + i) * element_count + e) * one.longest + k)] =
                positions[static_cast<size_t>(b * element_count + e)] * sizes[axis] +
                one.elements[static_cast<size_t>(i * one.longest + k)];
    positions = std::move(next);
    bin_count *= one.count;
    element_count *= one.longest;
  }
  return positions;
}

// Positions as a table of (bins, elements of a bin).
struct PositionTable {
  Tensor positions;
  Dim bins, elements;
};

PositionTable TableOf(Lowering& to, const std::vector<Bins>& axes, const Ints& sizes) {
  PositionTable table{to.ConstantInts(Positions(axes, sizes)), to.Of(1), to.Of(1)};
  for (const Bins& one : axes) {
    table.bins = to.Times(table.bins, to.Of(one.count));
    table.elements = to.Times(table.elements, to.Of(one.longest));
  }
  table.positions = to.ReshapeTo(table.positions, Dims{table.bins, table.elements});
  return table;
}

// The same where sizes or counts are known at run time: no bin is longer than ⌈size / count⌉ + 1, and those of an axis
// that keeps its size are single elements.
PositionTable TableOfSizes(Lowering& to, const Dims& sizes, const Dims& counts) {
  PositionTable table{to.Reshape(to.ConstantInt(0), to.ConstantInts({1, 1})), to.Of(1), to.Of(1)};
  const Tensor one = to.ConstantInt(1);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const Dim divisor = AtLeastOne(to, counts[axis]);
    const Tensor size = to.Number(sizes[axis]), count = to.Number(divisor);
    const Tensor bin = to.UnsqueezeAt(Iota(to, counts[axis]), {1});
    const Tensor begin = to.Div(to.Mul(bin, size), count);
    const Tensor end = to.Div(to.Add(to.Mul(to.Add(bin, one), size), to.Sub(count, one)), count);
    Dim longest = to.Of(1);
    if (sizes[axis] != counts[axis])
      longest = to.Plus(longest, Dim{to.exprs().CeilDiv(sizes[axis].expr, divisor.expr)});
    const Tensor within = to.Min({to.Add(begin, Iota(to, longest)), to.Sub(end, one)});
    // (bins, 1, elements, 1) and (new bins, 1, new elements).
    const Tensor before = to.UnsqueezeAt(to.Mul(table.positions, size), {1, 3});
    table.bins = to.Times(table.bins, counts[axis]);
    table.elements = to.Times(table.elements, longest);
    table.positions = to.ReshapeTo(to.Add(before, to.UnsqueezeAt(within, {1})), Dims{table.bins, table.elements});
  }
  return table;
}

// (values, indices): one Gather brings the elements of each bin together.
template <int64_t kSpatial>
std::tuple<Tensor, Tensor> AdaptiveMaxPool(Lowering& to, Tensor self, Dims bins) {
  if (bins.size() == 1) bins.resize(kSpatial, bins[0]);
  const int64_t first = self.rank() - kSpatial;
  if (first < 0 || bins.size() != kSpatial) throw onnx::BadOperand("pools over more dimensions than it is given");
  Dims flat, result = self.sizes();
  for (int64_t axis = 0; axis < first; ++axis) flat.push_back(self.size(axis));
  Dim plane = to.Of(1);
  for (int64_t axis = first; axis < self.rank(); ++axis) plane = to.Times(plane, self.size(axis));
  flat.push_back(plane);
  for (int64_t i = 0; i < kSpatial; ++i) result[static_cast<size_t>(first + i)] = bins[static_cast<size_t>(i)];
  const Tensor elements = to.ReshapeTo(self, flat);
  const auto counts = to.AsConstants(bins);
  if (counts == Ints(kSpatial, 1)) {
    const Tensor values = to.ReduceMax(elements, to.ConstantInts({first}));
    return {to.ReshapeTo(values, result), to.ReshapeTo(to.ArgMax(elements, {.axis = first}), result)};
  }
  Dims sizes;
  for (int64_t i = 0; i < kSpatial; ++i) sizes.push_back(self.size(first + i));
  PositionTable table;
  if (const auto known = to.AsConstants(sizes); known && counts) {
    std::vector<Bins> axes;
    for (size_t i = 0; i < kSpatial; ++i) axes.push_back(BinsOf((*known)[i], (*counts)[i]));
    table = TableOf(to, axes, *known);
  } else {
    table = TableOfSizes(to, sizes, bins);
  }
  const Tensor binned = to.Gather(elements, table.positions, {.axis = first});
  const Tensor values = to.ReduceMax(binned, to.ConstantInts({first + 1}), {.keepdims = 0});
  const Tensor starts = to.Mul(Iota(to, table.bins), to.Number(table.elements));
  const Tensor at = to.Add(to.ArgMax(binned, {.axis = first + 1, .keepdims = 0}), starts);
  const Tensor flat_table = to.ReshapeTo(table.positions, Dims{to.Times(table.bins, table.elements)});
  return {to.ReshapeTo(values, result), to.ReshapeTo(to.Gather(flat_table, at), result)};
}

constexpr OpRow kRows[] = {
    Op<AdaptiveMaxPool<1>>("aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)"),
    Op<AdaptiveMaxPool<2>>("aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)"),
    Op<AdaptiveMaxPool<3>>("aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)"),
    Op<Col2im>("aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, "
               "int[2] stride) -> Tensor"),
    Op<Im2col>(
        "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"),
    Op<MaxUnpool2d>("aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor"),
    Op<MaxUnpool3d>("aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] "
                    "padding) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Patches() { return kRows; }

}  // namespace flambeau::lower
