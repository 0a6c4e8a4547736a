// Policies for operators that ONNX has as they are: used in rows.
#pragma once

#include <algorithm>

#include "lower/op.h"

namespace flambeau::lower {

// A string as a template argument.
template <size_t N>
struct Text {
  char characters[N];
  consteval Text(const char (&text)[N]) { std::copy_n(text, N, characters); }
  constexpr std::string_view view() const { return {characters, N - 1}; }
};

// One ONNX operator of one operand, dtype kept.
template <Text kOp>
Tensor Unary(Lowering& to, Tensor self) {
  return to.Emit(kOp.view(), {&self, 1}, {}, 1).front();
}

// The same for functions that give floats of integers: sin, exp, sqrt, …
template <Text kOp>
Tensor UnaryFloat(Lowering& to, Tensor self) {
  const Tensor x = to.ToFloat(self);
  return to.Emit(kOp.view(), {&x, 1}, {}, 1).front();
}

// Whatever it does, integers of any kind come out as they are: floor, round, nan_to_num, …
template <auto kOfFloat>
Tensor IntegersAsTheyAre(Lowering& to, Tensor self) {
  return self.is_floating() ? kOfFloat(to, self) : self;
}

// One ONNX operator of two operands in their common dtype.
template <Text kOp>
Tensor Binary(Lowering& to, Tensor self, Tensor other) {
  const DType dtype = to.PromotedDtype({self, other});
  const Tensor operands[] = {to.CastTo(self, dtype), to.CastTo(other, dtype)};
  return to.Emit(kOp.view(), operands, {}, 1).front();
}

// The operands cast to the dtype in which the operator computes.
struct Operands {
  DType dtype;
  Tensor a, b;
};
inline Operands Promoted(Lowering& to, Tensor a, Tensor b) {
  const DType dtype = to.PromotedDtype({a, b});
  return {dtype, to.CastTo(a, dtype), to.CastTo(b, dtype)};
}
inline Operands PromotedToFloat(Lowering& to, Tensor a, Tensor b) {
  const DType dtype = to.FloatDtype({a, b});
  return {dtype, to.CastTo(a, dtype), to.CastTo(b, dtype)};
}

// Computes in float64 what loses digits in the dtype itself (exp(x) - 1 near 0),
// and rounds back.
template <class F>
Tensor InDouble(Lowering& to, Tensor x, F compute) {
  const DType dtype = x.dtype();
  return to.CastTo(compute(to.CastTo(x, x.is_complex() ? DType::kComplex128 : DType::kFloat64)), dtype);
}
Tensor Log(Lowering& to, Tensor self);
// Of real floats, to a base. Exact at its powers, of which a quotient an ulp too small would make `floor` give one too few.
Tensor Logarithm(Lowering& to, Tensor x, int base);
// exp(x) - 1 and log(1 + x), with their digits near 0.
Tensor Expm1(Lowering& to, Tensor self);
Tensor Log1p(Lowering& to, Tensor self);

// A function of float64 as a translator of one operand.
template <Tensor (*kOfDouble)(Lowering&, Tensor)>
Tensor OfFloats(Lowering& to, Tensor self) {
  return InDouble(to, to.ToFloat(self), [&](Tensor x) { return kOfDouble(to, x); });
}

}  // namespace flambeau::lower
