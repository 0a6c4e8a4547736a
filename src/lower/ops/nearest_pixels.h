// Which element of an axis each place of a resized one shows, where nothing is interpolated. PyTorch multiplies places by a step,
// ONNX's Resize divides them by a scale, both in float32: where the two round apart, whole rows would come from another place.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

struct NearestPixels {
  bool exact = false;  // of the middle of a place, not of where it begins

  // Elements that a place covers.
  static float StepBy(double factor) { return static_cast<float>(1 / factor); }
  static float StepOf(int64_t in, int64_t out) { return static_cast<float>(in) / static_cast<float>(out); }

  int64_t Pick(int64_t place, float step) const;          // as PyTorch does
  int64_t PickOfResize(int64_t place, float scale) const;  // as ONNX does

  // Whether both pick alike at the first `places` places, if no element is after `last`.
  bool AgreesWithResize(float step, float scale, int64_t places, int64_t last) const;
  // The same of sizes, of which the first is at least 1.
  bool AgreesWithResize(int64_t in, int64_t out) const;
  // The same by a factor, of sizes that only the run knows.
  bool AgreesWithResize(double factor, float scale) const;

  // The axis of `out` places, as PyTorch picks them.
  Tensor Take(Lowering& to, Tensor x, int64_t axis, Dim out, float step) const;
  // By a step that only the run knows, a 0-d float32.
  Tensor Take(Lowering& to, Tensor x, int64_t axis, Dim out, Tensor step) const;
};

// By what number in float32 runtimes multiply sizes to get floor(size · factor), as PyTorch computes it in float64: of the size `in`
// if that is known, else of any.
double RuntimeFactor(double factor, std::optional<int64_t> in);

}  // namespace flambeau::lower
