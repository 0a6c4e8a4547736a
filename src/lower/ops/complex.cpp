// Between complex tensors and their parts. How complex tensors are computed with:
// onnx/complex.h.
#include "onnx/complex.h"

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/elementwise.h"
#include "onnx/complex_functions.h"

namespace flambeau::lower {

Tensor Conj(Lowering& to, Tensor self) {
  if (!self.is_complex()) return self;
  const double signs[] = {1, -1};
  const int64_t two = 2;
  return onnx::OfPairs(to, to.Mul(onnx::Pairs(to, self), to.ConstantFloats(signs, onnx::PartDtype(self.dtype()), {&two, 1})));
}

Tensor RealPart(Lowering& to, Tensor self) { return self.is_complex() ? onnx::PartsOf(to, self).re : self; }
Tensor ImaginaryPart(Lowering& to, Tensor self) { return onnx::PartsOf(to, self).im; }

DType RealDtype(const Tensor& tensor) { return tensor.is_complex() ? onnx::PartDtype(tensor.dtype()) : tensor.dtype(); }

Tensor SquaredSize(Lowering& to, Tensor self) {
  if (!self.is_complex()) return to.Mul(self, self);
  const onnx::Parts parts = onnx::PartsOf(to, self);
  return to.Add(to.Mul(parts.re, parts.re), to.Mul(parts.im, parts.im));
}

namespace {

Tensor Same(Lowering&, Tensor self) { return self; }

Tensor ViewAsReal(Lowering& to, Tensor self) { return onnx::Pairs(to, self); }
Tensor ViewAsComplex(Lowering& to, Tensor self) { return onnx::OfPairs(to, self); }

Tensor Complex(Lowering& to, Tensor real, Tensor imag) {
  const auto [dtype, re, im] = Promoted(to, real, imag);
  return onnx::ComplexOf(to, {re, im});
}

Tensor Polar(Lowering& to, Tensor abs, Tensor angle) {
  return onnx::ComplexOf(to, {to.Mul(abs, to.Cos(angle)), to.Mul(abs, to.Sin(angle))});
}

// Of a real number 0 or π.
Tensor Angle(Lowering& to, Tensor self) {
  if (self.is_complex()) {
    const onnx::Parts parts = onnx::PartsOf(to, self);
    return onnx::Angle(to, parts.im, parts.re);
  }
  const Tensor x = to.ToFloat(self), zero = to.NumberOf(0.0, x.dtype());
  const Tensor angle = to.Where(to.Less(x, zero), to.NumberOf(M_PI, x.dtype()), zero);
  return x.is_floating() && self.is_floating() ? to.Where(to.IsNaN(x), x, angle) : angle;
}

constexpr OpRow kRows[] = {
    Op<Conj>("aten::_conj(Tensor(a) self) -> Tensor(a)"),
    Op<Conj>("aten::_conj_copy(Tensor self) -> Tensor"),
    Op<Conj>("aten::_conj_physical(Tensor self) -> Tensor"),
    Op<Angle>("aten::angle(Tensor self) -> Tensor"),
    Op<Complex>("aten::complex(Tensor real, Tensor imag) -> Tensor"),
    Op<Conj>("aten::conj(Tensor(a) self) -> Tensor(a)"),
    Op<Conj>("aten::conj_physical(Tensor self) -> Tensor"),
    Op<ImaginaryPart>("aten::imag(Tensor(a) self) -> Tensor(a)"),
    Op<Polar>("aten::polar(Tensor abs, Tensor angle) -> Tensor"),
    Op<RealPart>("aten::real(Tensor(a) self) -> Tensor(a)"),
    Op<Same>("aten::resolve_conj(Tensor(a) self) -> Tensor(a)"),
    Op<ViewAsComplex>("aten::view_as_complex(Tensor(a) self) -> Tensor(a)"),
    Op<ViewAsComplex>("aten::view_as_complex_copy(Tensor self) -> Tensor"),
    Op<ViewAsReal>("aten::view_as_real(Tensor(a) self) -> Tensor(a)"),
    Op<ViewAsReal>("aten::view_as_real_copy(Tensor self) -> Tensor"),
};

}  // namespace

std::span<const OpRow> ComplexNumbers() { return kRows; }

}  // namespace flambeau::lower
