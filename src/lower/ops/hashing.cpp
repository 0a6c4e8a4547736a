// Hashes of tensors: the bits of all elements, as 64-bit numbers, folded by xor.
#include <limits>

#include "lower/op.h"
#include "lower/ops/float_parts.h"
#include "lower/ops/geometry.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {
namespace {

// Bit i of the result is whether the elements with bit i are odd in number.
Tensor XorOver(Lowering& to, Tensor bits, const Ints& axes, bool keepdim) {
  const Tensor places = to.CastTo(Iota(to, to.Of(64)), DType::kUint64), two = to.ConstantInt(2);
  const Tensor down = to.BitShift(to.UnsqueezeAt(bits, {bits.rank()}), places, {.direction = "RIGHT"});
  // What int64 takes for negative is odd where its last bit is set, all the same.
  const Tensor odd = to.Mod(to.CastTo(down, DType::kInt64), two);
  const Tensor count = axes.empty() ? odd : to.ReduceSum(odd, to.ConstantInts(axes), {.keepdims = keepdim ? 1 : 0});
  // Each half for itself: onnxruntime adds in float64 now and then.
  const Tensor bit = to.Mod(count, two);
  auto half = [&](int first) {
    Ints weights(64, 0);
    for (int i = 0; i < 32; ++i) weights[static_cast<size_t>(first + i)] = int64_t{1} << i;
    const Tensor set = to.Mul(bit, to.ConstantInts(weights));
    return to.CastTo(to.ReduceSum(set, to.ConstantInts({count.rank() - 1}), {.keepdims = 0}), DType::kUint64);
  };
  const Tensor high = to.BitShift(half(32), to.CastTo(to.ConstantInt(32), DType::kUint64), {.direction = "LEFT"});
  return to.Add(half(0), high);
}

Tensor HashTensor(Lowering& to, Tensor self, Ints dim, bool keepdim, int64_t) {
  Tensor bits = self;
  if (self.is_floating()) bits = BitsOf(to, to.CastTo(self, DType::kFloat64));
  if (bits.dtype() != DType::kUint64) bits = to.CastTo(to.CastTo(bits, DType::kInt64), DType::kUint64);
  return XorOver(to, bits, ReducedAxes(to, self, dim), keepdim);
}

constexpr OpRow kRows[] = {
    Op<HashTensor>("aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Hashing() { return kRows; }

}  // namespace flambeau::lower
