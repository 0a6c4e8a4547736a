// The gamma function's and the error function's relatives. Coefficients of the
// polynomials were fitted to values of 40 digits.
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "lower/op.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/steps.h"
#include "onnx/error_function.h"
#include "onnx/near_zero.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor Minus(Lowering& to, double a, Tensor x) { return to.Sub(Double(to, a), x); }

// --- gamma --------------------------------------------------------------------------

constexpr int kShift = 8;  // Stirling's series is exact enough from here on

// log Γ(y), y >= 1/2: Stirling's series at y + 8, less the logarithms between.
Tensor LgammaOfPositive(Lowering& to, Tensor y) {
  const Tensor z = to.Add(y, Double(to, kShift));
  const Tensor inverse = to.Reciprocal(z);
  constexpr double kSeries[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680};
  const Tensor correction = to.Mul(inverse, PowerSeries(to, to.Mul(inverse, inverse), kSeries));
  const Tensor main = to.Sub(to.Mul(to.Sub(z, Double(to, 0.5)), to.Log(z)), z);
  const Tensor between = SumOfTerms(to, to.Log(to.Add(ForTerms(to, y), Counting(to, kShift))));
  return to.Sub(to.Add(to.Add(main, Double(to, 0.5 * std::log(2 * M_PI))), correction), between);
}

// π times the distance to the nearest integer: exactly 0 at integers.
Tensor AngleToInteger(Lowering& to, Tensor x) { return Times(to, to.Sub(x, to.Round(x)), M_PI); }

// Below 1/2 by reflection: Γ(x)·Γ(1 - x) = π / sin(πx).
Tensor LgammaOf(Lowering& to, Tensor x) {
  const Tensor reflected = to.Less(x, Double(to, 0.5));
  const Tensor positive = LgammaOfPositive(to, to.Where(reflected, Minus(to, 1, x), x));
  const Tensor sine = to.Abs(to.Sin(AngleToInteger(to, x)));
  const Tensor of_negative = to.Sub(Minus(to, std::log(M_PI), to.Log(sine)), positive);
  const Tensor result = to.Where(reflected, of_negative, positive);
  return to.Where(to.IsInf(x), Double(to, kInfinity), result);
}

// ψ(y), y >= 1/2.
Tensor DigammaOfPositive(Lowering& to, Tensor y) {
  const Tensor z = to.Add(y, Double(to, kShift));
  const Tensor inverse = to.Reciprocal(z), square = to.Mul(inverse, inverse);
  constexpr double kSeries[] = {-1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240};
  const Tensor correction = to.Sub(to.Mul(square, PowerSeries(to, square, kSeries)), Times(to, inverse, 0.5));
  const Tensor between = SumOfTerms(to, to.Reciprocal(to.Add(ForTerms(to, y), Counting(to, kShift))));
  return to.Sub(to.Add(to.Log(z), correction), between);
}

Tensor DigammaOf(Lowering& to, Tensor x) {
  const Tensor reflected = to.Less(x, Double(to, 0.5));
  const Tensor positive = DigammaOfPositive(to, to.Where(reflected, Minus(to, 1, x), x));
  const Tensor angle = AngleToInteger(to, x);
  const Tensor cotangent = to.Div(to.Cos(angle), to.Sin(angle));
  const Tensor result = to.Where(reflected, to.Sub(positive, Times(to, cotangent, M_PI)), positive);
  const Tensor zero = Double(to, 0);
  const Tensor pole = to.And(to.Equal(angle, zero), to.Less(x, zero));
  return to.Where(to.Equal(x, zero), Minus(to, 0, to.Reciprocal(x)), to.Where(pole, Double(to, kNan), result));
}

// Hurwitz' ζ(s, q) = Σ (q + k)^-s, q > 0: the terms up to kTerms, the rest by Euler and Maclaurin.
Tensor ZetaOfPositive(Lowering& to, Tensor s, Tensor q) {
  constexpr int kTerms = 64;
  const Tensor power = to.Neg(s);
  const Tensor direct = SumOfTerms(to, to.Pow(to.Add(ForTerms(to, q), Counting(to, kTerms)), ForTerms(to, power)));
  const Tensor z = to.Add(q, Double(to, kTerms));
  const Tensor term = to.Pow(z, power), inverse = to.Reciprocal(z);
  // z^(1-s)/(s-1) + z^-s/2 + Σ B_2j/(2j)! · s(s+1)…(s+2j-2) · z^(1-s-2j).
  Tensor factor = to.Mul(s, inverse);
  Tensor tail = to.Add(to.Div(z, to.Sub(s, Double(to, 1))), Double(to, 0.5));
  constexpr double kBernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600};
  for (int j = 0; j < 4; ++j) {
    tail = to.Add(tail, Times(to, factor, kBernoulli[j]));
    if (j == 3) break;
    const Tensor next = to.Mul(to.Add(s, Double(to, 2 * j + 1)), to.Add(s, Double(to, 2 * j + 2)));
    factor = to.Mul(to.Mul(factor, next), to.Mul(inverse, inverse));
  }
  return to.Add(direct, to.Mul(term, tail));
}

