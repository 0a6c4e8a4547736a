#include "lower/ops/spatial.h"

namespace flambeau::lower {

Ints PerAxis(const Ints& values, int64_t count) {
  return values.size() == 1 ? Ints(static_cast<size_t>(count), values[0]) : values;
}

Ints BothSides(const Ints& padding) {
  Ints pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

Batched::Batched(Lowering& to, Tensor input, int64_t spatial) : to_(to), tensor_(input) {
  if (!input.ranked()) return;
  for (int64_t axis = 0; axis < spatial + 2 - input.rank(); ++axis) added_.push_back(axis);
  tensor_ = to.UnsqueezeAt(input, added_);
}

Tensor Batched::Undo(Tensor result) const { return to_.SqueezeAt(result, added_); }

}  // namespace flambeau::lower
