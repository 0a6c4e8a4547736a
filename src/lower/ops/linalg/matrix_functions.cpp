// Powers, exponentials, norms, ranks and pseudo-inverses of matrices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/arithmetic.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/jacobi.h"
#include "lower/ops/linalg/lu.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/loops.h"
#include "lower/ops/reduction.h"
#include "lower/ops/views.h"

namespace flambeau::lower {
namespace {

constexpr Restriction kRunTimeOrder = {"a norm of matrices whose order is known at run time only",
                                       "torch.linalg.norm(torch.ones(2, 2), int(torch.argmax(x)))",
                                       "each order is a formula of its own: branch on it in the model (if ord == 1: ...)"};

// --- powers ---------------------------------------------------------------------------

// By squares: n products at most for a power of 2ⁿ.
Tensor MatrixPower(Lowering& to, Tensor self, int64_t n) {
  if (n == 0) return IdentityMatrices(to, BatchSizes(self), self.size(-2), self.size(-1), self.dtype());
  Tensor power, square = n < 0 ? InverseMatrix(to, self) : self;
  for (uint64_t rest = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);; rest /= 2) {
    if (rest % 2 == 1) power = power ? to.MatMul(power, square) : square;
    if (rest <= 1) return power;
    square = to.MatMul(square, square);
  }
}

// The Taylor polynomial of degree 18 in five products (Bader, Blanes, Casas 2019), as PyTorch computes it and in the
// dtype in which it does: the rounding of large exponentials is the same then.
Tensor TaylorOfDegree18(Lowering& to, Tensor a) {
  // Of each of five matrices the weights of the identity, A, A², A³ and A⁶.
  constexpr double kWeights[5][5] = {
      {0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0},
      {0, 3.97849749499645077844e-01, 1.36783778460411720168e+00, 4.98289622525382669416e-01, -6.37898194594723280150e-04},
      {-1.09676396052962061844e+01, 1.68015813878906206114e+00, 5.71779846478865511061e-02, -6.98210122488052056106e-03,
       3.34975017086070470649e-05},
      {-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02, 2.95552570429315521194e-02,
       -1.39180257516060693404e-05},
      {0, 0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05},
  };
  const Tensor a2 = to.MatMul(a, a), a3 = to.MatMul(a, a2), a6 = to.MatMul(a3, a3);
  const Tensor powers[] = {IdentityMatrix(to, a.size(-2), a.size(-1), a.dtype()), a, a2, a3, a6};
  auto combined = [&](int row) {
    Tensor sum;
    for (size_t i = 0; i < std::size(powers); ++i) {
      if (kWeights[row][i] == 0) continue;
      const Tensor term = to.Mul(powers[i], to.NumberOf(kWeights[row][i], a.dtype()));
      sum = sum ? to.Add(sum, term) : term;
    }
    return sum;
  };
  const Tensor inner = to.Add(to.MatMul(combined(0), combined(4)), combined(3));
  return to.Add(combined(1), to.MatMul(to.Add(combined(2), inner), inner));
}

// e^A = (e^(A/2ˢ))^(2ˢ), with s so that the series ends soon.
Tensor MatrixExp(Lowering& to, Tensor self) {
  const double bound = self.dtype() == DType::kFloat64 ? 1.090863719290036e+00 : 3.010066362817634e+00;
  const Tensor sums = to.ReduceSum(to.Abs(self), to.ConstantInts({self.rank() - 2}), {.keepdims = 1});
  const Tensor norm = to.ReduceMax(sums, to.ConstantInts({self.rank() - 1}), {.keepdims = 1});
  const Tensor one = to.NumberOf(1.0, DType::kFloat32);
  const Tensor ratio = to.Max({to.CastTo(to.Div(norm, to.NumberOf(bound, norm.dtype())), DType::kFloat32), one});
  const Tensor squares = to.CastTo(to.Ceil(to.Div(to.Log(ratio), to.NumberOf(M_LN2, DType::kFloat32))), DType::kInt64);
  const Tensor scale = to.CastTo(to.Pow(to.NumberOf(2.0, DType::kFloat32), to.CastTo(to.Neg(squares), DType::kFloat32)), norm.dtype());
  const Tensor series = Sized(to, TaylorOfDegree18(to, to.Mul(self, to.CastTo(scale, self.dtype()))), self.sizes());
  // The 0 stands in where there are no matrices.
  const Tensor all = to.Concat({to.Reshape(squares, to.ConstantInts({-1})), to.ConstantInts({0})}, {.axis = 0});
  const Tensor most = to.ReduceMax(all, to.ConstantInts({0}), {.keepdims = 0});
  return Repeat(to, most, {series}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    return std::vector<Tensor>{to.Where(to.Less(k, squares), to.MatMul(states[0], states[0]), states[0])};
  })[0];
}

