#include "lower/ops/spatial.h"

#include <fmt/format.h>

#include <algorithm>

namespace flambeau::lower {

namespace {

template <class List>
List SpreadOver(const List& values, int64_t count) {
  if (values.size() == 1) return List(static_cast<size_t>(count), values[0]);
  if (values.size() != static_cast<size_t>(count)) throw onnx::BadOperand(fmt::format("takes one number, or one for each of {} dimensions", count));
  return values;
}

constexpr const char* kTooSmallAStep = "takes kernels, strides and dilations of at least 1";

}  // namespace

Ints PerAxis(const Ints& values, int64_t count) { return SpreadOver(values, count); }
Dims PerAxis(const Dims& values, int64_t count) { return SpreadOver(values, count); }

Ints StepsPerAxis(const Ints& values, int64_t count) {
  Ints steps = PerAxis(values, count);
  if (std::ranges::any_of(steps, [](int64_t step) { return step < 1; })) throw onnx::BadOperand(kTooSmallAStep);
  return steps;
}

Dims StepsPerAxis(Lowering& to, const Dims& values, int64_t count) {
  Dims steps = PerAxis(values, count);
  if (std::ranges::any_of(steps, [&](Dim step) { return to.AsConstant(step).value_or(1) < 1; })) throw onnx::BadOperand(kTooSmallAStep);
  return steps;
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
