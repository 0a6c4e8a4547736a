// One operand, one result of its shape.
#include "lower/ops/elementwise.h"

#include <cmath>

#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/activation.h"
#include "lower/ops/arithmetic.h"
#include "onnx/complex.h"
#include "onnx/near_zero.h"
#include "support/numeric.h"

namespace flambeau::lower {

// onnxruntime's Sigmoid is 0 far below 0 (-18 in float32), where PyTorch's is not, but of half precision.
Tensor Log(Lowering& to, Tensor self) {
  const bool is_exact = self.dtype() == DType::kFloat32 || self.dtype() == DType::kFloat64;
  const Tensor logits = is_exact ? to.OperandOf(self, "Sigmoid") : Tensor();
  return logits ? LogSigmoid(to, logits) : UnaryFloat<"Log">(to, self);
}

Tensor Logarithm(Lowering& to, Tensor x, int base) {
  const auto number = [&](double value) { return to.NumberOf(value, x.dtype()); };
  const Tensor quotient = to.Div(to.Log(x), number(std::log(base))), power = to.Round(quotient);
  return to.Where(to.Equal(to.Pow(number(base), power), x), power, quotient);
}

Tensor Expm1(Lowering& to, Tensor self) {
  return InDouble(to, to.ToFloat(self), [&](Tensor x) {
    return x.is_complex() ? to.Sub(to.Exp(x), to.NumberOf(1.0, x.dtype())) : onnx::Expm1(to, x);
  });
}

Tensor Log1p(Lowering& to, Tensor self) {
  return InDouble(to, to.ToFloat(self), [&](Tensor x) {
    // x - -1: a sum with 1 loses the sign of an imaginary part of -0.0, which tells the sides of the branch cut.
    return x.is_complex() ? to.Log(to.Sub(x, to.NumberOf(-1.0, x.dtype()))) : onnx::Log1p(to, x);
  });
}

namespace {

Tensor Identity(Lowering&, Tensor self) { return self; }

// --- rounding ------------------------------------------------------------------

Tensor Truncated(Lowering& to, Tensor x) {
  // -0.5 gives -0, as sign(x)·⌊|x|⌋ does; infinities pass.
  return to.Mul(to.Sign(x), to.Floor(to.Abs(x)));
}

Tensor Frac(Lowering& to, Tensor self) { return to.Mod(self, to.NumberOf(1.0, self.dtype()), {.fmod = 1}); }

Tensor RoundDecimals(Lowering& to, Tensor self, Dim decimals) {
  if (!self.is_floating()) return self;
  const auto known = to.AsConstant(decimals);
  if (known == 0) return to.Round(self);
  const Tensor ten = to.NumberOf(10.0, self.dtype()), digits = to.NumberOf(decimals, self.dtype());
  const Tensor scale = known ? to.NumberOf(std::pow(10.0, std::abs(static_cast<double>(*known))), self.dtype()) : to.Pow(ten, to.Abs(digits));
  auto after_point = [&] { return to.Div(to.Round(to.Mul(self, scale)), scale); };
  auto before_point = [&] { return to.Mul(to.Round(to.Div(self, scale)), scale); };
  if (known) return *known > 0 ? after_point() : before_point();
  return to.Where(to.Less(digits, to.NumberOf(0.0, self.dtype())), before_point(), after_point());
}

// --- powers, exponentials, logarithms ----------------------------------------------

Tensor Square(Lowering& to, Tensor self) { return Pow(to, self, internal::AsResult(to, Scalar(2))); }

Tensor Rsqrt(Lowering& to, Tensor self) { return to.Reciprocal(to.Sqrt(to.ToFloat(self))); }

Tensor Exp2(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self);
  return to.Pow(to.NumberOf(2.0, x.dtype()), x);
}

template <int kBase>
Tensor LogToBase(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self);
  if (!x.is_complex()) return Logarithm(to, x, kBase);
  // Part by part: -inf by a complex number would have no imaginary part.
  const Tensor pairs = onnx::Pairs(to, to.Log(x));
  return onnx::OfPairs(to, to.Div(pairs, to.NumberOf(std::log(static_cast<double>(kBase)), pairs.dtype())));
}

Tensor Logit(Lowering& to, Tensor self, std::optional<Scalar> eps) {
  Tensor x = to.ToFloat(self);
  const Tensor one = to.NumberOf(1.0, x.dtype());
  if (eps) {
    const Tensor least = to.NumberOf(*eps, x.dtype()), most = to.Sub(one, least);
    // Of crossed bounds PyTorch asks for the lower one first, and Clip for the upper one.
    const bool in_order = eps->is_constant() && eps->AsDouble() <= 0.5;
    x = in_order ? to.Clip(x, least, most) : to.Where(to.Less(x, least), least, to.Min({x, most}));
  }
  return to.Log(to.Div(x, to.Sub(one, x)));
}