Tensor Vander(Lowering& to, Tensor x, std::optional<Dim> n, bool increasing) {
  x = AtLeast1d(to, x);
  const Tensor base = AsColumn(to, x.is_floating() || x.is_complex() ? x : to.CastTo(x, DType::kInt64));
  const Dim count = n ? *n : x.size(-1);
  const Tensor exponents = Iota(to, count);
  const Tensor ordered = increasing ? exponents : to.Sub(to.Number(to.Minus(count, to.Of(1))), exponents);
  return Pow(to, base, to.CastTo(ordered, base.dtype()));
}

Tensor LinalgVander(Lowering& to, Tensor x, std::optional<Dim> n) { return Vander(to, x, n, true); }

// --- norms ----------------------------------------------------------------------------

// The matrices that two dimensions make, as the last two.
Tensor MatricesOf(Lowering& to, Tensor self, const Ints& dims) { return MoveDims(to, self, dims, {-2, -1}); }

bool IsEmpty(Lowering& to, const Tensor& matrix) {
  return to.AsConstant(matrix.size(-1)) == 0 || to.AsConstant(matrix.size(-2)) == 0;
}

// Zeros where matrices turn out to be empty when the model runs.
Tensor ZeroIfEmpty(Lowering& to, const Tensor& matrix, Tensor value) {
  Tensor empty;
  for (const int64_t axis : {-2, -1}) {
    if (to.AsConstant(matrix.size(axis))) continue;
    const Tensor none = to.Equal(to.Number(matrix.size(axis)), to.ConstantInt(0));
    empty = empty ? to.Or(empty, none) : none;
  }
  return empty ? OnlyWhere(to, to.Not(empty), value) : value;
}

enum class SpectralNorm { kLargest, kSmallest, kSum };

Tensor OfSingularValues(Lowering& to, Tensor matrix, SpectralNorm norm) {
  if (IsEmpty(to, matrix)) return to.Full(BatchSizes(matrix), 0.0, RealDtype(matrix));
  const Tensor values = SingularValues(to, matrix);
  switch (norm) {
    case SpectralNorm::kLargest: return ZeroIfEmpty(to, matrix, Amax(to, values, {-1}, false));
    case SpectralNorm::kSmallest: return Amin(to, values, {-1}, false);
    case SpectralNorm::kSum: return Sum(to, values, Ints{-1}, false, std::nullopt);
  }
  return {};
}

// Of matrices in the last two dimensions: [batch].
Tensor NormOf(Lowering& to, Tensor matrix, double ord) {
  const double size = std::abs(ord);
  if (size == 2)
    return OfSingularValues(to, matrix, ord > 0 ? SpectralNorm::kLargest : SpectralNorm::kSmallest);
  // 1: of columns, infinity: of rows.
  const Tensor sums = Sum(to, to.Abs(matrix), Ints{size == 1 ? -2 : -1}, false, std::nullopt);
  if (to.AsConstant(sums.size(-1)) == 0) return to.Full(BatchSizes(matrix), 0.0, sums.dtype());
  return ZeroIfEmpty(to, matrix, ord > 0 ? Amax(to, sums, {-1}, false) : Amin(to, sums, {-1}, false));
}
Tensor NormOf(Lowering& to, Tensor matrix, std::string_view ord) {
  if (ord == "nuc") return OfSingularValues(to, matrix, SpectralNorm::kSum);
  return VectorNorm(to, matrix, Scalar(2), Ints{-2, -1}, false, std::nullopt);
}

