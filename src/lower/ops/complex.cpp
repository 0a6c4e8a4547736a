// Complex tensors, which ONNX sees as pairs (real, imaginary) on a trailing axis
// of real dtype.
#include "lower/op.h"

namespace flambeau::lower {
namespace {

Tensor Same(Lowering&, Tensor self) { return self; }

bool IsComplexOperand(Lowering& to, uint32_t index) {
  return IsComplex(to.aten().type(to.aten().operand(to.node(), index)).dtype);
}

// One half of each pair; a real tensor is its own real part.
template <int64_t kPart>
Tensor Part(Lowering& to, Tensor self) {
  return IsComplexOperand(to, 0) ? to.GatherIndex(self, self.rank() - 1, to.Of(kPart)) : self;
}

Tensor Conj(Lowering& to, Tensor self) {
  if (!IsComplexOperand(to, 0)) return self;
  const double signs[] = {1, -1};
  const int64_t two = 2;
  return to.Mul(self, to.ConstantFloats(signs, self.dtype(), {&two, 1}));
}

Tensor Complex(Lowering& to, Tensor real, Tensor imag) {
  const DType dtype = to.PromotedDtype({real, imag});
  const Tensor zero = to.ConstantOf(int64_t{0}, dtype);
  // Either may be the larger: adding zeros broadcasts.
  const bool equal = real.sizes() == imag.sizes();
  Tensor x = to.CastTo(real, dtype), y = to.CastTo(imag, dtype);
  if (!equal) {
    const Tensor zero_of_real = to.Mul(x, zero);
    x = to.Add(x, to.Mul(y, zero));
    y = to.Add(y, zero_of_real);
  }
  return to.Concat({to.UnsqueezeAt(x, {x.rank()}), to.UnsqueezeAt(y, {y.rank()})}, {.axis = x.rank()});
}

constexpr OpRow kRows[] = {
    Op<Conj>("aten::_conj(Tensor(a) self) -> Tensor(a)").WithComplex(),
    Op<Conj>("aten::_conj_physical(Tensor self) -> Tensor").WithComplex(),
    Op<Complex>("aten::complex(Tensor real, Tensor imag) -> Tensor").WithComplex(),
    Op<Conj>("aten::conj(Tensor(a) self) -> Tensor(a)").WithComplex(),
    Op<Conj>("aten::conj_physical(Tensor self) -> Tensor").WithComplex(),
    Op<Part<1>>("aten::imag(Tensor(a) self) -> Tensor(a)").WithComplex(),
    Op<Part<0>>("aten::real(Tensor(a) self) -> Tensor(a)").WithComplex(),
    Op<Same>("aten::resolve_conj(Tensor(a) self) -> Tensor(a)").WithComplex(),
    Op<Same>("aten::view_as_complex(Tensor(a) self) -> Tensor(a)").WithComplex(),
    Op<Same>("aten::view_as_complex_copy(Tensor self) -> Tensor").WithComplex(),
    Op<Same>("aten::view_as_real(Tensor(a) self) -> Tensor(a)").WithComplex(),
    Op<Same>("aten::view_as_real_copy(Tensor self) -> Tensor").WithComplex(),
};

}  // namespace

std::span<const OpRow> ComplexNumbers() { return kRows; }

}  // namespace flambeau::lower
