// Batches of matrices: what factorizations are written with. Rows are dimension
// -2, columns -1; all before are the batch.
#pragma once

#include "lower/op.h"

namespace flambeau::lower {

// The matrix transposed.
Tensor Transposed(Lowering& to, Tensor matrix);
// Row or column k, a run-time number: [batch, columns] or [batch, rows].
Tensor RowAt(Lowering& to, Tensor matrix, Tensor k);
Tensor ColumnAt(Lowering& to, Tensor matrix, Tensor k);
// Element k of vectors [batch, n]: [batch].
Tensor ElementAt(Lowering& to, Tensor vector, Tensor k);
// A vector as one column or one row.
Tensor AsColumn(Lowering& to, Tensor vector);
Tensor AsRow(Lowering& to, Tensor vector);
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
