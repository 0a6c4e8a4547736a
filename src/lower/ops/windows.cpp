#include "lower/ops/windows.h"

#include <numeric>

#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/pooling.h"
#include "onnx/complex.h"
#include "onnx/runtime_kernels.h"

namespace flambeau::lower {
namespace {

Dims SpatialSizes(const Tensor& tensor) {
  const Dims sizes = tensor.sizes();
  return {sizes.begin() + 2, sizes.end()};
}

// x[…, size, …] to x[…, (size - 1)·step + 1, …] with zeros between.
Tensor Spread(Lowering& to, Tensor x, int64_t axis, Dim step) {
  if (to.AsConstant(step) == 1) return x;
  const Dim size = x.size(axis);
  Dims pads(2 * static_cast<size_t>(x.rank() + 1), to.Of(0));
  pads[static_cast<size_t>(2 * x.rank() + 1 - (x.rank() - 1 - axis))] = to.Minus(step, to.Of(1));
  const Tensor padded = to.Pad(to.UnsqueezeAt(x, {axis + 1}), to.Shape1(pads), to.NumberOf(0, x.dtype()));
  Dims sizes = x.sizes();
  sizes[static_cast<size_t>(axis)] = to.Times(size, step);
  const Dim left_out = to.Minus(to.Of(1), step);  // from the end; of a step of 1 there would be nothing
  const Dim end = to.AsConstant(step) ? left_out : to.Plus(sizes[static_cast<size_t>(axis)], left_out);
  return SliceRange(to, to.ReshapeTo(padded, sizes), axis, to.Of(0), end, to.Of(1));
}

// extent of a dilated kernel: dilation · (kernel - 1) + 1
Dim Extent(Lowering& to, Dim kernel, Dim dilation) {
  return to.Plus(to.Times(to.Minus(kernel, to.Of(1)), dilation), to.Of(1));
}

}  // namespace

bool NeedsWindows(const Lowering& to, const Tensor& input, std::string_view op) {
  const DType dtype = RealDtype(input);
  if (!IsFloating(dtype)) return true;
  return dtype == DType::kFloat64 && to.widens_for_runtime() && !onnx::RuntimeSupports(op, to.opset(), "T", DType::kFloat64);
}

Tensor PadSpatial(Lowering& to, Tensor x, const Dims& pads) {
  if (to.AsConstants(pads) == Ints(pads.size(), 0)) return x;
  const auto spatial = static_cast<std::ptrdiff_t>(pads.size() / 2);
  Dims all{to.Of(0), to.Of(0)};
  all.insert(all.end(), pads.begin(), pads.begin() + spatial);
  all.insert(all.end(), 2, to.Of(0));
  all.insert(all.end(), pads.begin() + spatial, pads.end());
  return to.Pad(x, to.Shape1(all), to.NumberOf(0, x.dtype()));
}

Tensor WindowsOf(Lowering& to, Tensor x, const WindowShape& shape, const Dims& counts) {
  const size_t spatial = counts.size();
  for (size_t i = 0; i < spatial; ++i) {
    const Tensor begin = to.Mul(Iota(to, counts[i]), to.Number(shape.stride[i]));
    const Tensor within = to.Mul(Iota(to, shape.kernel[i]), to.Number(shape.dilation[i]));
    x = to.Gather(x, to.Add(to.UnsqueezeAt(begin, {1}), within), {.axis = static_cast<int64_t>(2 + 2 * i)});
  }
  Ints order{0, 1};
  for (size_t half = 0; half < 2; ++half)
    for (size_t i = 0; i < spatial; ++i) order.push_back(static_cast<int64_t>(2 + 2 * i + half));
  return to.Permute(x, order);
}

Tensor ConvolveWindows(Lowering& to, Tensor input, Tensor weight, const Tensor& bias, const WindowConvolution& how) {
  const Dims kernel = SpatialSizes(weight);
  const size_t spatial = kernel.size();
  const Tensor x = PadSpatial(to, input, how.pads);
  Dims counts;
  Dim elements = weight.size(1);
  for (size_t i = 0; i < spatial; ++i) {
    counts.push_back(PooledSize(to, x.size(static_cast<int64_t>(2 + i)), Extent(to, kernel[i], how.dilation[i]), how.stride[i], to.Of(0), false));
    elements = to.Times(elements, kernel[i]);
  }
  // (batch, groups, channels of one, windows…, elements…) to (batch, groups, windows, channels · elements).
  const Tensor windows = WindowsOf(to, x, {kernel, how.stride, how.dilation}, counts);
  const Dim window_count = to.Product(counts), groups = to.Of(how.groups);
  Dims split{x.size(0), groups, weight.size(1), window_count, to.Product(kernel)};
  const Tensor rows = to.ReshapeTo(to.Permute(to.ReshapeTo(windows, split), {0, 1, 3, 2, 4}),
                                   Dims{x.size(0), groups, window_count, elements});
  const Dim per_group{to.exprs().FloorDiv(weight.size(0).expr, groups.expr)};
  const Tensor columns = to.Permute(to.ReshapeTo(weight, Dims{groups, per_group, elements}), {0, 2, 1});
  Dims sizes{x.size(0), weight.size(0)};
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  const Tensor product = to.ReshapeTo(to.Permute(to.MatMul(rows, columns), {0, 1, 3, 2}), sizes);
  if (!bias) return product;
  Ints trailing(spatial);
  std::iota(trailing.begin(), trailing.end(), 1);
  return to.Add(product, to.UnsqueezeAt(bias, trailing));
}

Tensor ConvolveWindowsTransposed(Lowering& to, Tensor input, Tensor weight, const Tensor& bias, const Dims& stride,
                                  const Dims& padding, const Dims& output_padding, const Dims& dilation,
                                  int64_t groups) {
  const Dims kernel = SpatialSizes(weight);
  const size_t spatial = kernel.size();
  Tensor x = input;
  Dims pads(2 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    x = Spread(to, x, static_cast<int64_t>(2 + i), stride[i]);
    pads[i] = to.Minus(Extent(to, kernel[i], dilation[i]), to.Plus(padding[i], to.Of(1)));
    pads[spatial + i] = to.Plus(pads[i], output_padding[i]);
  }
  // (in, out / groups, kernel…) to (out, in / groups, kernel…), turned around.
  const Dim in_group{to.exprs().FloorDiv(weight.size(0).expr, to.exprs().Constant(groups))};
  Dims grouped{to.Of(groups), in_group, weight.size(1)}, sizes{to.Times(weight.size(1), to.Of(groups)), in_group};
  Ints order{0, 2, 1};
  for (size_t i = 0; i < spatial; ++i) {
    grouped.push_back(kernel[i]);
    sizes.push_back(kernel[i]);
    order.push_back(static_cast<int64_t>(3 + i));
  }
  Tensor turned = to.ReshapeTo(to.Permute(to.ReshapeTo(weight, grouped), order), sizes);
  for (size_t i = 0; i < spatial; ++i)
    turned = SliceRange(to, turned, static_cast<int64_t>(2 + i), to.Of(-1), to.Of(INT64_MIN), to.Of(-1));
  return ConvolveWindows(to, x, turned, bias, {Dims(spatial, to.Of(1)), pads, dilation, groups});
}

}  // namespace flambeau::lower
