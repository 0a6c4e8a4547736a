// PyTorch's primitives that no single operator of ATen is; the others are rows of aten/equivalents.def.
#include "lower/op.h"
#include "lower/ops/arithmetic.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/random.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {
namespace {

// Dimension i of the operand is dimension `broadcast_dimensions[i]` of the result.
Tensor BroadcastInDim(Lowering& to, Tensor a, Dims shape, Ints broadcast_dimensions) {
  if (std::ssize(broadcast_dimensions) != a.rank())
    throw onnx::BadOperand("takes a dimension of the result for each of the operand");
  Dims aligned(shape.size(), to.Of(1));
  for (int64_t i = 0; i < a.rank(); ++i) {
    const int64_t at = broadcast_dimensions[i];
    if (at < 0 || at >= std::ssize(shape)) throw onnx::BadOperand("takes dimensions of the result");
    aligned[at] = a.size(i);
  }
  return to.ExpandTo(to.ReshapeTo(a, aligned), shape);
}

Tensor SplitDim(Lowering& to, Tensor a, int64_t dim, Dim outer_length) {
  if (a.rank() == 0) onnx::ThrowNoAxis(dim, 0);
  const int64_t axis = to.Axis(dim, a);
  Dims sizes = a.sizes();
  sizes.insert(sizes.begin() + axis + 1, Dim{to.exprs().FloorDiv(sizes[axis].expr, outer_length.expr)});
  sizes[axis] = outer_length;
  return to.ReshapeTo(a, sizes);
}

Tensor IotaPrim(Lowering& to, Dim length, Dim start, Dim step, DType dtype, Unused, Unused) {
  const Tensor first = to.NumberOf(Scalar(start), DType::kInt64), delta = to.NumberOf(Scalar(step), DType::kInt64);
  const Tensor end = to.Add(first, to.Mul(to.Number(length), delta));
  return to.CastTo(to.Range(first, end, delta), dtype);
}

// True for floats, cut towards zero for integers.
Tensor DivPrim(Lowering& to, Tensor self, Tensor other) {
  if (self.is_floating() || self.is_complex()) return Div(to, self, other);
  return Binary<"Div">(to, self, other);
}

Tensor Cbrt(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self);
  return Copysign(to, Pow(to, to.Abs(x), to.NumberOf(1.0 / 3, x.dtype())), x);
}

Tensor ProdPrim(Lowering& to, Tensor inp, std::optional<Ints> dims, std::optional<DType> output_dtype) {
  Ints axes = ReducedAxes(to, inp, dims);
  if (dims && dims->empty()) axes.clear();
  Tensor product = to.CastTo(inp, output_dtype.value_or(inp.dtype()));
  for (size_t i = axes.size(); i-- > 0;) product = ProdDim(to, product, axes[i], false, product.dtype());
  return product;
}

Tensor UniformPrim(Lowering& to, Dims shape, Scalar low, Scalar high, DType dtype, Unused, Dims, Unused) {
  const Tensor from = to.NumberOf(low, dtype), width = to.Sub(to.NumberOf(high, dtype), from);
  return to.Add(to.Mul(RandomUniform(to, shape, dtype), width), from);
}

constexpr OpRow kRows[] = {
    Op<BroadcastInDim>("prims::broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)"),
    Op<Cbrt>("prims::cbrt(Tensor self) -> Tensor"),
    Op<DivPrim>("prims::div(Tensor self, Tensor other) -> Tensor"),
    Op<IotaPrim>("prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor"),
    Op<ProdPrim>("prims::prod(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor"),
    Op<SplitDim>("prims::split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)"),
    Op<UniformPrim>("prims::uniform(SymInt[] shape, *, Scalar low, Scalar high, ScalarType dtype, Device device, SymInt[] stride, "
                    "Generator? generator=None) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Primitives() { return kRows; }

}  // namespace flambeau::lower
