// Pools to a given size: bin i of o covers floor(i·n/o) to ceil((i+1)·n/o).
#include <algorithm>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/spatial.h"
#include "lower/ops/windows.h"

namespace flambeau::lower {
namespace {

// A matrix (size, bins) of the weights with which elements enter the mean of a
// bin. A constant if both are known.
Tensor AveragingMatrix(Lowering& to, Dim bins, Dim size, DType dtype) {
  const auto o = to.AsConstant(bins), n = to.AsConstant(size);
  if (o && n && *o * *n <= (1 << 20)) {
    std::vector<double> weights(static_cast<size_t>(*o * *n));
    for (int64_t i = 0; i < *o; ++i) {
      const int64_t begin = i * *n / *o, end = ((i + 1) * *n + *o - 1) / *o;
      for (int64_t j = begin; j < end; ++j)
        weights[static_cast<size_t>(j * *o + i)] = 1.0 / static_cast<double>(end - begin);
    }
    return to.ConstantFloats(weights, dtype, Ints{*n, *o});
  }
  const Tensor one = to.ConstantInt(1), total = to.Number(size);
  const Tensor count = to.Number(AtLeastOne(to, bins));
  auto range = [&](Dim limit) { return to.Range(to.ConstantInt(0), to.Number(limit), one); };
  const Tensor bin = range(bins), element = to.UnsqueezeAt(range(size), {1});
  const Tensor begin = to.Div(to.Mul(bin, total), count);
  const Tensor end = to.Div(to.Add(to.Mul(to.Add(bin, one), total), to.Sub(count, one)), count);
  const Tensor inside = to.And(to.GreaterOrEqual(element, begin), to.Less(element, end));
  return to.Div(to.CastTo(inside, dtype), to.CastTo(to.Sub(end, begin), dtype));
}

Tensor MoveToLast(Lowering& to, Tensor x, int64_t axis) {
  Ints permutation;
  for (int64_t i = 0; i < x.rank(); ++i) permutation.push_back(i);
  std::swap(permutation[static_cast<size_t>(axis)], permutation.back());
  return to.Permute(x, permutation);
}

// Averages along one axis by one product of matrices: onnxruntime multiplies no batch of no matrices, and is slower over
// a batch of small ones. It would merge the transposition into the product, and have a batch again, but for the Flatten.
Tensor AverageAxis(Lowering& to, Tensor x, int64_t axis, Dim bins) {
  const Tensor matrix = AveragingMatrix(to, bins, x.size(axis), x.dtype());
  const int64_t last = x.rank() - 1;
  if (axis == last) return to.MatMul(x, matrix);
  const Tensor moved = MoveToLast(to, x, axis);
  Dims sizes = moved.sizes();
  sizes.back() = bins;
  return MoveToLast(to, to.ReshapeTo(to.MatMul(to.Flatten(moved, {.axis = last}), matrix), sizes), axis);
}

template <int64_t kSpatial>
Tensor AdaptiveAvgPool(Lowering& to, Tensor self, Dims output_size) {
  if (output_size.empty()) throw onnx::BadOperand("takes the sizes of its result");
  if (output_size.size() == 1) output_size.resize(kSpatial, output_size[0]);
  if (self.rank() < kSpatial) onnx::ThrowNoAxis(-kSpatial, self.rank());
  const int64_t first = self.rank() - kSpatial;
  auto is_one = [&](Dim dim) { return to.AsConstant(dim) == 1; };
  if (std::all_of(output_size.begin(), output_size.end(), is_one)) {
    // The global pool is the faster one; onnxruntime's has no float64 kernel, and wants channels.
    const bool has_channels = first == 2 && to.exprs().RangeOf(self.size(1).expr).min > 0;
    if (has_channels && self.dtype() != DType::kFloat64) return to.GlobalAveragePool(self);
    Ints axes;
    for (int64_t axis = first; axis < self.rank(); ++axis) axes.push_back(axis);
    return to.ReduceMean(self, to.ConstantInts(axes));
  }
  // Bins of one size are windows.
  Ints windows;
  Tensor x = self;
  for (int64_t i = 0; i < kSpatial; ++i) {
    const auto n = to.AsConstant(self.size(first + i)), o = to.AsConstant(output_size[static_cast<size_t>(i)]);
    if (self.size(first + i) == output_size[static_cast<size_t>(i)]) windows.push_back(1);
    if (n && o && *o > 0 && *n > 0 && *n != *o && *n % *o == 0) windows.push_back(*n / *o);
  }
  if (windows == Ints(kSpatial, 1)) return self;
  if (windows.size() == kSpatial && !NeedsWindows(to, self, "AveragePool")) {
    const Batched batched(to, self, kSpatial);
    return batched.Undo(to.AveragePool(batched.tensor(), {.kernel_shape = windows, .strides = windows}));
  }
  // onnxruntime multiplies no batch of no matrices.
  const Dims sizes = self.sizes();
  if (std::any_of(sizes.begin(), sizes.end(), [&](Dim size) { return to.AsConstant(size) == 0; })) {
    Dims result = sizes;
    std::copy(output_size.begin(), output_size.end(), result.begin() + first);
    return to.Full(result, 0.0, self.dtype());
  }
  for (int64_t axis = self.rank() - 1; axis >= first; --axis) {
    const Dim bins = output_size[static_cast<size_t>(axis - first)];
    if (x.size(axis) == bins) continue;
    x = is_one(bins) ? to.ReduceMean(x, to.ConstantInts({axis})) : AverageAxis(to, x, axis, bins);
  }
  return x;
}

constexpr OpRow kRows[] = {
    Op<AdaptiveAvgPool<2>>("aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor"),
    Op<AdaptiveAvgPool<3>>("aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor"),
    Op<AdaptiveAvgPool<1>>("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor"),
    Op<AdaptiveAvgPool<2>>("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor"),
    Op<AdaptiveAvgPool<3>>("aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor"),
};

}  // namespace

std::span<const OpRow> AdaptivePooling() { return kRows; }

}  // namespace flambeau::lower