// The terms below 0 are those of distances to integers: with f = q - ⌊q⌋ and a whole s, ζ(s, q) = ζ(s, f) ± (ζ(s, 1 - f) - ζ(s, 1 - q)).
Tensor ZetaOf(Lowering& to, Tensor s, Tensor q) {
  const Tensor zero = Double(to, 0), one = Double(to, 1), nan = Double(to, kNan), infinity = Double(to, kInfinity);
  const Tensor not_positive = to.LessOrEqual(q, zero), fraction = to.Sub(q, to.Floor(q));
  const Tensor places[] = {to.Where(not_positive, fraction, q), to.Sub(one, fraction), to.Sub(one, to.Where(not_positive, q, zero))};
  const Tensor at = to.Concat({ForTerms(to, places[0]), ForTerms(to, places[1]), ForTerms(to, places[2])}, {.axis = -1});
  const Tensor sums = ZetaOfPositive(to, ForTerms(to, s), at);
  const auto sum = [&](int64_t place) { return to.GatherIndex(sums, -1, to.Of(place)); };
  const Tensor below = to.Sub(sum(1), sum(2)), is_even = to.Equal(to.Floor(Times(to, s, 0.5)), Times(to, s, 0.5));
  Tensor result = to.Where(not_positive, to.Add(sum(0), to.Where(is_even, below, to.Neg(below))), sum(0));
  const Tensor pole = to.And(not_positive, to.Equal(q, to.Floor(q)));
  const Tensor undefined = to.And(not_positive, to.Not(to.Equal(s, to.Floor(s))));
  result = to.Where(undefined, nan, result);
  result = to.Where(pole, infinity, result);
  result = to.Where(to.Less(s, one), nan, result);
  return to.Where(to.Equal(s, one), infinity, result);
}

Tensor Zeta(Lowering& to, Tensor self, Tensor other) {
  const DType dtype = to.FloatDtype({self, other});
  return to.CastTo(ZetaOf(to, to.CastTo(self, DType::kFloat64), to.CastTo(other, DType::kFloat64)), dtype);
}

Tensor Polygamma(Lowering& to, int64_t n, Tensor self) {
  if (n == 0) return OfFloats<DigammaOf>(to, self);
  const double sign = n % 2 == 0 ? -1 : 1;
  return InDouble(to, to.ToFloat(self), [&](Tensor x) {
    const Tensor zeta = ZetaOf(to, Double(to, static_cast<double>(n) + 1), x);
    return Times(to, zeta, sign * std::tgamma(static_cast<double>(n) + 1));
  });
}

Tensor Mvlgamma(Lowering& to, Tensor self, int64_t p) {
  if (p < 1) throw onnx::BadOperand("takes a dimension of at least 1");
  std::vector<double> halves;
  for (int64_t j = 0, count = WrittenOut(p); j < count; ++j) halves.push_back(-0.5 * static_cast<double>(j));
  const double constant = 0.25 * static_cast<double>(p * (p - 1)) * std::log(M_PI);
  return InDouble(to, to.ToFloat(self), [&](Tensor x) {
    const Tensor each = LgammaOf(to, to.Add(ForTerms(to, x), DoubleVector(to, halves)));
    return to.Add(SumOfTerms(to, each), Double(to, constant));
  });
}

// --- error function ---------------------------------------------------------------------

Tensor ErfcxOf(Lowering& to, Tensor x) {
  const Tensor positive = ErfcxOfPositive(to, to.Abs(x));
  const Tensor of_negative = to.Sub(Times(to, to.Exp(to.Mul(x, x)), 2), positive);
  return to.Where(to.Less(x, Double(to, 0)), of_negative, positive);
}

