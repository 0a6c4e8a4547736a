#include "onnx/complex_functions.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace flambeau::onnx {

Tensor HasSign(Builder& to, const Tensor& x) {
  const Tensor zero = to.ConstantOf(0, x.dtype());
  if (!x.is_floating()) return to.Less(x, zero);
  // The reciprocal tells the zeros apart.
  return to.Less(to.Where(to.Equal(x, zero), to.Reciprocal(x), x), zero);
}

namespace {

// Of what is not negative. In float64, which onnxruntime's Atan does not take, a
// step from the float32 result: the sine of the angle that is missing is the
// cross product of both directions.
Tensor Arctangent(Builder& to, const Tensor& x) {
  if (x.dtype() != DType::kFloat64) return to.Atan(x);
  const Tensor rough = to.CastTo(to.Atan(to.CastTo(x, DType::kFloat32)), DType::kFloat64);
  const Tensor one = to.ConstantOf(1.0, DType::kFloat64), steep = to.Greater(x, one);
  const Tensor along = to.Where(steep, to.Reciprocal(x), one), across = to.Where(steep, one, x);
  const Tensor cross = to.Sub(to.Mul(across, to.Cos(rough)), to.Mul(along, to.Sin(rough)));
  const Tensor length = to.Sqrt(to.Add(to.Mul(along, along), to.Mul(across, across)));
  return to.Add(rough, to.Div(cross, length));
}

}  // namespace

// atan(y/x), turned by a half where x is negative. The quotient fails where it
// is 0/0 or inf/inf; there the diagonals are taken.
Tensor Angle(Builder& to, const Tensor& y, const Tensor& x) {
  const DType dtype = x.dtype();
  const Tensor zero = to.ConstantOf(0.0, dtype), one = to.ConstantOf(1.0, dtype);
  const Tensor ratio = to.Div(to.Abs(y), to.Abs(x));
  const Tensor both_zero = to.And(to.Equal(x, zero), to.Equal(y, zero));
  const Tensor both_infinite = to.And(to.IsInf(x), to.IsInf(y));
  const Tensor safe = to.Where(both_zero, zero, to.Where(both_infinite, one, ratio));
  const Tensor acute = Arctangent(to, safe);
  const Tensor angle = to.Where(HasSign(to, x), to.Sub(to.ConstantOf(std::numbers::pi, dtype), acute), acute);
  return to.Where(HasSign(to, y), to.Neg(angle), angle);
}

Tensor Magnitude(Builder& to, const Parts& z) {
  // In float64, squares of float32 neither overflow nor vanish.
  const DType dtype = z.re.dtype();
  auto square = [&](const Tensor& part) {
    const Tensor wide = to.CastTo(part, DType::kFloat64);
    return to.Mul(wide, wide);
  };
  return to.CastTo(to.Sqrt(to.Add(square(z.re), square(z.im))), dtype);
}

