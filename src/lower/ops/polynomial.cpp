// Orthogonal polynomials of a degree that is a tensor.
#include <functional>

#include "lower/op.h"
#include "lower/ops/elementwise.h"

namespace flambeau::lower {
namespace {

// The first two polynomials and the recurrence
//   (a + b·k) · p[k+1] = (c + d·x + (e + f·x)·k) · p[k] - (g + h·k) · p[k-1].
struct Recurrence {
  double p1_offset, p1_slope;  // p[0] is 1
  double a, b;
  double c, d, e, f;
  double g, h;
};

constexpr Recurrence kChebyshevT{0, 1, 1, 0, 0, 2, 0, 0, 1, 0};
constexpr Recurrence kChebyshevU{0, 2, 1, 0, 0, 2, 0, 0, 1, 0};
constexpr Recurrence kChebyshevV{-1, 2, 1, 0, 0, 2, 0, 0, 1, 0};
constexpr Recurrence kChebyshevW{1, 2, 1, 0, 0, 2, 0, 0, 1, 0};
constexpr Recurrence kHermiteH{0, 2, 1, 0, 0, 2, 0, 0, 0, 2};
constexpr Recurrence kHermiteHe{0, 1, 1, 0, 0, 1, 0, 0, 0, 1};
constexpr Recurrence kLaguerreL{1, -1, 1, 1, 1, -1, 2, 0, 0, 1};
constexpr Recurrence kLegendreP{0, 1, 1, 1, 0, 1, 0, 2, 0, 1};

// offset + slope·x.
Tensor Line(Lowering& to, Tensor x, double offset, double slope) {
  Tensor line = slope == 1 ? x : to.Mul(x, to.NumberOf(slope, x.dtype()));
  return offset == 0 ? line : to.Add(line, to.NumberOf(offset, x.dtype()));
}

// The part before the point; what is between -1 and 0 is degree 0.
Tensor Truncated(Lowering& to, Tensor n) {
  const Tensor x = to.CastTo(n, DType::kFloat64);
  return n.is_floating() ? to.Mul(to.Sign(x), to.Floor(to.Abs(x))) : x;
}

// Runs the recurrence to the largest degree; each element stops at its own. In
// float64: the terms cancel.
Tensor Evaluate(Lowering& to, Tensor x, Tensor n, const Recurrence& r) {
  const auto constant = [&](double value) { return to.NumberOf(value, DType::kFloat64); };
  const Tensor argument = to.CastTo(x, DType::kFloat64), degree = Truncated(to, n);
  const Dims sizes = to.Mul(argument, degree).sizes();
  const Tensor first = to.ExpandTo(constant(1), sizes);
  const Tensor second = to.ExpandTo(Line(to, argument, r.p1_offset, r.p1_slope), sizes);
  // All degrees are at least 1 from here on; smaller ones are chosen below.
  const Tensor highest =
      to.ReduceMax(to.Concat({to.ReshapeTo(degree, Ints{-1}), to.UnsqueezeAt(constant(1), {0})}, {.axis = 0}), Tensor(),
                   {.keepdims = 0});
  const Tensor trips = to.CastTo(to.Sub(highest, constant(1)), DType::kInt64);
  std::vector<Expr> shape;
  for (Dim dim : sizes) shape.push_back(dim.expr);
  const Type state = Type::OfTensor(DType::kFloat64, shape);
  const BlockId body = to.Body([&] {
    const Tensor trip = to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
    const Tensor condition = to.AddBlockInput(Type::OfTensor(DType::kBool, {}));
    const Tensor before = to.AddBlockInput(state), last = to.AddBlockInput(state);
    const Tensor k = to.Add(to.CastTo(trip, DType::kFloat64), constant(1));
    Tensor factor = Line(to, argument, r.c, r.d);
    if (r.e != 0 || r.f != 0)
      factor = to.Add(factor, to.Mul(r.f == 0 ? constant(r.e) : Line(to, argument, r.e, r.f), k));
    const Tensor less = to.Mul(to.Add(to.Mul(k, constant(r.h)), constant(r.g)), before);
    Tensor next = to.Sub(to.Mul(factor, last), less);
    if (r.b != 0) next = to.Div(next, to.Add(to.Mul(k, constant(r.b)), constant(r.a)));
    // An element whose degree is reached keeps its value.
    const Tensor reached = to.LessOrEqual(degree, k);
    return std::vector<Tensor>{to.Identity(condition), to.Where(reached, before, last), to.Where(reached, last, next)};
  });
  onnx::AttributeList attributes;
  attributes.Add("body", body);
  const Tensor operands[] = {trips, to.NumberOf(true, DType::kBool), first, second};
  const std::vector<Type> types(2, state);
  Tensor result = to.EmitCustom("Loop", operands, attributes, types)[1];
  result = to.Where(to.Equal(degree, constant(0)), first, result);
  return to.Where(to.Less(degree, constant(0)), constant(0), result);
}

template <const Recurrence& kPolynomial>
Tensor Polynomial(Lowering& to, Tensor x, Tensor n) {
  const DType dtype = to.FloatDtype({x, n});
  return to.CastTo(Evaluate(to, to.CastTo(x, dtype), n, kPolynomial), dtype);
}

// The same of 2x - 1.
template <const Recurrence& kPolynomial>
Tensor Shifted(Lowering& to, Tensor x, Tensor n) {
  const DType dtype = to.FloatDtype({x, n});
  const Tensor argument = Line(to, to.CastTo(to.CastTo(x, dtype), DType::kFloat64), -1, 2);
  return to.CastTo(Evaluate(to, argument, n, kPolynomial), dtype);
}

constexpr OpRow kRows[] = {
    Op<Polynomial<kChebyshevT>>("aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor"),
    Op<Polynomial<kChebyshevT>>("aten::special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Polynomial<kChebyshevT>>("aten::special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Polynomial<kChebyshevU>>("aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor"),
    Op<Polynomial<kChebyshevU>>("aten::special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Polynomial<kChebyshevU>>("aten::special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Polynomial<kChebyshevV>>("aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor"),
    Op<Polynomial<kChebyshevV>>("aten::special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Polynomial<kChebyshevV>>("aten::special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Polynomial<kChebyshevW>>("aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor"),
    Op<Polynomial<kChebyshevW>>("aten::special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Polynomial<kChebyshevW>>("aten::special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Polynomial<kHermiteH>>("aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor"),
    Op<Polynomial<kHermiteH>>("aten::special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Polynomial<kHermiteH>>("aten::special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Polynomial<kHermiteHe>>("aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor"),
    Op<Polynomial<kHermiteHe>>("aten::special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Polynomial<kHermiteHe>>("aten::special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Polynomial<kLaguerreL>>("aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor"),
    Op<Polynomial<kLaguerreL>>("aten::special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Polynomial<kLaguerreL>>("aten::special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Polynomial<kLegendreP>>("aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor"),
    Op<Polynomial<kLegendreP>>("aten::special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Polynomial<kLegendreP>>("aten::special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Shifted<kChebyshevT>>("aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor"),
    Op<Shifted<kChebyshevT>>("aten::special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Shifted<kChebyshevT>>("aten::special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Shifted<kChebyshevU>>("aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor"),
    Op<Shifted<kChebyshevU>>("aten::special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Shifted<kChebyshevU>>("aten::special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Shifted<kChebyshevV>>("aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor"),
    Op<Shifted<kChebyshevV>>("aten::special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Shifted<kChebyshevV>>("aten::special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor"),
    Op<Shifted<kChebyshevW>>("aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor"),
    Op<Shifted<kChebyshevW>>("aten::special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor"),
    Op<Shifted<kChebyshevW>>("aten::special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Polynomials() { return kRows; }

}  // namespace flambeau::lower