// Not by 1 - erf(x), of which nothing is left where erf(x) is nearly 1.
Tensor ErfcOf(Lowering& to, Tensor x) {
  const Tensor size = to.Abs(x);
  const Tensor tail = to.Mul(to.Exp(to.Neg(to.Mul(x, x))), ErfcxOfPositive(to, size));
  return to.Where(to.Less(x, Double(to, 0)), Minus(to, 2, tail), tail);
}

// log((1 + erf(x/√2)) / 2), by the tail that is small.
Tensor LogNdtrOf(Lowering& to, Tensor x) {
  const Tensor z = Times(to, to.Abs(x), M_SQRT1_2), square = to.Mul(z, z);
  const Tensor half = Times(to, ErfcxOfPositive(to, z), 0.5);
  const Tensor lower = to.Sub(to.Log(half), square);
  const Tensor upper = onnx::Log1p(to, to.Neg(to.Mul(half, to.Exp(to.Neg(square)))));
  return to.Where(to.Less(x, Double(to, 0)), lower, upper);
}

// erfinv(y) from y and w = -log(1 - y²), which the callers know precisely.
Tensor ErfinvOf(Lowering& to, Tensor y, Tensor w) {
  constexpr double kNear[] = {
      1.6536545626830863,      0.75049432008051165,     -0.058922567100496946,   -0.022604447487556165,
      0.017808361710096234,    -0.0041373137496962462,  -0.0012716908850233268,  0.0012324802581008317,
      -0.0002644026435052266,  -0.00011686411142613041, 9.3400786940292383e-05,  -1.5096986970440772e-05,
      -1.1332753145338149e-05, 7.2519121131413463e-06,  -5.7889839726653214e-07, -1.1954270857283953e-06,
      4.5276017539087795e-07,  8.4691005587496353e-08,  -6.1027971484502723e-08};
  constexpr double kFar[] = {0.96632364841367735,     -0.036646183896854236,   0.00071608280998730416,
                             0.0040693661318934307,   -0.0011496112133832881,  0.00035774053477789796,
                             0.00010387918597678885,  0.00063770136935008671,  0.00077438269638847716,
                             0.00012404302371489355,  -0.0012348707319161205,  -0.00095802232946047192,
                             0.00098031204410165343,  0.001238669365831366,    -0.00050559065434984654,
                             -0.00086117601501414776, 0.00014130456360645,     0.00033304057748652274,
                             -6.118003959334269e-06,  -5.4200034699189082e-05, -6.2523703734695854e-06};
  const Tensor border = Double(to, 6.25);
  // Each polynomial sees only arguments that it was fitted for.
  const Tensor near = PowerSeries(to, to.Sub(Times(to, to.Min({w, border}), 1 / 3.125), Double(to, 1)), kNear);
  const Tensor root = to.Sqrt(to.Max({w, border}));
  const Tensor scaled = Times(to, to.Sub(to.Reciprocal(root), Double(to, 0.21813690625275028)), 1 / 0.1818630937472497);
  const Tensor far = to.Mul(root, PowerSeries(to, scaled, kFar));
  return to.Mul(y, to.Where(to.Greater(w, border), far, near));
}

Tensor Erfinv(Lowering& to, Tensor y) {
  const Tensor one = Double(to, 1);
  return ErfinvOf(to, y, to.Neg(to.Log(to.Mul(to.Sub(one, y), to.Add(one, y)))));
}

// √2 · erfinv(2p - 1).
Tensor NdtriOf(Lowering& to, Tensor p) {
  const Tensor y = to.Sub(Times(to, p, 2), Double(to, 1));
  const Tensor product = to.Mul(Times(to, p, 4), Minus(to, 1, p));
  return Times(to, ErfinvOf(to, y, to.Neg(to.Log(product))), M_SQRT2);
}

// --- incomplete gamma ----------------------------------------------------------------------

// x^a·e^-x / Γ(a).
Tensor GammaPrefix(Lowering& to, Tensor a, Tensor x) {
  return to.Exp(to.Sub(to.Sub(to.Mul(a, to.Log(x)), x), LgammaOf(to, a)));
}

struct Incomplete {
  Tensor lower, upper;  // they sum to 1
};

constexpr double kLargeA = 1500;  // from which on 300 terms are too few

Tensor ErfcOfDouble(Lowering& to, Tensor x) {
  const Tensor size = to.Abs(x), tail = to.Mul(onnx::ErfcxOfPositive(to, size), to.Exp(to.Neg(to.Mul(x, x))));
  return to.Where(to.Less(x, Double(to, 0)), Minus(to, 2, tail), tail);
}

