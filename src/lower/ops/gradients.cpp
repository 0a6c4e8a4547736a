// Operators that autograd calls and that programs write out, and numerical gradients.
#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/arithmetic.h"
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

// Differences between neighbours inside, one-sided ones of first or second order at both ends; in PyTorch's steps, of
// which those between integers wrap.
class GradientAlong {
 public:
  GradientAlong(Lowering& to, Tensor x, int64_t axis, int64_t edge_order) : to_(to), x_(x), axis_(axis), edge_order_(edge_order) {}

  Tensor AtDistance(const Scalar& distance) {
    const Tensor step = Number(distance);
    const Tensor two = Number(Scalar(int64_t{2}));
    const Tensor inner = Div(to_, Div(to_, Minus(At(2, kEnd), At(0, -2)), step), two);
    if (edge_order_ == 1) return Joined(Div(to_, First(), step), inner, Div(to_, Last(), step));
    auto twice = [&](const Tensor& x) { return Times(x, two); };
    auto times = [&](const Tensor& x, double factor) { return Times(x, Number(Scalar(factor))); };
    const Tensor begin = Minus(Plus(times(At(0, 1), -1.5), twice(At(1, 2))), times(At(2, 3), 0.5));
    const Tensor end = Plus(Minus(times(At(-3, -2), 0.5), twice(At(-2, -1))), times(At(-1, kEnd), 1.5));
    return Joined(Div(to_, begin, step), inner, Div(to_, end, step));
  }

  Tensor AtCoordinates(const Tensor& coordinates) {
    const Tensor gaps = Minus(Part(coordinates, 0, 1, kEnd), Part(coordinates, 0, 0, -1));
    auto between = [&](int64_t begin, int64_t end) { return Along(to_, Part(gaps, 0, begin, end), axis_, x_.rank()); };
    auto gap = [&](int64_t index) { return to_.SqueezeAt(Part(gaps, 0, index, index == -1 ? kEnd : index + 1), {0}); };
    const Tensor left = between(0, -1), right = between(1, kEnd);
    const Tensor inner = Weighted(At(0, -2), Div(to_, to_.Neg(right), Rest(left, right)),  //
                                  At(1, -1), Div(to_, Minus(right, left), Times(left, right)),  //
                                  At(2, kEnd), Div(to_, left, Rest(right, left)));
    if (edge_order_ == 1) return Joined(Div(to_, First(), gap(0)), inner, Div(to_, Last(), gap(-1)));
    const Tensor a = gap(0), b = gap(1), c = gap(-2), d = gap(-1);
    const Tensor begin = Weighted(At(0, 1), Div(to_, to_.Neg(Plus(Plus(a, a), b)), Rest(a, b)),  //
                                  At(1, 2), Div(to_, Plus(a, b), Times(a, b)),  //
                                  At(2, 3), Div(to_, to_.Neg(a), Rest(b, a)));
    const Tensor end = Weighted(At(-3, -2), Div(to_, d, Rest(c, d)),  //
                                At(-2, -1), Div(to_, to_.Neg(Plus(c, d)), Times(c, d)),  //
                                At(-1, kEnd), Div(to_, Plus(Plus(d, d), c), Rest(d, c)));
    return Joined(begin, inner, end);
  }

 private:
  static constexpr int64_t kEnd = INT64_MAX;

  Tensor Number(const Scalar& number) { return internal::AsResult(to_, number); }
  Tensor Part(const Tensor& tensor, int64_t dim, int64_t begin, int64_t end) {
    return SliceRange(to_, tensor, dim, to_.Of(begin), to_.Of(end), to_.Of(1));
  }
  Tensor At(int64_t begin, int64_t end) { return Part(x_, axis_, begin, end); }
  Tensor Plus(const Tensor& a, const Tensor& b) { return Add(to_, a, b, Scalar(int64_t{1})); }
  Tensor Minus(const Tensor& a, const Tensor& b) { return Sub(to_, a, b, Scalar(int64_t{1})); }
  Tensor Times(const Tensor& a, const Tensor& b) { return Mul(to_, a, b); }
  Tensor First() { return Minus(At(1, 2), At(0, 1)); }
  Tensor Last() { return Minus(At(-1, kEnd), At(-2, -1)); }
  // a (a + b), of two gaps side by side.
  Tensor Rest(const Tensor& a, const Tensor& b) { return Times(a, Plus(a, b)); }
  Tensor Weighted(const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& b, const Tensor& z, const Tensor& c) {
    return Plus(Plus(Times(a, x), Times(b, y)), Times(c, z));
  }
  Tensor Joined(const Tensor& begin, const Tensor& inner, const Tensor& end) {
    const DType dtype = to_.PromotedDtype({begin, inner, end});
    return to_.Concat({to_.CastTo(begin, dtype), to_.CastTo(inner, dtype), to_.CastTo(end, dtype)}, {.axis = axis_});
  }

  Lowering& to_;
  Tensor x_;
  int64_t axis_, edge_order_;
};

TensorList GradientOver(Lowering& to, Tensor self, const std::optional<Ints>& dims, const std::vector<Spacing>& spacing,
                        int64_t edge_order) {
  if (spacing.empty()) throw onnx::BadOperand("takes distances between elements");
  Ints axes;
  if (dims) axes = to.Axes(*dims, self);
  for (int64_t axis = 0; !dims && axis < self.rank(); ++axis) axes.push_back(axis);
  TensorList results;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Spacing& along = spacing[std::min(i, spacing.size() - 1)];
    GradientAlong gradient(to, self, axes[i], edge_order);
    results.push_back(along.coordinates ? gradient.AtCoordinates(along.coordinates) : gradient.AtDistance(along.distance));
  }
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