Tensor Entr(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self), zero = to.NumberOf(0.0, x.dtype());
  const Tensor infinity = to.NumberOf(-std::numeric_limits<double>::infinity(), x.dtype());
  const Tensor inside = to.Where(to.Equal(x, zero), zero, to.Neg(to.Mul(x, to.Log(x))));
  return to.Where(to.Less(x, zero), infinity, inside);
}

Tensor Sinc(Lowering& to, Tensor self) {
  const Tensor given = to.ToFloat(self), x = to.CastTo(given, AccumulationDtype(given.dtype()));
  const Tensor scaled = to.Mul(x, to.NumberOf(M_PI, x.dtype()));
  const Tensor is_zero = to.Equal(x, to.NumberOf(0.0, x.dtype()));
  return to.CastTo(to.Where(is_zero, to.NumberOf(1.0, x.dtype()), to.Div(to.Sin(scaled), scaled)), given.dtype());
}

// The normal distribution's integral: (1 + erf(x/√2)) / 2.
Tensor Ndtr(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self);
  const Tensor erf = to.Erf(to.Mul(x, to.NumberOf(M_SQRT1_2, x.dtype())));
  return to.Mul(to.Add(erf, to.NumberOf(1.0, x.dtype())), to.NumberOf(0.5, x.dtype()));
}

Tensor Deg2Rad(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self);
  return to.Mul(x, to.NumberOf(M_PI / 180, x.dtype()));
}

Tensor Rad2Deg(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self);
  return to.Mul(x, to.NumberOf(180 / M_PI, x.dtype()));
}

// --- signs -------------------------------------------------------------------------

Tensor Abs(Lowering& to, Tensor self) { return self.is_bool() ? self : to.Abs(self); }

// ONNX's sign of NaN is NaN, PyTorch's is 0.
Tensor Sign(Lowering& to, Tensor self) {
  if (self.is_bool()) return self;
  if (MayBeWide(to, self)) {  // of which onnxruntime's Sign looks at the lower half
    const Tensor zero = to.NumberOf(0, self.dtype());
    return to.Sub(to.CastTo(to.Less(zero, self), self.dtype()), to.CastTo(to.Less(self, zero), self.dtype()));
  }
  const Tensor sign = to.Sign(self);
  return self.is_floating() ? to.Where(to.IsNaN(self), to.NumberOf(0.0, self.dtype()), sign) : sign;
}

// --- what is not a number ------------------------------------------------------------

Tensor Everywhere(Lowering& to, Tensor self, bool value) { return to.Full(self.sizes(), value, DType::kBool); }

bool HoldsFloats(const Tensor& tensor) { return tensor.is_floating() || tensor.is_complex(); }

Tensor Isnan(Lowering& to, Tensor self) { return HoldsFloats(self) ? to.IsNaN(self) : Everywhere(to, self, false); }
Tensor Isinf(Lowering& to, Tensor self) { return HoldsFloats(self) ? to.IsInf(self) : Everywhere(to, self, false); }

Tensor Isposinf(Lowering& to, Tensor self) {
  return self.is_floating() ? to.IsInf(self, {.detect_negative = 0}) : Everywhere(to, self, false);
}

Tensor Isneginf(Lowering& to, Tensor self) {
  return self.is_floating() ? to.IsInf(self, {.detect_positive = 0}) : Everywhere(to, self, false);
}

Tensor Isfinite(Lowering& to, Tensor self) {
  return HoldsFloats(self) ? to.Not(to.Or(to.IsInf(self), to.IsNaN(self))) : Everywhere(to, self, true);
}

Tensor Isreal(Lowering& to, Tensor self) {
  if (!self.is_complex()) return Everywhere(to, self, true);
  const Tensor imaginary = onnx::PartsOf(to, self).im;
  return to.Equal(imaginary, to.NumberOf(0.0, imaginary.dtype()));
}

Tensor NanToNum(Lowering& to, Tensor self, std::optional<Scalar> nan, std::optional<Scalar> posinf,
                std::optional<Scalar> neginf) {
  if (self.is_complex()) {
    const onnx::Parts parts = onnx::PartsOf(to, self);
    return onnx::ComplexOf(to, {NanToNum(to, parts.re, nan, posinf, neginf), NanToNum(to, parts.im, nan, posinf, neginf)});
  }
  if (!self.is_floating()) return self;
  auto number = [&](const Scalar& value) { return to.NumberOf(value, self.dtype()); };
  const double largest = LargestFinite(self.dtype());
  Tensor x = to.Where(to.IsNaN(self), number(nan.value_or(0.0)), self);
  x = to.Where(to.IsInf(self, {.detect_negative = 0}), number(posinf.value_or(largest)), x);
  return to.Where(to.IsInf(self, {.detect_positive = 0}), number(neginf.value_or(-largest)), x);
}

