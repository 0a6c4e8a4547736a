#include "lower/ops/linalg/matrices.h"

#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/views.h"
#include "onnx/complex.h"

namespace flambeau::lower {

Tensor Transposed(Lowering& to, Tensor matrix) { return TransposeInt(to, matrix, -2, -1); }
Tensor Adjoint(Lowering& to, Tensor matrix) { return Transposed(to, Conj(to, matrix)); }

Tensor RowAt(Lowering& to, Tensor matrix, Tensor k) { return to.Gather(matrix, k, {.axis = matrix.rank() - 2}); }
Tensor ColumnAt(Lowering& to, Tensor matrix, Tensor k) { return to.Gather(matrix, k, {.axis = matrix.rank() - 1}); }
Tensor ElementAt(Lowering& to, Tensor vector, Tensor k) { return to.Gather(vector, k, {.axis = vector.rank() - 1}); }

Tensor PickRow(Lowering& to, Tensor matrix, Tensor index) {
  Dims sizes = matrix.sizes();
  sizes[sizes.size() - 2] = to.Of(1);
  const Tensor row = to.GatherElements(matrix, to.ExpandTo(AsColumn(to, index), sizes), {.axis = matrix.rank() - 2});
  return to.SqueezeAt(row, {matrix.rank() - 2});
}
Tensor Pick(Lowering& to, Tensor vector, Tensor index) {
  return to.GatherElements(vector, index, {.axis = vector.rank() - 1});
}

Tensor BesideDiagonal(Lowering& to, Tensor matrix) {
  const Tensor rows = Iota(to, matrix.size(-1)), last = to.Sub(to.Number(matrix.size(-1)), to.ConstantInt(1));
  const Tensor next = to.Min({to.Add(rows, to.ConstantInt(1)), last});
  const int64_t axis = matrix.rank() - 1;
  const Tensor picked = to.GatherElements(matrix, to.ExpandTo(to.UnsqueezeAt(next, {1}), WithSize(matrix.sizes(), axis, to.Of(1))), {.axis = axis});
  return OnlyWhere(to, to.Not(to.Equal(next, rows)), to.SqueezeAt(picked, {axis}));
}

Tensor Exchanged(Lowering& to, Tensor indices, Tensor i, Tensor j) {
  return to.Where(to.Equal(indices, i), j, to.Where(to.Equal(indices, j), i, indices));
}

Tensor Any(Lowering& to, Tensor condition) {
  const Tensor count = to.ReduceSum(to.CastTo(condition, DType::kInt64), {}, {.keepdims = 0});
  return to.Greater(count, to.ConstantInt(0));
}

Tensor PivotSize(Lowering& to, Tensor x) {
  if (!x.is_complex()) return to.Abs(x);
  return to.Add(to.Abs(RealPart(to, x)), to.Abs(ImaginaryPart(to, x)));
}

Tensor Hypotenuse(Lowering& to, Tensor x, Tensor y) { return to.Sqrt(to.Add(to.Mul(x, x), to.Mul(y, y))); }

Tensor AsColumn(Lowering& to, Tensor vector) { return to.UnsqueezeAt(vector, {vector.rank()}); }
Tensor AsRow(Lowering& to, Tensor vector) { return to.UnsqueezeAt(vector, {vector.rank() - 1}); }

Tensor Wide(Lowering& to, Tensor matrix) {
  return to.CastTo(matrix, matrix.is_complex() ? DType::kComplex128 : DType::kFloat64);
}

Tensor RealRows(Lowering& to, Tensor rows) {
  if (!rows.is_complex()) return rows;
  const onnx::Parts parts = onnx::PartsOf(to, rows);
  return to.Concat({parts.re, parts.im}, {.axis = rows.rank() - 1});
}
Tensor RowsLike(Lowering& to, Tensor real_rows, const Tensor& rows) {
  if (!rows.is_complex()) return real_rows;
  const int64_t last = rows.rank() - 1;
  const Dim middle = rows.size(last), end = to.Times(middle, to.Of(2));
  auto part = [&](Dim from, Dim until) { return Sized(to, to.SliceAxis(real_rows, last, from, until), rows.sizes()); };
  return onnx::ComplexOf(to, {part(to.Of(0), middle), part(middle, end)});
}

Dims BatchSizes(const Tensor& matrix) {
  Dims sizes = matrix.sizes();
  sizes.resize(sizes.size() - 2);
  return sizes;
}

Dim SmallerSide(Lowering& to, const Tensor& matrix) {
  return {to.exprs().Min(matrix.size(-2).expr, matrix.size(-1).expr)};
}

Tensor FirstRows(Lowering& to, Tensor matrix, Dim count) {
  if (matrix.size(-2) == count) return matrix;
  return Sized(to, to.SliceAxis(matrix, matrix.rank() - 2, to.Of(0), count), WithSize(matrix.sizes(), matrix.rank() - 2, count));
}
Tensor FirstColumns(Lowering& to, Tensor matrix, Dim count) {
  if (matrix.size(-1) == count) return matrix;
  return Sized(to, to.SliceAxis(matrix, matrix.rank() - 1, to.Of(0), count), WithSize(matrix.sizes(), matrix.rank() - 1, count));
}

Tensor DiagonalOf(Lowering& to, Tensor matrix) {
  const Dim side = SmallerSide(to, matrix);
  const Tensor square = FirstColumns(to, FirstRows(to, matrix, side), side);
  const Tensor positions = AsColumn(to, Iota(to, side));
  Dims sizes = BatchSizes(matrix);
  sizes.insert(sizes.end(), {side, to.Of(1)});
  const Tensor gathered = to.GatherElements(square, to.ExpandTo(positions, sizes), {.axis = matrix.rank() - 1});
  sizes.pop_back();
  return Sized(to, to.SqueezeAt(gathered, {matrix.rank() - 1}), sizes);
}

Tensor IdentityMatrix(Lowering& to, Dim rows, Dim columns, DType dtype) {
  return to.CastTo(DiagonalMask(to, rows, columns, to.Of(0)), dtype);
}

Tensor IdentityMatrices(Lowering& to, const Dims& batch, Dim rows, Dim columns, DType dtype) {
  Dims sizes = batch;
  sizes.insert(sizes.end(), {rows, columns});
  return to.ExpandTo(IdentityMatrix(to, rows, columns, dtype), sizes);
}

Tensor OnlyWhere(Lowering& to, Tensor condition, Tensor x) {
  return to.Where(condition, x, to.NumberOf(0.0, x.dtype()));
}

Tensor LowerTriangle(Lowering& to, Tensor matrix, bool diagonal) {
  return to.Trilu(matrix, to.ConstantInt(diagonal ? 0 : -1), {.upper = 0});
}
Tensor UpperTriangle(Lowering& to, Tensor matrix, bool diagonal) {
  return to.Trilu(matrix, to.ConstantInt(diagonal ? 0 : 1), {.upper = 1});
}

Tensor SafeDiv(Lowering& to, Tensor x, Tensor y) {
  return to.Div(x, to.Where(to.Equal(y, to.NumberOf(0.0, y.dtype())), to.NumberOf(1.0, y.dtype()), y));
}

}  // namespace flambeau::lower
