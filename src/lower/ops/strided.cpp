// Views by strides, which ONNX's tensors don't have: elements are gathered by
// their positions in memory.

#include "lower/op.h"
#include "lower/ops/geometry.h"

namespace flambeau::lower {
namespace {

// `self` is a whole memory, in row-major order: the pass that makes programs
// functional has seen to that.
Tensor AsStrided(Lowering& to, Tensor self, Dims size, Dims stride, std::optional<Dim> storage_offset) {
  return to.Gather(Flat(to, AtLeast1d(to, self)),
                   StridedPositions(to, size, stride, storage_offset.value_or(to.Of(0))));
}

Tensor AsStridedScatter(Lowering& to, Tensor self, Tensor src, Dims size, Dims stride,
                        std::optional<Dim> storage_offset) {
  const Tensor positions = StridedPositions(to, size, stride, storage_offset.value_or(to.Of(0)));
  const Tensor points = to.UnsqueezeAt(Flat(to, AtLeast1d(to, positions)), {1});
  const Tensor updates = Flat(to, AtLeast1d(to, to.CastTo(src, self.dtype())));
  return to.ReshapeTo(to.ScatterND(Flat(to, AtLeast1d(to, self)), points, updates), self.sizes());
}

// What there is in memory, in other sizes; elements that were not there may be anything, here 0.
Tensor Resize(Lowering& to, Tensor self, Dims size, Unused) {
  const Tensor flat = Flat(to, AtLeast1d(to, self));
  const Dim count = to.Product(size);
  if (flat.size(0) == count) return to.ReshapeTo(flat, size);
  const bool enough = to.exprs().RangeOf(to.Minus(flat.size(0), count).expr).min >= 0;
  return to.ReshapeTo(to.SliceAxis(enough ? flat : PadEnd(to, flat, 0, count), 0, to.Of(0), count), size);
}
Tensor ResizeAs(Lowering& to, Tensor self, Tensor the_template, Unused) { return Resize(to, self, the_template.sizes(), {}); }

constexpr OpRow kRows[] = {
    Op<AsStrided>("aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
                  "Tensor(a)"),
    Op<AsStrided>("aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
                  "Tensor"),
    Op<AsStridedScatter>("aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
                         "SymInt? storage_offset=None) -> Tensor"),
    Op<Resize>("aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor"),
    Op<ResizeAs>("aten::resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Strided() { return kRows; }

}  // namespace flambeau::lower
