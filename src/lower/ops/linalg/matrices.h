// Batches of matrices: what factorizations are written with. Rows are dimension
// -2, columns -1; all before are the batch.
#pragma once

#include <functional>
#include <vector>

#include "lower/op.h"

namespace flambeau::lower {

// The matrix transposed.
Tensor Transposed(Lowering& to, Tensor matrix);
// And conjugate.
Tensor Adjoint(Lowering& to, Tensor matrix);
// Row or column k, a run-time number: [batch, columns] or [batch, rows].
Tensor RowAt(Lowering& to, Tensor matrix, Tensor k);
Tensor ColumnAt(Lowering& to, Tensor matrix, Tensor k);
// Element k of vectors [batch, n]: [batch].
Tensor ElementAt(Lowering& to, Tensor vector, Tensor k);
// The same at an index for each matrix of the batch, [batch, 1]: [batch, columns], and [batch, 1].
Tensor PickRow(Lowering& to, Tensor matrix, Tensor index);
Tensor Pick(Lowering& to, Tensor vector, Tensor index);
// The elements right of the diagonal of square matrices: [batch, n], the last is 0.
Tensor BesideDiagonal(Lowering& to, Tensor matrix);
// Indices with i and j exchanged.
Tensor Exchanged(Lowering& to, Tensor indices, Tensor i, Tensor j);
// Whether it holds for any element.
Tensor Any(Lowering& to, Tensor condition);
// By which LAPACK chooses pivots; of complex numbers, the sum of their parts' sizes.
Tensor PivotSize(Lowering& to, Tensor x);
Tensor Hypotenuse(Lowering& to, Tensor x, Tensor y);
// A vector as one column or one row.
Tensor AsColumn(Lowering& to, Tensor vector);
Tensor AsRow(Lowering& to, Tensor vector);
// In the widest precision, in which factorizations compute.
Tensor Wide(Lowering& to, Tensor matrix);
// Rows of complex numbers as rows of twice as many real ones, and back: what combines whole rows by real factors takes both.
Tensor RealRows(Lowering& to, Tensor rows);
Tensor RowsLike(Lowering& to, Tensor real_rows, const Tensor& rows);
// The diagonal [batch, min(rows, columns)].
Tensor DiagonalOf(Lowering& to, Tensor matrix);
// The identity of that size; rows × columns.
Tensor IdentityMatrix(Lowering& to, Dim rows, Dim columns, DType dtype);
// The identity for each matrix of a batch of those leading sizes.
Tensor IdentityMatrices(Lowering& to, const Dims& batch, Dim rows, Dim columns, DType dtype);
// The elements below (above) the diagonal, and on it if `diagonal`; zeros elsewhere.
Tensor LowerTriangle(Lowering& to, Tensor matrix, bool diagonal = true);
Tensor UpperTriangle(Lowering& to, Tensor matrix, bool diagonal = true);
// Rows (columns) 0, …, count - 1.
Tensor FirstRows(Lowering& to, Tensor matrix, Dim count);
Tensor FirstColumns(Lowering& to, Tensor matrix, Dim count);
// The sizes before the last two.
Dims BatchSizes(const Tensor& matrix);
Dim SmallerSide(Lowering& to, const Tensor& matrix);
// x where the condition holds, else 0.
Tensor OnlyWhere(Lowering& to, Tensor condition, Tensor x);
// x / y, and x where y is 0.
Tensor SafeDiv(Lowering& to, Tensor x, Tensor y);

}  // namespace flambeau::lower
