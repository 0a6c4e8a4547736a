// Operators that autograd calls and that programs write out, and numerical gradients.
#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/geometry.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {
namespace {

Tensor SoftmaxBackward(Lowering& to, Tensor grad_output, Tensor output, int64_t dim, DType input_dtype) {
  const DType wide = AccumulationDtype(output.dtype());
  const Tensor result = to.CastTo(output, wide), product = to.Mul(to.CastTo(grad_output, wide), result);
  const Tensor sum = Sum(to, product, Ints{dim}, true, std::nullopt);
  return to.CastTo(to.Sub(product, to.Mul(result, sum)), input_dtype);
}

Tensor LogSoftmaxBackward(Lowering& to, Tensor grad_output, Tensor output, int64_t dim, DType input_dtype) {
  const DType wide = AccumulationDtype(output.dtype());
  const Tensor gradient = to.CastTo(grad_output, wide), sum = Sum(to, gradient, Ints{dim}, true, std::nullopt);
  return to.CastTo(to.Sub(gradient, to.Mul(to.Exp(to.CastTo(output, wide)), sum)), input_dtype);
}

Tensor NativeDropoutBackward(Lowering& to, Tensor grad_output, Tensor mask, double scale) {
  const Tensor gradient = to.ToFloat(grad_output);
  return to.Mul(to.Mul(gradient, to.CastTo(mask, gradient.dtype())), to.NumberOf(scale, gradient.dtype()));
}

// With s = sigmoid(x): s + x·s·(1 - s).
Tensor SiluBackward(Lowering& to, Tensor grad_output, Tensor self) {
  const auto [dtype, gradient, x] = Promoted(to, grad_output, self);
  const DType wide = AccumulationDtype(dtype);
  const Tensor at = to.CastTo(x, wide), sigmoid = to.Sigmoid(at), one = to.NumberOf(1.0, wide);
  const Tensor slope = to.Mul(sigmoid, to.Add(one, to.Mul(at, to.Sub(one, sigmoid))));
  return to.CastTo(to.Mul(to.CastTo(gradient, wide), slope), dtype);
}

// With t = tanh(softplus(x)): t + x·sigmoid(x)·(1 - t²).
Tensor MishBackward(Lowering& to, Tensor grad_output, Tensor self) {
  const auto [dtype, gradient, x] = Promoted(to, grad_output, self);
  const DType wide = AccumulationDtype(dtype);
  const Tensor at = to.CastTo(x, wide), soft = to.Tanh(to.Softplus(at));
  const Tensor rest = to.Sub(to.NumberOf(1.0, wide), to.Mul(soft, soft));
  const Tensor slope = to.Add(soft, to.Mul(to.Mul(at, to.Sigmoid(at)), rest));
  return to.CastTo(to.Mul(to.CastTo(gradient, wide), slope), dtype);
}

Tensor HardtanhBackward(Lowering& to, Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) {
  const auto [dtype, gradient, x] = Promoted(to, grad_output, self);
  const Tensor inside = to.And(to.Less(to.NumberOf(min_val, dtype), x), to.Less(x, to.NumberOf(max_val, dtype)));
  const Tensor flat = to.Not(inside);
  return to.Where(to.And(flat, to.Not(to.IsNaN(x))), to.NumberOf(0.0, dtype), gradient);
}

// Gradients add up where windows chose the same element.
Tensor MaxPool2dBackward(Lowering& to, Tensor grad_output, Tensor self, Ints, Ints, Ints, Ints, bool, Tensor indices) {
  auto flat = [&](const Tensor& tensor) {
    if (tensor.rank() < 2) onnx::ThrowNoAxis(-2, tensor.rank());
    Dims sizes = tensor.sizes();
    const Dim columns = sizes.back();
    sizes.pop_back();
    sizes.back() = to.Times(sizes.back(), columns);
    return sizes;
  };
  const Tensor zeros = to.Full(flat(self), 0.0, self.dtype());
  const Dims windows = flat(grad_output);
  const Tensor sum = to.ScatterElements(zeros, to.ReshapeTo(indices, windows), to.ReshapeTo(grad_output, windows),
                                        {.axis = self.rank() - 2, .reduction = "add"});
  return to.ReshapeTo(sum, self.sizes());
}

// --- numerical gradients ---------------------------------------------------------

// What lies along an axis: a distance between neighbours, or coordinates.
struct Spacing {
  Scalar distance = Scalar(1.0);
  Tensor coordinates;
};

Tensor Along(Lowering& to, Tensor vector, int64_t axis, int64_t rank) {
  Ints trailing;
  for (int64_t i = axis + 1; i < rank; ++i) trailing.push_back(i - axis);
  return to.UnsqueezeAt(vector, trailing);
}

// Differences between neighbours inside, one-sided ones of first or second order at both ends.
Tensor GradientAlong(Lowering& to, Tensor x, int64_t axis, const Spacing& spacing, int64_t edge_order) {
  auto part = [&](Tensor tensor, int64_t dim, int64_t begin, int64_t end) {
    return SliceRange(to, tensor, dim, to.Of(begin), to.Of(end), to.Of(1));
  };
  auto at = [&](int64_t begin, int64_t end) { return part(x, axis, begin, end); };
  auto number = [&](double value) { return to.NumberOf(value, x.dtype()); };
  constexpr int64_t kEnd = INT64_MAX;
  // Distances between neighbours: to the left and to the right of the inner elements, and at the two ends.
  Tensor left, right, first, last, second, before_last;
  if (spacing.coordinates) {
    const Tensor c = to.CastTo(spacing.coordinates, x.dtype());
    const Tensor gaps = to.Sub(part(c, 0, 1, kEnd), part(c, 0, 0, -1));
    auto gap = [&](int64_t begin, int64_t end) { return Along(to, part(gaps, 0, begin, end), axis, x.rank()); };
    left = gap(0, -1), right = gap(1, kEnd);
    first = gap(0, 1), last = gap(-1, kEnd);
    if (edge_order == 2) second = gap(1, 2), before_last = gap(-2, -1);
  } else {
    left = right = first = last = second = before_last = to.ConstantOf(spacing.distance, x.dtype());
  }
  Tensor inner;
  if (spacing.coordinates) {
    // (a² (r - m) + b² (m - l)) / (a b (a + b)) for distances a to the left and b to the right.
    const Tensor rise = to.Mul(to.Mul(left, left), to.Sub(at(2, kEnd), at(1, -1)));
    const Tensor past = to.Mul(to.Mul(right, right), to.Sub(at(1, -1), at(0, -2)));
    inner = to.Div(to.Add(rise, past), to.Mul(to.Mul(left, right), to.Add(left, right)));
  } else {
    inner = to.Div(to.Sub(at(2, kEnd), at(0, -2)), to.Mul(left, number(2)));
  }
  Tensor begin, end;
  if (edge_order == 1) {
    begin = to.Div(to.Sub(at(1, 2), at(0, 1)), first);
    end = to.Div(to.Sub(at(-1, kEnd), at(-2, -1)), last);
  } else {
    // Through three points, at distances a and b from the end: its slope.
    auto slope = [&](Tensor p0, Tensor p1, Tensor p2, Tensor a, Tensor b) {
      const Tensor near = to.Div(to.Mul(to.Sub(p1, p0), to.Add(a, b)), to.Mul(a, b));
      const Tensor far = to.Div(to.Mul(to.Sub(p2, p0), a), to.Mul(b, to.Add(a, b)));
      return to.Sub(near, far);
    };
    begin = slope(at(0, 1), at(1, 2), at(2, 3), first, second);
    end = to.Neg(slope(at(-1, kEnd), at(-2, -1), at(-3, -2), last, before_last));
  }
  return to.Concat({begin, inner, end}, {.axis = axis});
}

TensorList GradientOver(Lowering& to, Tensor self, const std::optional<Ints>& dims, const std::vector<Spacing>& spacing,
                        int64_t edge_order) {
  if (spacing.empty()) throw onnx::BadOperand("takes distances between elements");
  Ints axes;
  if (dims) axes = to.Axes(*dims, self);
  for (int64_t axis = 0; !dims && axis < self.rank(); ++axis) axes.push_back(axis);
  const Tensor x = to.ToFloat(self);
  TensorList results;
  for (size_t i = 0; i < axes.size(); ++i)
    results.push_back(GradientAlong(to, x, axes[i], spacing[std::min(i, spacing.size() - 1)], edge_order));
  return results;
}

TensorList GradientOfScalar(Lowering& to, Tensor self, std::optional<Scalar> spacing, std::optional<int64_t> dim,
                            int64_t edge_order) {
  return GradientOver(to, self, One(dim), {{spacing.value_or(Scalar(1.0)), {}}}, edge_order);
}
TensorList GradientOfScalarDims(Lowering& to, Tensor self, Scalar spacing, Ints dim, int64_t edge_order) {
  return GradientOver(to, self, dim, {{spacing, {}}}, edge_order);
}
TensorList GradientDims(Lowering& to, Tensor self, Ints dim, int64_t edge_order) {
  return GradientOver(to, self, dim, {Spacing{}}, edge_order);
}
std::vector<Spacing> Distances(const Floats& spacing) {
  std::vector<Spacing> all;
  for (double distance : spacing) all.push_back({Scalar(distance), {}});
  return all;
}
TensorList GradientOfScalars(Lowering& to, Tensor self, Floats spacing, std::optional<int64_t> dim,
                             int64_t edge_order) {
  return GradientOver(to, self, One(dim), Distances(spacing), edge_order);
}
TensorList GradientOfScalarsDims(Lowering& to, Tensor self, Floats spacing, Ints dim, int64_t edge_order) {
  return GradientOver(to, self, dim, Distances(spacing), edge_order);
}
std::vector<Spacing> Coordinates(const TensorList& spacing) {
  std::vector<Spacing> all;
  for (const Tensor& coordinates : spacing) all.push_back({Scalar(1.0), coordinates});
  return all;
}
TensorList GradientOfTensors(Lowering& to, Tensor self, TensorList spacing, std::optional<int64_t> dim,
                             int64_t edge_order) {
  return GradientOver(to, self, One(dim), Coordinates(spacing), edge_order);
}
TensorList GradientOfTensorsDims(Lowering& to, Tensor self, TensorList spacing, Ints dim, int64_t edge_order) {
  return GradientOver(to, self, dim, Coordinates(spacing), edge_order);
}

constexpr OpRow kRows[] = {
    Op<LogSoftmaxBackward>("aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
                           "input_dtype) -> Tensor"),
    Op<SoftmaxBackward>(
        "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"),
    Op<GradientDims>("aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]"),
    Op<GradientOfScalarDims>(
        "aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]"),
    Op<GradientOfScalarsDims>(
        "aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]"),
    Op<GradientOfScalars>("aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int "
                          "edge_order=1) -> Tensor[]"),
    Op<GradientOfScalar>("aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int "
                         "edge_order=1) -> Tensor[]"),
    Op<GradientOfTensorsDims>(
        "aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]"),
    Op<GradientOfTensors>("aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int "
                          "edge_order=1) -> Tensor[]"),
    Op<MaxPool2dBackward>("aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
                          "int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor"),
    Op<HardtanhBackward>("aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor"),
    Op<MishBackward>("aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor"),
    Op<NativeDropoutBackward>("aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor"),
    Op<SiluBackward>("aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Gradients() { return kRows; }

}  // namespace flambeau::lower