constexpr OpRow kRows[] = {
    Op<Unary<"Neg">>("aten::_neg_view(Tensor(a) self) -> Tensor(a)"),
    Op<Unary<"Neg">>("aten::_neg_view_copy(Tensor self) -> Tensor"),
    Op<Abs>("aten::abs(Tensor self) -> Tensor"),
    Op<Abs>("aten::absolute(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Acos">>("aten::acos(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Acosh">>("aten::acosh(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Acos">>("aten::arccos(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Acosh">>("aten::arccosh(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Asin">>("aten::arcsin(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Asinh">>("aten::arcsinh(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Atan">>("aten::arctan(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Atanh">>("aten::arctanh(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Asin">>("aten::asin(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Asinh">>("aten::asinh(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Atan">>("aten::atan(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Atanh">>("aten::atanh(Tensor self) -> Tensor"),
    Op<IntegersAsTheyAre<Unary<"Ceil">>>("aten::ceil(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Cos">>("aten::cos(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Cosh">>("aten::cosh(Tensor self) -> Tensor"),
    Op<Deg2Rad>("aten::deg2rad(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Erf">>("aten::erf(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Exp">>("aten::exp(Tensor self) -> Tensor"),
    Op<Exp2>("aten::exp2(Tensor self) -> Tensor"),
    Op<Expm1>("aten::expm1(Tensor self) -> Tensor"),
    Op<IntegersAsTheyAre<Truncated>>("aten::fix(Tensor self) -> Tensor"),
    Op<IntegersAsTheyAre<Unary<"Floor">>>("aten::floor(Tensor self) -> Tensor"),
    Op<Frac>("aten::frac(Tensor self) -> Tensor"),
    Op<Isfinite>("aten::isfinite(Tensor self) -> Tensor"),
    Op<Isinf>("aten::isinf(Tensor self) -> Tensor"),
    Op<Isnan>("aten::isnan(Tensor self) -> Tensor"),
    Op<Isneginf>("aten::isneginf(Tensor self) -> Tensor"),
    Op<Isposinf>("aten::isposinf(Tensor self) -> Tensor"),
    Op<Isreal>("aten::isreal(Tensor self) -> Tensor"),
    Op<Log>("aten::log(Tensor self) -> Tensor"),
    Op<LogToBase<10>>("aten::log10(Tensor self) -> Tensor"),
    Op<Log1p>("aten::log1p(Tensor self) -> Tensor"),
    Op<LogToBase<2>>("aten::log2(Tensor self) -> Tensor"),
    Op<Logit>("aten::logit(Tensor self, float? eps=None) -> Tensor"),
    Op<NanToNum>("aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"),
    Op<Unary<"Neg">>("aten::neg(Tensor self) -> Tensor"),
    Op<Unary<"Neg">>("aten::negative(Tensor self) -> Tensor"),
    Op<Identity>("aten::positive(Tensor(a) self) -> Tensor(a)"),
    Op<Rad2Deg>("aten::rad2deg(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Reciprocal">>("aten::reciprocal(Tensor self) -> Tensor"),
    Op<IntegersAsTheyAre<Unary<"Round">>>("aten::round(Tensor self) -> Tensor"),
    Op<RoundDecimals>("aten::round.decimals(Tensor self, *, int decimals) -> Tensor"),
    Op<Rsqrt>("aten::rsqrt(Tensor self) -> Tensor"),
    Op<Sign>("aten::sgn(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Sigmoid">>("aten::sigmoid(Tensor self) -> Tensor"),
    Op<Sign>("aten::sign(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Sin">>("aten::sin(Tensor self) -> Tensor"),
    Op<Sinc>("aten::sinc(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Sinh">>("aten::sinh(Tensor self) -> Tensor"),
    Op<Entr>("aten::special_entr(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Erf">>("aten::special_erf(Tensor self) -> Tensor"),
    Op<Exp2>("aten::special_exp2(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Sigmoid">>("aten::special_expit(Tensor self) -> Tensor"),
    Op<Expm1>("aten::special_expm1(Tensor self) -> Tensor"),
    Op<Log1p>("aten::special_log1p(Tensor self) -> Tensor"),
    Op<Logit>("aten::special_logit(Tensor self, float? eps=None) -> Tensor"),
    Op<Ndtr>("aten::special_ndtr(Tensor self) -> Tensor"),
    Op<RoundDecimals>("aten::special_round(Tensor self, *, int decimals=0) -> Tensor"),
    Op<Sinc>("aten::special_sinc(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Sqrt">>("aten::sqrt(Tensor self) -> Tensor"),
    Op<Square>("aten::square(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Tan">>("aten::tan(Tensor self) -> Tensor"),
    Op<UnaryFloat<"Tanh">>("aten::tanh(Tensor self) -> Tensor"),
    Op<IntegersAsTheyAre<Truncated>>("aten::trunc(Tensor self) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Elementwise() { return kRows; }

}  // namespace flambeau::lower