// For large a, uniformly in x/a: DLMF 8.12.3 to 8.12.10, with two terms of the sum, each as a series around x = a; what
// is left out is below 1e-10.
Incomplete IncompleteGammaOfLarge(Lowering& to, Tensor a, Tensor x) {
  static constexpr double kFirst[] = {-1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835, -139.0 / 777600, 1.0 / 25515};
  static constexpr double kSecond[] = {-1.0 / 540, -1.0 / 288, 1.0 / 378, -77.0 / 77760, 1.0 / 4860};
  std::vector<double> near;  // 2(m - log(1 + m)) / m²
  for (int k = 0; k < 18; ++k) near.push_back((k % 2 == 0 ? 2.0 : -2.0) / (k + 2));
  const Tensor one = Double(to, 1), ratio = to.Div(x, a), m = to.Sub(ratio, one);
  const Tensor is_near = to.Less(to.Abs(m), Double(to, 0.1)), m_near = to.Where(is_near, m, Double(to, 0));
  const Tensor far = to.Mul(to.Sign(m), to.Sqrt(Times(to, to.Sub(m, to.Log(to.Where(is_near, one, ratio))), 2)));
  const Tensor eta = to.Where(is_near, to.Mul(m, to.Sqrt(PowerSeries(to, m_near, near))), far);
  const Tensor t = to.Mul(eta, to.Sqrt(Times(to, a, 0.5))), bounded = to.Max({to.Min({eta, one}), Double(to, -1)});
  const Tensor sum = to.Add(PowerSeries(to, bounded, kFirst), to.Div(PowerSeries(to, bounded, kSecond), a));
  const Tensor rest = to.Mul(to.Div(to.Exp(to.Neg(to.Mul(t, t))), to.Sqrt(Times(to, a, 2 * std::numbers::pi))), sum);
  return {to.Sub(Times(to, ErfcOfDouble(to, to.Neg(t)), 0.5), rest), to.Add(Times(to, ErfcOfDouble(to, t), 0.5), rest)};
}

// For x < a + 1 the lower one is x^a·e^-x/Γ(a) · Σ x^n / (a(a+1)…(a+n)), else the upper one
// is the same over a continued fraction; both are loops of a fixed length.
Incomplete IncompleteGamma(Lowering& to, Tensor a, Tensor x) {
  const Tensor one = Double(to, 1), zero = Double(to, 0);
  const Tensor small = to.Less(x, to.Add(a, one));
  const Dims sizes = to.Add(a, x).sizes();
  std::vector<Expr> shape;
  for (Dim dim : sizes) shape.push_back(dim.expr);
  const Type state = Type::OfTensor(DType::kFloat64, shape);
  const auto repeat = [&](int64_t trips, const std::vector<Tensor>& initial, const auto& step) {
    const BlockId body = to.Body([&] {
      const Tensor trip = to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
      const Tensor condition = to.AddBlockInput(Type::OfTensor(DType::kBool, {}));
      std::vector<Tensor> states;
      for (size_t i = 0; i < initial.size(); ++i) states.push_back(to.AddBlockInput(state));
      std::vector<Tensor> outputs = step(to.Add(to.CastTo(trip, DType::kFloat64), one), states);
      outputs.insert(outputs.begin(), to.Identity(condition));
      return outputs;
    });
    onnx::AttributeList attributes;
    attributes.Add("body", body);
    std::vector<Tensor> operands = {to.ConstantInt(trips), to.NumberOf(true, DType::kBool)};
    for (const Tensor& each : initial) operands.push_back(to.ExpandTo(each, sizes));
    return to.EmitCustom("Loop", operands, attributes, std::vector<Type>(initial.size(), state));
  };
  // term, sum
  const Tensor series = repeat(300, {one, one}, [&](Tensor n, const std::vector<Tensor>& s) {
    const Tensor term = to.Mul(s[0], to.Div(x, to.Add(a, n)));
    return std::vector<Tensor>{term, to.Add(s[1], term)};
  })[1];
  // Lentz: with b = x + 2n + 1 - a and an = n(a - n); C, D, the fraction
  const Tensor first = to.Add(to.Sub(x, a), one);
  const Tensor safe = to.Where(small, one, first);
  const Tensor fraction = repeat(
      300, {Double(to, 1e300), to.Reciprocal(safe), to.Reciprocal(safe)}, [&](Tensor n, const std::vector<Tensor>& s) {
        const Tensor an = to.Mul(n, to.Sub(a, n)), b = to.Add(safe, to.Add(n, n));
        const Tensor d = to.Reciprocal(to.Add(to.Mul(an, s[1]), b)), c = to.Add(b, to.Div(an, s[0]));
        return std::vector<Tensor>{c, d, to.Mul(s[2], to.Mul(c, d))};
      })[2];
  const Tensor prefix = GammaPrefix(to, a, x);
  const Tensor lower = to.Div(to.Mul(prefix, series), a), upper = to.Mul(prefix, fraction);
  Tensor p = to.Where(small, lower, to.Sub(one, upper)), q = to.Where(small, to.Sub(one, lower), upper);
  const Tensor is_large = to.Greater(a, Double(to, kLargeA));
  const Incomplete of_large = IncompleteGammaOfLarge(to, to.Where(is_large, a, Double(to, kLargeA)), x);
  p = to.Where(is_large, of_large.lower, p);
  q = to.Where(is_large, of_large.upper, q);
  // At the edges of the domain.
  const auto at = [&](Tensor where, double of_p, double of_q) {
    p = to.Where(where, Double(to, of_p), p);
    q = to.Where(where, Double(to, of_q), q);
  };
  at(to.Not(to.And(to.Equal(a, a), to.Equal(x, x))), kNan, kNan);
  at(to.IsInf(x), 1, 0);
  at(to.IsInf(a), 0, 1);  // also of NaN
  at(to.And(to.IsInf(a), to.IsInf(x)), kNan, kNan);
  at(to.Equal(x, zero), 0, 1);
  at(to.Equal(a, zero), 1, 0);
  at(to.And(to.Equal(a, zero), to.Not(to.Greater(x, zero))), kNan, kNan);
  at(to.Or(to.Less(x, zero), to.Less(a, zero)), kNan, kNan);
  return {p, q};
}

