#include "lower/ops/nearest_pixels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lower/ops/geometry.h"

namespace flambeau::lower {
namespace {

// Sizes and places up to which a factor is tried: images are smaller.
constexpr int64_t kTried = 8192;

// Whether the factor in float32 gives the size that the one in float64 does: onnxruntime multiplies in float32, ONNX's own inference of
// shapes in float64.
bool GivesSize(double factor, float narrow, int64_t in) {
  const auto size = static_cast<double>(in);
  const double wanted = std::floor(factor * size);
  return std::floor(narrow * static_cast<float>(in)) == static_cast<float>(wanted) && std::floor(static_cast<double>(narrow) * size) == wanted;
}

bool GivesSizes(double factor, float narrow) {
  for (int64_t in = 1; in <= kTried; ++in)
    if (!GivesSize(factor, narrow, in)) return false;
  return true;
}

}  // namespace

int64_t NearestPixels::Pick(int64_t place, float step) const {
  const float from = static_cast<float>(place) + (exact ? 0.5F : 0.0F);
  return static_cast<int64_t>(std::floor(from * step));
}

int64_t NearestPixels::PickOfResize(int64_t place, float scale) const {
  const auto from = static_cast<float>(place);
  if (!exact) return static_cast<int64_t>(std::floor(from / scale));
  const float middle = (from + 0.5F) / scale - 0.5F;
  return static_cast<int64_t>(std::round(middle));
}

bool NearestPixels::AgreesWithResize(float step, float scale, int64_t places, int64_t last) const {
  for (int64_t place = 0; place < places; ++place)
    if (std::clamp<int64_t>(Pick(place, step), 0, last) != std::clamp<int64_t>(PickOfResize(place, scale), 0, last)) return false;
  return true;
}

bool NearestPixels::AgreesWithResize(int64_t in, int64_t out) const {
  return out <= 0 || AgreesWithResize(StepOf(in, out), StepOf(out, in), out, in - 1);
}

bool NearestPixels::AgreesWithResize(double factor, float scale) const {
  return AgreesWithResize(StepBy(factor), scale, kTried, std::numeric_limits<int64_t>::max());
}

Tensor NearestPixels::Take(Lowering& to, Tensor x, int64_t axis, Dim out, float step) const {
  const auto in = to.AsConstant(x.size(axis)), places = to.AsConstant(out);
  if (!in || !places) return Take(to, x, axis, out, to.NumberOf(static_cast<double>(step), DType::kFloat32));
  Ints picked;
  for (int64_t place = 0; place < *places; ++place) picked.push_back(std::clamp<int64_t>(Pick(place, step), 0, std::max<int64_t>(*in - 1, 0)));
  return to.Gather(x, to.ConstantInts(picked), {.axis = axis});
}

Tensor NearestPixels::Take(Lowering& to, Tensor x, int64_t axis, Dim out, Tensor step) const {
  Tensor at = to.CastTo(Iota(to, out), DType::kFloat32);
  if (exact) at = to.Add(at, to.NumberOf(0.5, DType::kFloat32));
  at = to.CastTo(to.Floor(to.Mul(at, step)), DType::kInt64);
  return to.Gather(x, to.Min({at, to.Number(to.Minus(x.size(axis), to.Of(1)))}), {.axis = axis});
}

double RuntimeFactor(double factor, std::optional<int64_t> in) {
  const auto nearest = static_cast<float>(factor);
  for (const float each : {nearest, std::nextafter(nearest, HUGE_VALF), std::nextafter(nearest, 0.0F)})
    if (in ? GivesSize(factor, each, *in) : GivesSizes(factor, each)) return each;
  return factor;
}

}  // namespace flambeau::lower
