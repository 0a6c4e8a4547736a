// Bessel functions: power series for small arguments; for large ones Hankel's
// asymptotic series, or an integral by the trapezoid rule, which converges
// exponentially for these integrands.
#include "lower/ops/bessel.h"

#include <cmath>
#include <limits>

#include "lower/ops/elementwise.h"
#include "onnx/series.h"

namespace flambeau::lower {
namespace {

constexpr double kEulerGamma = 0.57721566490153286;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// --- J and Y -----------------------------------------------------------------------

constexpr double kBorder = 12;  // above, the asymptotic series are exact to float32's digits and more
constexpr int kTerms = 44;

// Σ sign^k · weight(k) · (x²/4)^k / (k! (k + order)!), |x| <= kBorder.
template <class F>
Tensor Series(Lowering& to, Tensor x, int order, double sign, F weight) {
  std::vector<double> coefficients;
  double term = 1;
  for (int k = 0; k < kTerms; ++k) {
    coefficients.push_back(term * weight(k));
    term *= sign / ((k + 1.0) * (k + 1.0 + order));
  }
  return PowerSeries(to, Times(to, to.Mul(x, x), 0.25), coefficients);
}

double Harmonic(int k) {
  double sum = 0;
  for (int i = 1; i <= k; ++i) sum += 1.0 / i;
  return sum;
}

double One(int) { return 1; }

Tensor SeriesJ(Lowering& to, Tensor x, int order) {
  const Tensor sum = Series(to, x, order, -1, One);
  return order == 0 ? sum : to.Mul(Times(to, x, 0.5), sum);
}

Tensor SeriesY(Lowering& to, Tensor x, int order) {
  const Tensor log = to.Add(to.Log(Times(to, x, 0.5)), Double(to, kEulerGamma));
  const Tensor first = to.Mul(log, SeriesJ(to, x, order));
  if (order == 0) return Times(to, to.Sub(first, Series(to, x, 0, -1, Harmonic)), 2 / M_PI);
  const Tensor sum = Series(to, x, 1, -1, [](int k) { return Harmonic(k) + Harmonic(k + 1); });
  const Tensor rest = to.Add(Times(to, to.Mul(x, sum), 0.25), to.Reciprocal(x));
  return Times(to, to.Sub(first, rest), 2 / M_PI);
}

struct Wave {
  Tensor cosine, sine;
};

// √(2/πx) · (P·cos φ - Q·sin φ) and its partner, φ = x - (order/2 + 1/4)·π.
Wave Hankel(Lowering& to, Tensor x, int order) {
  std::vector<double> p, q;  // in powers of 1/x²
  double term = 1;
  for (int k = 0; k < 14; ++k) {
    const double sign = (k / 2) % 2 == 0 ? 1 : -1;
    (k % 2 == 0 ? p : q).push_back(sign * term);
    const double odd = 2.0 * k + 1;
    term *= (4.0 * order * order - odd * odd) / (8.0 * (k + 1));
  }
  const Tensor inverse = to.Reciprocal(x), square = to.Mul(inverse, inverse);
  const Tensor phase = to.Sub(x, Double(to, (0.5 * order + 0.25) * M_PI));
  const Tensor even = PowerSeries(to, square, p), odd = to.Mul(inverse, PowerSeries(to, square, q));
  const Tensor cosine = to.Cos(phase), sine = to.Sin(phase), scale = to.Sqrt(Times(to, inverse, 2 / M_PI));
  return {to.Mul(scale, to.Sub(to.Mul(even, cosine), to.Mul(odd, sine))),
          to.Mul(scale, to.Add(to.Mul(even, sine), to.Mul(odd, cosine)))};
}

template <int kOrder>
Tensor BesselJ(Lowering& to, Tensor x) {
  const Tensor size = to.Abs(x), border = Double(to, kBorder);
  const Tensor small = SeriesJ(to, to.Min({size, border}), kOrder),
               large = Hankel(to, to.Max({size, border}), kOrder).cosine;
  Tensor result = to.Where(to.Less(size, border), small, large);
  if (kOrder == 1) result = to.Mul(result, to.Sign(x));
  return to.Where(to.IsInf(x), Double(to, 0), result);
}

template <int kOrder>
Tensor BesselY(Lowering& to, Tensor x) {
  const Tensor border = Double(to, kBorder);
  const Tensor small = SeriesY(to, to.Min({x, border}), kOrder), large = Hankel(to, to.Max({x, border}), kOrder).sine;
  const Tensor result = to.Where(to.Less(x, border), small, large);
  const Tensor at_zero = to.Where(to.Equal(x, Double(to, 0)), Double(to, -kInfinity), result);
  return to.Where(to.Less(x, Double(to, 0)), Double(to, kNan), at_zero);
}

Tensor SphericalJ0(Lowering& to, Tensor x) {
  const Tensor zero = Double(to, 0);
  const Tensor result = to.Where(to.Equal(x, zero), Double(to, 1), to.Div(to.Sin(x), x));
  return to.Where(to.IsInf(x), zero, result);
}

// --- I and K -----------------------------------------------------------------------

// e^-|x|·I(x) = mean over half a circle of cos(order·θ)·e^(|x|·(cos θ - 1)); the
// asymptotic series where the integrand gets too narrow for the grid.
template <int kOrder>
Tensor BesselIe(Lowering& to, Tensor x) {
  constexpr int kGrid = 96;
  std::vector<double> exponents, weights;
  for (int k = 0; k < kGrid; ++k) {
    const double angle = (k + 0.5) * M_PI / kGrid;
    exponents.push_back(std::cos(angle) - 1);
    weights.push_back((kOrder == 0 ? 1 : std::cos(angle)) / kGrid);
  }
  const Tensor size = to.Abs(x), border = Double(to, 300);
  const Tensor near = WeightedSum(to, to.Exp(to.Mul(ForTerms(to, to.Min({size, border})), DoubleVector(to, exponents))), weights);
  std::vector<double> series;
  double term = 1;
  for (int k = 0; k < 6; ++k) {
    series.push_back(term);
    const double odd = 2.0 * k + 1;
    term *= -(4.0 * kOrder * kOrder - odd * odd) / (8.0 * (k + 1));
  }
  const Tensor inverse = to.Reciprocal(to.Max({size, border}));
  const Tensor far = to.Mul(to.Sqrt(Times(to, inverse, 0.5 / M_PI)), PowerSeries(to, inverse, series));
  const Tensor result = to.Where(to.Less(size, border), near, far);
  return kOrder == 0 ? result : to.Mul(result, to.Sign(x));
}

template <int kOrder>
Tensor BesselI(Lowering& to, Tensor x) {
  return to.Mul(BesselIe<kOrder>(to, x), to.Exp(to.Abs(x)));
}

// K(x), 0 < x <= 2, by its series.
Tensor SmallK(Lowering& to, Tensor x, int order) {
  const Tensor log = to.Add(to.Log(Times(to, x, 0.5)), Double(to, kEulerGamma));
  const Tensor i = Series(to, x, order, 1, One);
  if (order == 0) return to.Sub(Series(to, x, 0, 1, Harmonic), to.Mul(log, i));
  const Tensor half = Times(to, x, 0.5);
  const Tensor sum = Series(to, x, 1, 1, [](int k) { return 0.5 * (Harmonic(k) + Harmonic(k + 1)); });
  return to.Add(to.Reciprocal(x), to.Mul(half, to.Sub(to.Mul(log, i), sum)));
}

// e^x·K(x), x >= 2: (2x)^-1/2 · ∫ e^(-v²)·g dv over all v; with u = v²/2x, g is
// (1 + u)^-1/2 for K0 and 2v²·(1 + u)^1/2 for K1.
Tensor LargeKe(Lowering& to, Tensor x, int order) {
  constexpr double kStep = 0.25;
  std::vector<double> squares, weights;
  for (double v = 0; v <= 6.5; v += kStep) {
    squares.push_back(v * v);
    weights.push_back((v == 0 ? 1 : 2) * kStep * std::exp(-v * v) * (order == 0 ? 1 : 2 * v * v));
  }
  const Tensor u = to.Div(DoubleVector(to, squares), Times(to, ForTerms(to, x), 2));
  const Tensor root = to.Sqrt(to.Add(u, Double(to, 1)));
  const Tensor integrand = order == 0 ? to.Reciprocal(root) : root;
  return to.Mul(WeightedSum(to, integrand, weights), to.Sqrt(Times(to, to.Reciprocal(x), 0.5)));
}

template <int kOrder, bool kScaled>
Tensor BesselK(Lowering& to, Tensor x) {
  const Tensor border = Double(to, 2), zero = Double(to, 0);
  const Tensor low = to.Min({x, border}), high = to.Max({x, border});
  Tensor small = SmallK(to, low, kOrder), large = LargeKe(to, high, kOrder);
  if (kScaled) {
    small = to.Mul(small, to.Exp(low));
  } else {
    large = to.Mul(large, to.Exp(to.Neg(high)));
  }
  const Tensor result = to.Where(to.LessOrEqual(x, border), small, large);
  const Tensor at_zero = to.Where(to.Equal(x, zero), Double(to, kInfinity), result);
  return to.Where(to.Less(x, zero), Double(to, kNan), at_zero);
}

// --- Airy ----------------------------------------------------------------------------

// c1·f(x³) - c2·x·g(x³), |x| <= 7.
Tensor AirySeries(Lowering& to, Tensor x) {
  std::vector<double> f, g;
  double a = 0.35502805388781724, b = 0.25881940379280680;
  for (int k = 0; k < 40; ++k) {
    f.push_back(a);
    g.push_back(b);
    a /= (3 * k + 2.0) * (3 * k + 3.0);
    b /= (3 * k + 3.0) * (3 * k + 4.0);
  }
  const Tensor cube = to.Mul(x, to.Mul(x, x));
  return to.Sub(PowerSeries(to, cube, f), to.Mul(x, PowerSeries(to, cube, g)));
}

// e^-ζ/π · ∫ e^(-√x·t²)·cos(t³/3) dt from 0 on, x >= 1, ζ = 2/3·x^(3/2).
Tensor AiryOfLarge(Lowering& to, Tensor x) {
  constexpr double kStep = 0.1;
  std::vector<double> squares, weights;
  for (double t = 0; t <= 6.5; t += kStep) {
    squares.push_back(-t * t);
    weights.push_back((t == 0 ? 0.5 : 1) * kStep * std::cos(t * t * t / 3) / M_PI);
  }
  const Tensor root = to.Sqrt(x);
  const Tensor integral =
      WeightedSum(to, to.Exp(to.Mul(ForTerms(to, root), DoubleVector(to, squares))), weights);
  return to.Mul(integral, to.Exp(Times(to, to.Mul(x, root), -2.0 / 3)));
}

// (sin φ·P - cos φ·Q) / (√π·y^1/4), φ = ζ + π/4, of Ai(-y), y >= 7.
Tensor AiryOfNegative(Lowering& to, Tensor y) {
  std::vector<double> p, q;
  double term = 1;
  for (int k = 0; k < 8; ++k) {
    (k % 2 == 0 ? p : q).push_back((k / 2) % 2 == 0 ? term : -term);
    term *= (6 * k + 5.0) * (6 * k + 3.0) * (6 * k + 1.0) / (216.0 * (k + 1) * (2 * k + 1));
  }
  const Tensor root = to.Sqrt(y), zeta = Times(to, to.Mul(y, root), 2.0 / 3), inverse = to.Reciprocal(zeta);
  const Tensor square = to.Mul(inverse, inverse), phase = to.Add(zeta, Double(to, M_PI / 4));
  const Tensor wave = to.Sub(to.Mul(to.Sin(phase), PowerSeries(to, square, p)),
                             to.Mul(to.Cos(phase), to.Mul(inverse, PowerSeries(to, square, q))));
  return Times(to, to.Div(wave, to.Sqrt(root)), 1 / std::sqrt(M_PI));
}

Tensor AiryAi(Lowering& to, Tensor x) {
  const Tensor low = Double(to, -7), high = Double(to, 2);
  const Tensor middle = AirySeries(to, to.Min({to.Max({x, low}), high}));
  const Tensor large = AiryOfLarge(to, to.Max({x, high})), negative = AiryOfNegative(to, to.Neg(to.Min({x, low})));
  const Tensor result = to.Where(to.Greater(x, high), large, to.Where(to.Less(x, low), negative, middle));
  return to.Where(to.Equal(x, Double(to, kInfinity)), Double(to, 0), result);
}

constexpr OpRow kRows[] = {
    Op<OfFloats<BesselI<0>>>("aten::i0(Tensor self) -> Tensor"),
    Op<OfFloats<AiryAi>>("aten::special_airy_ai(Tensor x) -> Tensor"),
    Op<OfFloats<BesselJ<0>>>("aten::special_bessel_j0(Tensor self) -> Tensor"),
    Op<OfFloats<BesselJ<1>>>("aten::special_bessel_j1(Tensor self) -> Tensor"),
    Op<OfFloats<BesselY<0>>>("aten::special_bessel_y0(Tensor self) -> Tensor"),
    Op<OfFloats<BesselY<1>>>("aten::special_bessel_y1(Tensor self) -> Tensor"),
    Op<OfFloats<BesselI<0>>>("aten::special_i0(Tensor self) -> Tensor"),
    Op<OfFloats<BesselIe<0>>>("aten::special_i0e(Tensor self) -> Tensor"),
    Op<OfFloats<BesselI<1>>>("aten::special_i1(Tensor self) -> Tensor"),
    Op<OfFloats<BesselIe<1>>>("aten::special_i1e(Tensor self) -> Tensor"),
    Op<OfFloats<BesselI<0>>>("aten::special_modified_bessel_i0(Tensor self) -> Tensor"),
    Op<OfFloats<BesselI<1>>>("aten::special_modified_bessel_i1(Tensor self) -> Tensor"),
    Op<OfFloats<BesselK<0, false>>>("aten::special_modified_bessel_k0(Tensor self) -> Tensor"),
    Op<OfFloats<BesselK<1, false>>>("aten::special_modified_bessel_k1(Tensor self) -> Tensor"),
    Op<OfFloats<BesselK<0, true>>>("aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor"),
    Op<OfFloats<BesselK<1, true>>>("aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor"),
    Op<OfFloats<SphericalJ0>>("aten::special_spherical_bessel_j0(Tensor x) -> Tensor"),
};

}  // namespace

Tensor BesselI0(Lowering& to, Tensor x) { return BesselI<0>(to, x); }

std::span<const OpRow> Bessel() { return kRows; }

}  // namespace flambeau::lower
