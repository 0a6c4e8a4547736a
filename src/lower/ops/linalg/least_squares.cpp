// The X that makes ‖A·X - B‖ least, and of those the shortest.
#include <algorithm>
#include <cmath>

#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/jacobi.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/linalg/triangular.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {
namespace {

constexpr Restriction kUnknownHeight = {"the residuals, where it is not known whether rows are more than columns",
                                        "torch.linalg.lstsq(x, y, driver=\"gels\").residuals",
                                        "there are none where rows are not more"};

// gelsy estimates the rank from pivots that PyTorch leaves unset: what it leaves out differs from call to call unless
// it is only rounding.
constexpr Restriction kEstimatedRank = {"driver=\"gelsy\", the default, with an rcond above what rounding leaves: driver=\"gelsd\" "
                                        "takes one",
                                        "torch.linalg.lstsq(x, y, rcond=0.5)",
                                        "gelsy estimates the rank from pivots that PyTorch leaves unset"};

// What torch leaves out where some matrix has linearly dependent columns: a model, whose results have one rank, fails
// there when it runs.
Tensor UnlessDependent(Lowering& to, Tensor residuals, Tensor rank, Tensor columns) {
  const Tensor missing = to.CastTo(to.Not(to.Equal(rank, columns)), DType::kInt64);
  // The only element is at 0.
  return to.Gather(to.UnsqueezeAt(residuals, {0}), to.ReduceSum(missing, {}, {.keepdims = 0}), {.axis = 0});
}

// LAPACK's name without a driver is gelsy. They differ in what they return beside the solution: gels takes the rank
// for granted, gelsy gives it, gelss and gelsd give the singular values too.
std::tuple<Tensor, Tensor, Tensor, Tensor> Lstsq(Lowering& to, Tensor self, Tensor b, std::optional<Scalar> rcond,
                                                 std::optional<std::string_view> given_driver) {
  const std::string_view driver = given_driver.value_or("gelsy");
  if (driver == "gelsy" && rcond && (!rcond->is_constant() || rcond->AsDouble() > std::sqrt(Epsilon(RealDtype(self)))))
    return to.Unsupported(kEstimatedRank);
  const bool is_vectors = self.rank() - 1 == b.rank();
  const DType dtype = RealDtype(self), wide = DType::kFloat64;
  const auto [matrix, right] = WithCommonBatch(to, Wide(to, self), Wide(to, is_vectors ? AsColumn(to, b) : b));
  const Singular singular = SingularDecomposition(to, matrix, false);
  const Dim m = matrix.size(-2), n = matrix.size(-1);
  const Tensor zero = to.NumberOf(0.0, wide);
  const Tensor largest = to.SliceAxis(singular.values, singular.values.rank() - 1, to.Of(0), to.Of(1));
  Tensor limit = zero;
  if (driver != "gels") {
    const Tensor longer = to.CastTo(to.Number({to.exprs().Max(m.expr, n.expr)}), wide);
    limit = to.Mul(largest, rcond ? to.NumberOf(*rcond, wide) : to.Mul(longer, to.NumberOf(Epsilon(dtype), wide)));
  }
  const Tensor counts = to.Greater(singular.values, limit);
  const Tensor inverse = OnlyWhere(to, counts, SafeDiv(to, to.NumberOf(1.0, wide), singular.values));
  const Tensor projected = to.Mul(to.MatMul(Adjoint(to, singular.u), right), to.CastTo(AsColumn(to, inverse), matrix.dtype()));
  const Tensor solution = to.MatMul(Adjoint(to, singular.vt), projected);

  const Tensor none = to.Full(Dims{to.Of(0)}, 0.0, dtype);
  const Tensor rank = to.ReduceSum(to.CastTo(counts, DType::kInt64), to.ConstantInts({counts.rank() - 1}), {.keepdims = 0});
  const bool gives_values = driver == "gelss" || driver == "gelsd";
  // Where the sizes do not say it, what torch recorded does: none are of one size, which is 0.
  const ExprPool::Range taller = to.exprs().RangeOf(to.Minus(m, n).expr);
  // While types are inferred, nothing is recorded yet.
  const auto& node = to.aten()[to.node()];
  const ValueId recorded = node.result_count > 1 ? node.result(1) : ValueId{};
  const Type* type = recorded && to.aten().type(recorded).ranked ? &to.aten().type(recorded) : nullptr;
  const bool known_none = type != nullptr && type->rank() == 1 && to.exprs().AsConstant(type->sizes[0]) == 0;
  const bool has_residuals = taller.min > 0 || (taller.max > 0 && type != nullptr && !known_none);
  Tensor residuals = none;
  if (driver != "gelsy" && has_residuals) {
    const Tensor rest = to.Sub(to.MatMul(matrix, solution), right);
    const Tensor squares = to.ReduceSum(SquaredSize(to, rest), to.ConstantInts({rest.rank() - 2}), {.keepdims = 0});
    residuals = to.CastTo(squares, dtype);
    if (gives_values) residuals = UnlessDependent(to, residuals, rank, to.Number(n));
  } else if (driver != "gelsy" && taller.max > 0 && !known_none) {
    if (recorded && to.aten().HasUses(recorded)) return to.Unsupported(kUnknownHeight);
    residuals = {};
  }
  const Tensor result = is_vectors ? to.SqueezeAt(solution, {solution.rank() - 1}) : solution;
  return {to.CastTo(result, self.dtype()), residuals,
          driver == "gels" ? to.CastTo(to.Full(Dims{to.Of(0)}, 0.0, wide), DType::kInt64) : rank,
          gives_values ? to.CastTo(singular.values, dtype) : none};
}

constexpr OpRow kRows[] = {
    Op<Lstsq>("aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, "
              "Tensor residuals, Tensor rank, Tensor singular_values)",
              &kUnknownHeight, &kEstimatedRank),
};

}  // namespace

std::span<const OpRow> LeastSquares() { return kRows; }

}  // namespace flambeau::lower