namespace {

Tensor Of(Builder& to, const Parts& z, double value) { return to.ConstantOf(value, z.re.dtype()); }
Parts Number(Builder& to, const Parts& like, double re, double im = 0) { return {Of(to, like, re), Of(to, like, im)}; }

// --- arithmetic ----------------------------------------------------------------

Parts Add(Builder& to, const Parts& a, const Parts& b) { return {to.Add(a.re, b.re), to.Add(a.im, b.im)}; }
Parts Sub(Builder& to, const Parts& a, const Parts& b) { return {to.Sub(a.re, b.re), to.Sub(a.im, b.im)}; }
Parts Times(Builder& to, const Parts& z, double factor) {
  const Tensor number = Of(to, z, factor);
  return {to.Mul(z.re, number), to.Mul(z.im, number)};
}
// ±i·z
Parts TimesI(Builder& to, const Parts& z) { return {to.Neg(z.im), z.re}; }
Parts TimesMinusI(Builder& to, const Parts& z) { return {z.im, to.Neg(z.re)}; }

Parts Mul(Builder& to, const Parts& a, const Parts& b) {
  return {to.Sub(to.Mul(a.re, b.re), to.Mul(a.im, b.im)), to.Add(to.Mul(a.re, b.im), to.Mul(a.im, b.re))};
}

// Divides by the larger part of the divisor first, as Smith does.
Parts Div(Builder& to, const Parts& a, const Parts& b) {
  const Tensor swap = to.Less(to.Abs(b.re), to.Abs(b.im));
  const Tensor large = to.Where(swap, b.im, b.re), small = to.Where(swap, b.re, b.im);
  // Of 0/0 the quotient shall be that of a and 0.
  const Tensor is_zero = to.Equal(large, Of(to, b, 0));
  const Tensor ratio = to.Where(is_zero, Of(to, b, 0), to.Div(small, large));
  const Tensor scale = to.Add(large, to.Mul(small, ratio));
  const Tensor re = to.Where(swap, to.Add(to.Mul(a.re, ratio), a.im), to.Add(a.re, to.Mul(a.im, ratio)));
  const Tensor im = to.Where(swap, to.Sub(to.Mul(a.im, ratio), a.re), to.Sub(a.im, to.Mul(a.re, ratio)));
  return {to.Div(re, scale), to.Div(im, scale)};
}

Parts Reciprocal(Builder& to, const Parts& z) { return Div(to, Number(to, z, 1), z); }

// z / |z|, and 0 of 0.
Parts Sign(Builder& to, const Parts& z) {
  const Tensor size = Magnitude(to, z);
  const Tensor divisor = to.Where(to.Equal(size, Of(to, z, 0)), Of(to, z, 1), size);
  return {to.Div(z.re, divisor), to.Div(z.im, divisor)};
}

// --- exponentials and logarithms -------------------------------------------------

Parts Exp(Builder& to, const Parts& z) {
  const Tensor size = to.Exp(z.re);
  // A real number stays real, whatever its size.
  const Tensor real = to.Equal(z.im, Of(to, z, 0));
  return {to.Where(real, size, to.Mul(size, to.Cos(z.im))), to.Where(real, z.im, to.Mul(size, to.Sin(z.im)))};
}

Parts Log(Builder& to, const Parts& z) { return {to.Log(Magnitude(to, z)), Angle(to, z.im, z.re)}; }

// √(|z| / 2 + |re| / 2) is one part without cancellation, im / 2√… the other.
Parts Sqrt(Builder& to, const Parts& z) {
  const Tensor half = Of(to, z, 0.5), zero = Of(to, z, 0);
  const Tensor large = to.Sqrt(to.Add(to.Mul(Magnitude(to, z), half), to.Mul(to.Abs(z.re), half)));
  const Tensor is_zero = to.Equal(large, zero);
  const Tensor small = to.Where(is_zero, zero, to.Div(to.Mul(to.Abs(z.im), half), large));
  const Tensor left = to.Less(z.re, zero);
  const Tensor im = to.Where(left, large, small);
  return {to.Where(left, small, large), to.Where(HasSign(to, z.im), to.Neg(im), im)};
}

// e^(b · log a); powers of 0 are 0 where the exponent's real part is positive, and infinite where it is negative. That of
// an exponent of 0 is undefined in PyTorch, too.
Parts Pow(Builder& to, const Parts& a, const Parts& b) {
  const Parts power = Exp(to, Mul(to, b, Log(to, a)));
  const Tensor zero = Of(to, a, 0), infinity = Of(to, a, std::numeric_limits<double>::infinity());
  const Tensor base_zero = to.And(to.Equal(a.re, zero), to.Equal(a.im, zero));
  const Tensor vanishes = to.And(base_zero, to.Greater(b.re, zero)), grows = to.And(base_zero, to.Less(b.re, zero));
  return {to.Where(vanishes, zero, to.Where(grows, infinity, power.re)), to.Where(vanishes, zero, power.im)};
}

Parts Sigmoid(Builder& to, const Parts& z) {
  const Parts grown = Exp(to, Times(to, z, -1));
  return Reciprocal(to, Add(to, Number(to, z, 1), grown));
}

// --- trigonometry ------------------------------------------------------------------

// ONNX's Sinh and Cosh take floats of all widths by way of its kernels' table. A real number stays real, whatever its size.
Parts Sinh(Builder& to, const Parts& z) {
  const Tensor im = to.Where(to.Equal(z.im, Of(to, z, 0)), z.im, to.Mul(to.Cosh(z.re), to.Sin(z.im)));
  return {to.Mul(to.Sinh(z.re), to.Cos(z.im)), im};
}
Parts Cosh(Builder& to, const Parts& z) {
  const Tensor im = to.Where(to.Equal(z.im, Of(to, z, 0)), z.im, to.Mul(to.Sinh(z.re), to.Sin(z.im)));
  return {to.Mul(to.Cosh(z.re), to.Cos(z.im)), im};
}
// (sinh 2x + i sin 2y) / (cosh 2x + cos 2y); far out it is ±1.
Parts Tanh(Builder& to, const Parts& z) {
  const Tensor border = Of(to, z, 20);
  const Tensor near = to.Min({to.Max({z.re, to.Neg(border)}), border});
  const Tensor two = Of(to, z, 2), x = to.Mul(near, two), y = to.Mul(z.im, two);
  const Tensor divisor = to.Add(to.Cosh(x), to.Cos(y));
  return {to.Div(to.Sinh(x), divisor), to.Div(to.Sin(y), divisor)};
}
Parts Sin(Builder& to, const Parts& z) { return TimesMinusI(to, Sinh(to, TimesI(to, z))); }
Parts Cos(Builder& to, const Parts& z) { return Cosh(to, TimesI(to, z)); }
Parts Tan(Builder& to, const Parts& z) { return TimesMinusI(to, Tanh(to, TimesI(to, z))); }

// 1 ± z, of which the imaginary part keeps the sign of a zero: it tells the sides of a branch cut.
Parts OnePlus(Builder& to, const Parts& z) { return {to.Add(Of(to, z, 1), z.re), z.im}; }
Parts OneMinus(Builder& to, const Parts& z) { return {to.Sub(Of(to, z, 1), z.re), to.Neg(z.im)}; }

// As Kahan has them: no square of z is taken, so branch cuts keep their sides.
Parts Asin(Builder& to, const Parts& z) {
  const Parts minus = Sqrt(to, OneMinus(to, z)), plus = Sqrt(to, OnePlus(to, z));
  const Tensor re = Angle(to, z.re, Mul(to, minus, plus).re);
  const Parts conjugate{minus.re, to.Neg(minus.im)};
  return {re, to.Asinh(Mul(to, conjugate, plus).im)};
}
Parts Acos(Builder& to, const Parts& z) {
  const Parts minus = Sqrt(to, OneMinus(to, z)), plus = Sqrt(to, OnePlus(to, z));
  const Parts conjugate{plus.re, to.Neg(plus.im)};
  return {to.Mul(Angle(to, minus.re, plus.re), Of(to, z, 2)), to.Asinh(Mul(to, conjugate, minus).im)};
}
Parts Asinh(Builder& to, const Parts& z) { return TimesMinusI(to, Asin(to, TimesI(to, z))); }
Parts Acosh(Builder& to, const Parts& z) {
  const Parts minus = Sqrt(to, {to.Sub(z.re, Of(to, z, 1)), z.im}), plus = Sqrt(to, OnePlus(to, z));
  const Parts conjugate{minus.re, to.Neg(minus.im)};
  return {to.Asinh(Mul(to, conjugate, plus).re), to.Mul(Angle(to, minus.im, plus.re), Of(to, z, 2))};
}
// (log(1 + z) - log(1 - z)) / 2
Parts Atanh(Builder& to, const Parts& z) {
  return Times(to, Sub(to, Log(to, OnePlus(to, z)), Log(to, OneMinus(to, z))), 0.5);
}
Parts Atan(Builder& to, const Parts& z) { return TimesMinusI(to, Atanh(to, TimesI(to, z))); }

// --- the tables --------------------------------------------------------------------

constexpr std::pair<std::string_view, UnaryFunction> kFunctions[] = {
    {"Acos", Acos}, {"Acosh", Acosh}, {"Asin", Asin}, {"Asinh", Asinh}, {"Atan", Atan},       {"Atanh", Atanh},
    {"Cos", Cos},   {"Cosh", Cosh},   {"Exp", Exp},   {"Log", Log},     {"Reciprocal", Reciprocal},
    {"Sigmoid", Sigmoid}, {"Sign", Sign}, {"Sin", Sin}, {"Sinh", Sinh}, {"Sqrt", Sqrt},       {"Tan", Tan},
    {"Tanh", Tanh},
};
constexpr std::pair<std::string_view, BinaryFunction> kOperations[] = {{"Div", Div}, {"Mul", Mul}, {"Pow", Pow}};

template <class Table>
auto Lookup(const Table& table, std::string_view op) -> decltype(table[0].second) {
  for (const auto& [name, function] : table)
    if (name == op) return function;
  return nullptr;
}

}  // namespace

UnaryFunction ComplexFunction(std::string_view op) { return Lookup(kFunctions, op); }
BinaryFunction ComplexOperation(std::string_view op) { return Lookup(kOperations, op); }

}  // namespace flambeau::onnx