template <class Order>
Tensor MatrixNormOf(Lowering& to, Tensor self, Order ord, Ints dim, bool keepdim, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, dtype.value_or(self.dtype()));
  const Tensor norm = NormOf(to, MatricesOf(to, x, dim), ord);
  if (!keepdim) return norm;
  Ints axes = to.Axes(dim, self);
  std::sort(axes.begin(), axes.end());
  return to.UnsqueezeAt(norm, axes);
}
Tensor MatrixNorm(Lowering& to, Tensor self, Const<Scalar> ord, Ints dim, bool keepdim, std::optional<DType> dtype) {
  return MatrixNormOf(to, self, ord.value.AsDouble(), dim, keepdim, dtype);
}
Tensor MatrixNormStr(Lowering& to, Tensor self, std::string_view ord, Ints dim, bool keepdim,
                     std::optional<DType> dtype) {
  return MatrixNormOf(to, self, ord, dim, keepdim, dtype);
}

// Of a vector or a matrix, by how many dimensions there are; without an order
// the root of all squares.
Tensor LinalgNorm(Lowering& to, Tensor self, std::optional<Scalar> ord, std::optional<Ints> dim, bool keepdim,
                  std::optional<DType> dtype) {
  const size_t dims = dim ? dim->size() : static_cast<size_t>(self.rank());
  if (!ord || dims != 2) return VectorNorm(to, self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
  if (!ord->is_constant()) return to.Unsupported(kRunTimeOrder);
  return MatrixNorm(to, self, {*ord}, dim.value_or(Ints{0, 1}), keepdim, dtype);
}
Tensor LinalgNormStr(Lowering& to, Tensor self, std::string_view ord, std::optional<Ints> dim, bool keepdim,
                     std::optional<DType> dtype) {
  return MatrixNormStr(to, self, ord, dim.value_or(Ints{0, 1}), keepdim, dtype);
}

Tensor FrobeniusNorm(Lowering& to, Tensor self, Ints dim, bool keepdim) {
  return VectorNorm(to, self, Scalar(2), dim, keepdim, std::nullopt);
}
Tensor NuclearNormDim(Lowering& to, Tensor self, Ints dim, bool keepdim) {
  return MatrixNormOf(to, self, std::string_view("nuc"), dim, keepdim, std::nullopt);
}
Tensor NuclearNorm(Lowering& to, Tensor self, bool keepdim) { return NuclearNormDim(to, self, {-2, -1}, keepdim); }

// ‖A‖·‖A⁻¹‖, infinite where there is no inverse.
template <class Order>
Tensor ConditionBy(Lowering& to, Tensor self, Order ord) {
  const Tensor product = to.Mul(NormOf(to, self, ord), NormOf(to, InverseMatrix(to, self), ord));
  const Tensor singular = to.Equal(Determinant(to, self), to.NumberOf(0.0, self.dtype()));
  return ZeroIfEmpty(to, self, to.Where(singular, to.NumberOf(std::numeric_limits<double>::infinity(), product.dtype()), product));
}
Tensor Condition(Lowering& to, Tensor self, std::optional<Const<Scalar>> p) {
  if (IsEmpty(to, self)) return to.Full(BatchSizes(self), 0.0, RealDtype(self));
  const double order = p ? p->value.AsDouble() : 2;
  if (std::abs(order) != 2) return ConditionBy(to, self, order);
  const Tensor values = SingularValues(to, self);
  const Tensor most = Amax(to, values, {-1}, false), least = Amin(to, values, {-1}, false);
  return ZeroIfEmpty(to, self, order > 0 ? to.Div(most, least) : to.Div(least, most));
}
Tensor ConditionStr(Lowering& to, Tensor self, std::string_view p) {
  if (IsEmpty(to, self)) return to.Full(BatchSizes(self), 0.0, RealDtype(self));
  return ConditionBy(to, self, p);
}

// --- what is left of small singular values -------------------------------------------------

// Values at most this count as zeros: max(atol, rtol · the largest).
struct Tolerance {
  std::optional<Tensor> absolute, relative;  // [batch] or 0-d
};

// ε · the longer side, unless there is an absolute tolerance.
Tensor DefaultRelative(Lowering& to, const Tensor& a, const Tolerance& tolerance) {
  const DType dtype = RealDtype(a);
  const Dim longer{to.exprs().Max(a.size(-2).expr, a.size(-1).expr)};
  const Tensor relative = to.Mul(to.CastTo(to.Number(longer), dtype), to.NumberOf(Epsilon(dtype), dtype));
  if (!tolerance.absolute) return relative;
  const Tensor zero = to.NumberOf(0.0, dtype);
  return to.Where(to.Greater(*tolerance.absolute, zero), zero, relative);
}

// True where a value of [batch, n] counts.
Tensor Counts(Lowering& to, const Tensor& a, const Tensor& values, const Tolerance& tolerance) {
  const Tensor relative = tolerance.relative ? *tolerance.relative : DefaultRelative(to, a, tolerance);
  Tensor limit = to.Mul(AsColumn(to, relative), Amax(to, values, {-1}, true));
  if (tolerance.absolute) limit = to.Max({limit, AsColumn(to, *tolerance.absolute)});
  return Sized(to, to.Greater(values, limit), BroadcastDims(to, values.sizes(), limit.sizes()));
}

Tolerance ToleranceOf(Lowering& to, const Tensor& a, std::optional<Tensor> atol, std::optional<Tensor> rtol) {
  auto cast = [&](const std::optional<Tensor>& value) {
    return value ? std::optional(to.CastTo(*value, RealDtype(a))) : std::nullopt;
  };
  return {cast(atol), cast(rtol)};
}
std::optional<Tensor> NumberOrNone(Lowering& to, const Tensor& a, std::optional<double> value) {
  return value ? std::optional(to.NumberOf(*value, RealDtype(a))) : std::nullopt;
}

Tensor RankBy(Lowering& to, Tensor a, const Tolerance& tolerance, bool hermitian) {
  if (IsEmpty(to, a)) return to.Full(BatchSizes(a), 0, DType::kInt64);
  const Tensor values = hermitian ? to.Abs(SymmetricEigen(to, a, false).values) : SingularValues(to, a);
  return Sum(to, to.CastTo(Counts(to, a, values, tolerance), DType::kInt64), Ints{-1}, false, std::nullopt);
}
Tensor RankTensors(Lowering& to, Tensor a, std::optional<Tensor> atol, std::optional<Tensor> rtol, bool hermitian) {
  return RankBy(to, a, ToleranceOf(to, a, atol, rtol), hermitian);
}
Tensor RankFloats(Lowering& to, Tensor a, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return RankTensors(to, a, NumberOrNone(to, a, atol), NumberOrNone(to, a, rtol), hermitian);
}
Tensor RankAbove(Lowering& to, Tensor a, Tensor tol, bool hermitian) {
  return RankTensors(to, a, tol, to.NumberOf(0.0, RealDtype(a)), hermitian);
}
Tensor RankAboveNumber(Lowering& to, Tensor a, double tol, bool hermitian) {
  return RankAbove(to, a, to.NumberOf(tol, RealDtype(a)), hermitian);
}

Tensor PseudoInverseBy(Lowering& to, Tensor a, const Tolerance& tolerance, bool hermitian) {
  if (IsEmpty(to, a)) return to.Full(Transposed(to, a).sizes(), 0.0, a.dtype());
  Tensor left, values, right;
  if (hermitian) {
    const Eigen eigen = SymmetricEigen(to, a, false);
    left = eigen.vectors;
    values = eigen.values;
    right = Adjoint(to, eigen.vectors);
  } else {
    const Singular singular = SingularDecomposition(to, a, false);
    left = Adjoint(to, singular.vt);
    values = singular.values;
    right = Adjoint(to, singular.u);
  }
  const Tensor kept = Counts(to, a, to.Abs(values), tolerance);
  const Tensor inverse = OnlyWhere(to, kept, SafeDiv(to, to.NumberOf(1.0, values.dtype()), values));
  return to.MatMul(to.Mul(left, to.CastTo(AsRow(to, inverse), a.dtype())), right);
}
Tensor PinvTensors(Lowering& to, Tensor a, std::optional<Tensor> atol, std::optional<Tensor> rtol, bool hermitian) {
  return PseudoInverseBy(to, a, ToleranceOf(to, a, atol, rtol), hermitian);
}
Tensor PinvFloats(Lowering& to, Tensor a, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return PinvTensors(to, a, NumberOrNone(to, a, atol), NumberOrNone(to, a, rtol), hermitian);
}
Tensor PinvBelow(Lowering& to, Tensor a, Tensor rcond, bool hermitian) {
  return PinvTensors(to, a, to.NumberOf(0.0, RealDtype(a)), rcond, hermitian);
}
Tensor PinvBelowNumber(Lowering& to, Tensor a, double rcond, bool hermitian) {
  return PinvBelow(to, a, to.NumberOf(rcond, RealDtype(a)), hermitian);
}
Tensor Pinverse(Lowering& to, Tensor self, double rcond) { return PinvBelowNumber(to, self, rcond, false); }

// columns · diag(values) · rows
Tensor Recomposed(Lowering& to, const Tensor& columns, const Tensor& values, const Tensor& rows) {
  return to.MatMul(to.Mul(columns, to.CastTo(AsRow(to, values), columns.dtype())), rows);
}

// Of a Hermitian positive definite matrix, of which the lower triangle is read.
Tensor SquareRoot(Lowering& to, Tensor self) {
  if (IsEmpty(to, self)) return self;
  const Eigen eigen = SymmetricEigen(to, self, false);
  return Recomposed(to, eigen.vectors, to.Sqrt(eigen.values), Adjoint(to, eigen.vectors));
}

// A = U·H, of at least as many rows as columns.
std::tuple<Tensor, Tensor> Polar(Lowering& to, Tensor a) {
  if (IsEmpty(to, a)) {
    Dims square = a.sizes();
    square[square.size() - 2] = square.back();
    return {a, to.Full(square, 0.0, a.dtype())};
  }
  const Singular singular = SingularDecomposition(to, a, false);
  return {to.MatMul(singular.u, singular.vt), Recomposed(to, Adjoint(to, singular.vt), singular.values, singular.vt)};
}

constexpr OpRow kRows[] = {
    Op<FrobeniusNorm>("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"),
    Op<Condition>("aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor"),
    Op<ConditionStr>("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor"),
    Op<MatrixExp>("aten::linalg_matrix_exp(Tensor self) -> Tensor"),
    Op<MatrixNorm>("aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
                   "ScalarType? dtype=None) -> Tensor"),
    Op<MatrixNormStr>("aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
                      "keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    Op<MatrixPower>("aten::linalg_matrix_power(Tensor self, int n) -> Tensor"),
    Op<RankAboveNumber>("aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor"),
    Op<RankFloats>("aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
                   "hermitian=False) -> Tensor"),
    Op<RankTensors>("aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, "
                    "bool hermitian=False) -> Tensor"),
    Op<RankAbove>("aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor"),
    Op<LinalgNorm>("aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
                   "ScalarType? dtype=None) -> Tensor",
                   &kRunTimeOrder),
    Op<LinalgNormStr>("aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
                      "ScalarType? dtype=None) -> Tensor"),
    Op<SquareRoot>("aten::linalg_matrix_sqrth(Tensor self) -> Tensor"),
    Op<PinvBelowNumber>("aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor"),
    Op<PinvFloats>("aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
                   "hermitian=False) -> Tensor"),
    Op<PinvTensors>("aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool "
                    "hermitian=False) -> Tensor"),
    Op<PinvBelow>("aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor"),
    Op<Polar>("aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)"),
    Op<LinalgVander>("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor"),
    Op<MatrixExp>("aten::matrix_exp(Tensor self) -> Tensor"),
    Op<MatrixPower>("aten::matrix_power(Tensor self, int n) -> Tensor"),
    Op<NuclearNorm>("aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor"),
    Op<NuclearNormDim>("aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor"),
    Op<Pinverse>("aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor"),
    Op<Vander>("aten::vander(Tensor x, SymInt? N=None, bool increasing=False) -> Tensor"),
};

}  // namespace

std::span<const OpRow> MatrixFunctions() { return kRows; }

}  // namespace flambeau::lower
