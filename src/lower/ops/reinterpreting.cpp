// The same bytes as elements of another type: by arithmetic, for ONNX's BitCast is of opset 26, and between types of one width.
#include "lower/op.h"
#include "lower/ops/arithmetic.h"
#include "lower/ops/float_parts.h"

namespace flambeau::lower {
namespace {

constexpr Restriction kOtherBits{"complex numbers, and floats of 8 bits where the width changes",
                                 "torch.ones(2, 4).view(torch.complex64)", "their bits are no integer that ONNX's operators compute with"};

bool IsOfBits(DType dtype) { return dtype == DType::kBool || IsInteger(dtype) || HasBits(dtype); }

// The bits of each element as an integer, negative where the first bit is set.
Tensor IntegerOf(Lowering& to, Tensor self) {
  if (HasBits(self.dtype())) return BitsOf(to, self);
  return to.CastTo(self, DType::kInt64);
}

Tensor OfInteger(Lowering& to, Tensor bits, DType dtype) {
  // Between integers, wrapping around is the same as the bits.
  return HasBits(dtype) ? FromBits(to, bits, dtype) : to.CastTo(bits, dtype);
}

// What the lowest `width` bits are, which may be all, if the first of them is the sign.
Tensor Signed(Lowering& to, Tensor bits, int64_t width) {
  if (width == 64) return bits;
  const Tensor half = to.ConstantInt(int64_t{1} << (width - 1)), whole = to.ConstantInt(int64_t{1} << width);
  return to.Sub(to.Mod(to.Add(bits, half), whole), half);
}

// 1, 2^width, 2^(2·width), …
Tensor Places(Lowering& to, int64_t count, int64_t width) {
  Ints places;
  for (int64_t i = 0; i < count; ++i) places.push_back(int64_t{1} << (i * width));
  return to.ConstantInts(places);
}

// Bytes are in the order of all machines that onnxruntime is built for: the lowest first.
Tensor ViewDtype(Lowering& to, Tensor self, DType dtype) {
  const DType from = self.dtype();
  const int64_t given = ByteSize(from), asked = ByteSize(dtype);
  if (dtype == from) return self;
  if (given == asked && IsOfBits(from) != IsOfBits(dtype) && !IsComplex(from) && !IsComplex(dtype))
    return to.BitCast(self, {.to = Info(dtype).onnx_code});  // floats of 8 bits
  if (!IsOfBits(from) || !IsOfBits(dtype)) return to.Unsupported(kOtherBits);
  if (given == asked && !HasBits(from) && !HasBits(dtype)) return to.CastTo(self, dtype);
  if (given == asked && to.Has("BitCast")) return to.BitCast(self, {.to = Info(dtype).onnx_code});
  const Tensor bits = IntegerOf(to, self);
  if (given == asked) return OfInteger(to, bits, dtype);
  if (!to.RequireRank(self, "self") || self.rank() == 0) return to.Unsupported(kOtherBits);
  const int64_t width = 8 * std::min(given, asked), axis = self.rank() - 1;
  const Dim length = self.size(axis);
  Dims sizes = self.sizes();
  if (asked < given) {
    const int64_t count = given / asked;
    const Tensor parts = FloorDivide(to, to.UnsqueezeAt(bits, {axis + 1}), Places(to, count, width));
    sizes.back() = to.Times(length, to.Of(count));
    return OfInteger(to, to.ReshapeTo(Signed(to, parts, width), sizes), dtype);
  }
  const int64_t count = asked / given;
  sizes.back() = {to.exprs().FloorDiv(length.expr, to.Of(count).expr)};
  sizes.push_back(to.Of(count));
  const Tensor parts = to.Mod(to.ReshapeTo(bits, sizes), to.ConstantInt(int64_t{1} << width));
  const Tensor placed = to.Mul(parts, Places(to, count, width));
  Tensor whole = to.GatherIndex(placed, axis + 1, to.Of(0));
  // onnxruntime's sums of int64 are of fewer bits.
  for (int64_t i = 1; i < count; ++i) whole = to.Add(whole, to.GatherIndex(placed, axis + 1, to.Of(i)));
  return OfInteger(to, Signed(to, whole, 8 * asked), dtype);
}

constexpr OpRow kRows[] = {
    Op<ViewDtype>("aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", &kOtherBits),
    Op<ViewDtype>("aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", &kOtherBits),
};

}  // namespace

std::span<const OpRow> Reinterpreting() { return kRows; }

}  // namespace flambeau::lower
