#include "lower/ops/open_windows.h"

#include "lower/ops/geometry.h"
#include "lower/ops/pooling.h"
#include "lower/ops/spatial.h"

namespace flambeau::lower {
namespace {

// The windows along one axis.
struct Along {
  int64_t axis;
  Dim size, kernel, stride, padding, dilation, count;
};

Along AlongAxis(Lowering& to, const Tensor& x, const OpenWindow& window, size_t i) {
  const int64_t axis = x.rank() - static_cast<int64_t>(window.kernel.size() - i);
  Along along{axis, x.size(axis), window.kernel[i], window.stride[i], window.padding[i], window.dilation[i], {}};
  const Dim extent = to.Plus(to.Times(to.Minus(along.kernel, to.Of(1)), along.dilation), to.Of(1));
  along.count = PooledSize(to, along.size, extent, along.stride, along.padding, window.ceil_mode);
  return along;
}

// Where the windows begin, the padding included.
Tensor Begins(Lowering& to, const Along& along) { return to.Mul(Iota(to, along.count), to.Number(along.stride)); }

bool PadsNothing(Lowering& to, const Along& along, bool ceil_mode) { return !ceil_mode && to.AsConstant(along.padding) == 0; }

// The axis becomes two: windows, and the elements of each. `value` stands around the input.
Tensor ElementsAlong(Lowering& to, Tensor x, const Along& along, bool ceil_mode, const Scalar& value) {
  if (!PadsNothing(to, along, ceil_mode)) {
    const Dim covered = to.Plus(to.Times(to.Minus(along.count, to.Of(1)), along.stride),
                                to.Plus(to.Times(to.Minus(along.kernel, to.Of(1)), along.dilation), to.Of(1)));
    Dims pads(2 * static_cast<size_t>(x.rank()), to.Of(0));
    pads[static_cast<size_t>(along.axis)] = along.padding;
    const Expr missing = to.Minus(covered, to.Plus(along.size, along.padding)).expr;
    pads[static_cast<size_t>(x.rank() + along.axis)] = {to.exprs().Max(missing, to.Of(0).expr)};
    x = to.Pad(x, to.Shape1(pads), to.NumberOf(value, x.dtype()));
  }
  const Tensor within = to.Mul(Iota(to, along.kernel), to.Number(along.dilation));
  return to.Gather(x, to.Add(to.UnsqueezeAt(Begins(to, along), {1}), within), {.axis = along.axis});
}

// How many elements each window has, of the input or of its padding as well; beside axes of 1.
Tensor CountsAlong(Lowering& to, const Tensor& x, const Along& along, bool count_include_pad) {
  const Tensor padding = to.Number(along.padding), begin = to.Sub(Begins(to, along), padding);
  const Tensor limit = to.Number(count_include_pad ? to.Plus(along.size, along.padding) : along.size);
  const Tensor end = to.Min({to.Add(begin, to.Number(along.kernel)), limit});
  const Tensor counts = to.Sub(end, count_include_pad ? begin : to.Max({begin, to.ConstantInt(0)}));
  Ints trailing;
  for (int64_t axis = 1; axis < x.rank() - along.axis; ++axis) trailing.push_back(axis);
  return to.UnsqueezeAt(to.CastTo(counts, x.dtype()), trailing);
}

void RequireAxes(const Tensor& x, const OpenWindow& window) {
  const auto spatial = static_cast<int64_t>(window.kernel.size());
  if (x.rank() < spatial) onnx::ThrowNoAxis(-spatial, x.rank());
}

}  // namespace

OpenWindow OpenWindowOf(Lowering& to, int64_t spatial, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation,
                        bool ceil_mode) {
  const Dims all = StepsPerAxis(to, kernel, spatial);
  return {all, stride.empty() ? all : StepsPerAxis(to, stride, spatial), PerAxis(padding, spatial), StepsPerAxis(to, dilation, spatial), ceil_mode};
}

Tensor MaxPoolByAxes(Lowering& to, Tensor x, const OpenWindow& window) {
  RequireAxes(x, window);
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const Along along = AlongAxis(to, x, window, i);
    const Tensor elements = ElementsAlong(to, x, along, window.ceil_mode, LeastOf(x.dtype()));
    x = to.ReduceMax(elements, to.ConstantInts({along.axis + 1}), {.keepdims = 0});
  }
  return x;
}

// The sums, divided by the number of elements in a window, or by `divisor`.
Tensor AveragePoolByAxes(Lowering& to, Tensor x, const OpenWindow& window, bool count_include_pad, std::optional<int64_t> divisor) {
  RequireAxes(x, window);
  Tensor counts = to.NumberOf(divisor.value_or(1), x.dtype());
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const Along along = AlongAxis(to, x, window, i);
    if (!divisor) {
      const bool full = PadsNothing(to, along, window.ceil_mode);
      counts = to.Mul(counts, full ? to.CastTo(to.Number(along.kernel), x.dtype()) : CountsAlong(to, x, along, count_include_pad));
    }
    const Tensor elements = ElementsAlong(to, x, along, window.ceil_mode, Scalar(0));
    x = to.ReduceSum(elements, to.ConstantInts({along.axis + 1}), {.keepdims = 0});
  }
  return to.Div(x, counts);
}

}  // namespace flambeau::lower
