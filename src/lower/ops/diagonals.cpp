// Triangles and diagonals of matrices.
#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/reduction.h"
#include "lower/ops/indexing.h"
#include "lower/ops/views.h"

namespace flambeau::lower {
namespace {

Tensor Tril(Lowering& to, Tensor self, Dim diagonal) {
  const Tensor k = to.AsConstant(diagonal) == 0 ? Tensor() : to.Number(diagonal);
  return to.Trilu(self, k, {.upper = 0});
}
Tensor Triu(Lowering& to, Tensor self, Dim diagonal) {
  const Tensor k = to.AsConstant(diagonal) == 0 ? Tensor() : to.Number(diagonal);
  return to.Trilu(self, k, {.upper = 1});
}

// Coordinates of a triangle, row by row.
Tensor TriangleIndices(Lowering& to, Dim row, Dim col, Dim offset, bool upper, std::optional<DType> dtype) {
  const Tensor ones = to.Full(Dims{row, col}, true, DType::kBool);
  const Tensor triangle = to.Trilu(ones, to.Number(offset), {.upper = upper});
  return to.CastTo(NonZeroCoordinates(to, triangle), dtype.value_or(DType::kInt64));
}
Tensor TrilIndices(Lowering& to, Dim row, Dim col, Dim offset, std::optional<DType> dtype, Unused, Unused,
                   Unused) {
  return TriangleIndices(to, row, col, offset, false, dtype);
}
Tensor TriuIndices(Lowering& to, Dim row, Dim col, Dim offset, std::optional<DType> dtype, Unused, Unused,
                   Unused) {
  return TriangleIndices(to, row, col, offset, true, dtype);
}

// --- diagonals ------------------------------------------------------------------------

// In a row-major matrix its diagonal is every (columns + 1)-th element.
Tensor Diagonal(Lowering& to, Tensor self, Dim offset, int64_t dim1, int64_t dim2) {
  const Tensor matrices = MoveDims(to, self, {dim1, dim2}, {-2, -1});
  const Dim rows = matrices.size(-2), columns = matrices.size(-1);
  const Dim length = DiagonalLength(to, rows, columns, offset);
  Dims merged = matrices.sizes();
  merged.pop_back();
  merged.back() = to.Times(rows, columns);
  const int64_t axis = matrices.rank() - 2;
  if (to.AsConstant(length) == 0) return to.Full(WithSize(merged, axis, length), int64_t{0}, self.dtype());
  const Dim step = to.Plus(columns, to.Of(1));
  const Expr zero = to.exprs().Constant(0);
  const Dim right{to.exprs().Max(offset.expr, zero)}, down = to.Minus(to.Of(0), {to.exprs().Min(offset.expr, zero)});
  const Dim start = to.Plus(right, to.Times(down, columns));
  const Dim end = to.Plus(start, to.Times(length, step));
  return Sized(to, SliceRange(to, to.ReshapeTo(matrices, merged), axis, start, end, step),
               WithSize(merged, axis, length));
}
Tensor LinalgDiagonal(Lowering& to, Tensor self, Dim offset, int64_t dim1, int64_t dim2) {
  return Diagonal(to, self, offset, dim1, dim2);
}

// `values` along the diagonal of matrices, elsewhere `background`.
Tensor OnDiagonal(Lowering& to, Tensor values, Dim rows, Dim columns, Dim offset, Tensor background) {
  const int64_t last = values.rank() - 1;
  Tensor aligned;
  if (const auto known = to.AsConstant(offset)) {
    // Row i of an upper diagonal holds element i, column j of a lower one element j.
    const Dim missing = to.Minus(*known >= 0 ? rows : columns, values.size(last));
    aligned = to.UnsqueezeAt(PadEnd(to, values, last, missing), {*known >= 0 ? last + 1 : last});
  } else {
    const Tensor element = to.Min({to.UnsqueezeAt(Iota(to, rows), {1}), Iota(to, columns)});
    const Tensor within = to.Min({element, to.Number(values.size(last))});
    aligned = to.Gather(PadEnd(to, values, last, to.Of(1)), within, {.axis = last});
  }
  return to.Where(DiagonalMask(to, rows, columns, offset), aligned, background);
}

Tensor DiagEmbed(Lowering& to, Tensor self, Dim offset, int64_t dim1, int64_t dim2) {
  const Dim other_way = to.Minus(to.Of(0), offset), apart{to.exprs().Max(offset.expr, other_way.expr)};
  const Dim size = to.Plus(self.size(-1), apart);
  const Tensor matrices = OnDiagonal(to, self, size, size, offset, to.ConstantOf(int64_t{0}, self.dtype()));
  return MoveDims(to, matrices, {-2, -1}, {dim1, dim2});
}
Tensor Diag(Lowering& to, Tensor self, Dim diagonal) {
  return self.rank() == 1 ? DiagEmbed(to, self, diagonal, -2, -1) : Diagonal(to, self, diagonal, 0, 1);
}
Tensor DiagFlat(Lowering& to, Tensor self, Dim offset) {
  return DiagEmbed(to, Flat(to, AtLeast1d(to, self)), offset, -2, -1);
}

Tensor DiagonalScatter(Lowering& to, Tensor self, Tensor src, Dim offset, int64_t dim1, int64_t dim2) {
  const Tensor matrices = MoveDims(to, self, {dim1, dim2}, {-2, -1});
  const Dim rows = matrices.size(-2), columns = matrices.size(-1);
  if (to.AsConstant(DiagonalLength(to, rows, columns, offset)) == 0) return self;
  const Tensor written = OnDiagonal(to, to.CastTo(src, self.dtype()), rows, columns, offset, matrices);
  return Sized(to, MoveDims(to, written, {-2, -1}, {dim1, dim2}), self.sizes());
}

Tensor Trace(Lowering& to, Tensor self) {
  return Sum(to, Diagonal(to, self, to.Of(0), 0, 1), std::nullopt, false, std::nullopt);
}

// In a row-major tensor of equal sizes the diagonal is every n-th element, n the sum of the strides. A tall matrix has
// no more of it than columns, unless it goes on below the square (`wrap`).
Tensor FillDiagonal(Lowering& to, Tensor self, Scalar fill_value, bool wrap) {
  Dim step = to.Of(1), stride = to.Of(1);
  for (int64_t dim = self.rank() - 1; dim > 0; --dim) {
    stride = to.Times(stride, self.size(dim));
    step = to.Plus(step, stride);
  }
  const Tensor places = Iota(to, to.Numel(self));
  Tensor on = to.Equal(to.Mod(places, to.Number(step)), to.ConstantInt(0));
  if (!wrap && self.rank() == 2) on = to.And(on, to.Less(places, to.Number(to.Times(self.size(1), self.size(1)))));
  return to.Where(to.ReshapeTo(on, self.sizes()), to.NumberOf(fill_value, self.dtype()), self);
}

constexpr OpRow kRows[] = {
    Op<Diag>("aten::diag(Tensor self, int diagonal=0) -> Tensor"),
    Op<DiagEmbed>("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor"),
    Op<DiagFlat>("aten::diagflat(Tensor self, int offset=0) -> Tensor"),
    Op<Diagonal>("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)"),
    Op<Diagonal>("aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor"),
    Op<DiagonalScatter>(
        "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor"),
    Op<LinalgDiagonal>("aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)"),
    Op<Trace>("aten::trace(Tensor self) -> Tensor"),
    Op<Tril>("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor"),
    Op<TrilIndices>("aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
                    "Device? device=None, bool? pin_memory=None) -> Tensor"),
    Op<Triu>("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor"),
    Op<TriuIndices>("aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
                    "Device? device=None, bool? pin_memory=None) -> Tensor"),
    Op<FillDiagonal>("flambeau::fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Diagonals() { return kRows; }

}  // namespace flambeau::lower