template <bool kUpper>
Tensor Igamma(Lowering& to, Tensor self, Tensor other) {
  const DType dtype = to.FloatDtype({self, other});
  const Incomplete both = IncompleteGamma(to, to.CastTo(self, DType::kFloat64), to.CastTo(other, DType::kFloat64));
  return to.CastTo(kUpper ? both.upper : both.lower, dtype);
}

constexpr OpRow kRows[] = {
    Op<OfFloats<DigammaOf>>("aten::digamma(Tensor self) -> Tensor"),
    Op<OfFloats<Erfinv>>("aten::erfinv(Tensor self) -> Tensor"),
    Op<OfFloats<ErfcOf>>("aten::erfc(Tensor self) -> Tensor"),
    Op<Igamma<false>>("aten::igamma(Tensor self, Tensor other) -> Tensor"),
    Op<Igamma<true>>("aten::igammac(Tensor self, Tensor other) -> Tensor"),
    Op<OfFloats<LgammaOf>>("aten::lgamma(Tensor self) -> Tensor"),
    Op<Mvlgamma>("aten::mvlgamma(Tensor self, int p) -> Tensor"),
    Op<Polygamma>("aten::polygamma(int n, Tensor self) -> Tensor"),
    Op<OfFloats<DigammaOf>>("aten::special_digamma(Tensor self) -> Tensor"),
    Op<OfFloats<ErfcxOf>>("aten::special_erfcx(Tensor self) -> Tensor"),
    Op<OfFloats<Erfinv>>("aten::special_erfinv(Tensor self) -> Tensor"),
    Op<OfFloats<ErfcOf>>("aten::special_erfc(Tensor self) -> Tensor"),
    Op<Igamma<false>>("aten::special_gammainc(Tensor self, Tensor other) -> Tensor"),
    Op<Igamma<true>>("aten::special_gammaincc(Tensor self, Tensor other) -> Tensor"),
    Op<OfFloats<LgammaOf>>("aten::special_gammaln(Tensor self) -> Tensor"),
    Op<OfFloats<LogNdtrOf>>("aten::special_log_ndtr(Tensor self) -> Tensor"),
    Op<Mvlgamma>("aten::special_multigammaln(Tensor self, int p) -> Tensor"),
    Op<OfFloats<NdtriOf>>("aten::special_ndtri(Tensor self) -> Tensor"),
    Op<Polygamma>("aten::special_polygamma(int n, Tensor self) -> Tensor"),
    Op<OfFloats<DigammaOf>>("aten::special_psi(Tensor self) -> Tensor"),
    Op<Zeta>("aten::special_zeta(Tensor self, Tensor other) -> Tensor"),
    Op<Zeta>("aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Zeta>("aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Special() { return kRows; }

}  // namespace flambeau::lower
