// Resize, of which older opsets have little, and which onnxruntime does not
// compute of float64. Before 11, and of float64, an axis after the other is a
// weighted sum of elements picked by number; constants where the sizes are.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

enum class Coordinates : uint8_t { kHalfPixel, kAsymmetric, kAlignCorners };

// How one axis is resized.
struct Axis {
  int64_t axis;
  Tensor in, out;               // sizes, 0-d
  std::optional<double> scale;  // where it was given, and not the size
  Tensor factor;                // 0-d, where it was given and only the run knows it
  std::optional<int64_t> known_in, known_out;
  bool constant() const { return known_in && known_out; }
};

struct Sampling {
  std::string mode;  // nearest, linear, cubic
  Coordinates coordinates;
  std::string nearest;  // how nearest rounds
  double cubic_a;
  bool antialias;
  DType real;  // of coordinates: PyTorch has those of float64 in float64, but picks the nearest in float32
};

// Element `index` of each output place and what it counts for there.
struct Tap {
  Tensor index, weight;  // [out]; no weight: 1
};

double CubicWeight(double distance, double a) {
  const double x = std::abs(distance);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// --- constant sizes -----------------------------------------------------------------

// Input places a step of one output place covers.
template <typename Real>
Real Ratio(const Axis& axis, Coordinates coordinates) {
  const auto in = static_cast<Real>(*axis.known_in), out = static_cast<Real>(*axis.known_out);
  if (coordinates == Coordinates::kAlignCorners) return out > 1 ? (in - 1) / (out - 1) : 0;
  return axis.scale ? static_cast<Real>(1 / *axis.scale) : in / out;
}

// Scales are float32; what was meant is a fraction of small numbers, or the number that the shortest decimal is. A scale may have been
// moved to the next float32 for the sake of a size.
double Meant(double scale) {
  constexpr int64_t kLargest = 100;  // of denominators
  const auto narrow = static_cast<float>(scale);
  for (const float each : {narrow, std::nextafter(narrow, 0.0F), std::nextafter(narrow, HUGE_VALF)})
    for (int64_t denominator = 1; denominator <= kLargest; ++denominator) {
      const auto divisor = static_cast<double>(denominator);
      const double fraction = std::round(each * divisor) / divisor;
      if (static_cast<float>(fraction) == each) return fraction;
    }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), narrow).ptr;
  double meant = scale;
  std::from_chars(text, end, meant);
  return meant;
}

template <typename Real>
Real SourceOf(int64_t place, Real ratio, Coordinates coordinates) {
  const auto x = static_cast<Real>(place), half = static_cast<Real>(0.5);
  return coordinates == Coordinates::kHalfPixel ? (x + half) * ratio - half : x * ratio;
}

int64_t NearestTo(int64_t place, float ratio, const Sampling& sampling) {
  const std::string& mode = sampling.nearest;
  // Without the halves that cancel out: what they round off counts.
  if (mode == "round_prefer_ceil" && sampling.coordinates == Coordinates::kHalfPixel)
    return static_cast<int64_t>(std::floor((static_cast<float>(place) + 0.5F) * ratio));
  const float source = SourceOf(place, ratio, sampling.coordinates);
  if (mode == "floor") return static_cast<int64_t>(std::floor(source));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(source));
  return static_cast<int64_t>(mode == "round_prefer_ceil" ? std::floor(source + 0.5F) : std::ceil(source - 0.5F));
}

template <typename Real>
std::vector<Tap> KnownTaps(Builder& to, const Axis& axis, const Sampling& sampling, DType dtype) {
  const Real ratio = Ratio<Real>(axis, sampling.coordinates);
  const int64_t last = *axis.known_in - 1;
  const int count = sampling.mode == "nearest" ? 1 : sampling.mode == "linear" ? 2 : 4;
  std::vector<Ints> indices(static_cast<size_t>(count));
  std::vector<Floats> weights(static_cast<size_t>(count));
  for (int64_t place = 0; place < *axis.known_out; ++place) {
    if (count == 1) {
      indices[0].push_back(std::clamp<int64_t>(NearestTo(place, static_cast<float>(ratio), sampling), 0, last));
      continue;
    }
    Real source = SourceOf(place, ratio, sampling.coordinates);
    if (count == 2) source = std::clamp(source, Real{0}, static_cast<Real>(last));
    const Real below = std::floor(source);
    for (int i = 0; i < count; ++i) {
      const int64_t offset = i - (count / 2 - 1);
      const double distance = static_cast<double>(source) - static_cast<double>(below) - static_cast<double>(offset);
      indices[static_cast<size_t>(i)].push_back(std::clamp<int64_t>(static_cast<int64_t>(below) + offset, 0, last));
      weights[static_cast<size_t>(i)].push_back(count == 2 ? 1 - std::abs(distance) : CubicWeight(distance, sampling.cubic_a));
    }
  }
  std::vector<Tap> taps;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    taps.push_back({to.ConstantInts(indices[at]),
                    count == 1 ? Tensor() : to.ConstantFloats(weights[at], dtype, Ints{*axis.known_out})});
  }
  return taps;
}

// --- sizes at run time --------------------------------------------------------------

// Numbers in the dtype of coordinates.
struct Reals {
  Builder& to;
  DType dtype;
  Tensor operator()(const Tensor& x) const { return to.CastTo(x, dtype); }
  Tensor operator()(double value) const { return to.ConstantOf(value, dtype); }
};

Tensor Clamped(const Reals& real, const Tensor& x, const Tensor& size) {
  Builder& to = real.to;
  return to.Min(Tensors{to.Max(Tensors{x, real(0)}), to.Sub(real(size), real(1))});
}

Tensor Sources(const Reals& real, const Axis& axis, Coordinates coordinates) {
  Builder& to = real.to;
  const Tensor places = real(Iota(to, axis.out)), in = real(axis.in), out = real(axis.out);
  const Tensor one = real(1), half = real(0.5);
  if (coordinates == Coordinates::kAlignCorners)
    return to.Mul(places, to.Div(to.Sub(in, one), to.Max(Tensors{to.Sub(out, one), one})));
  const Tensor ratio = axis.factor ? real(to.Div(to.ConstantOf(1, DType::kFloat64), axis.factor)) : axis.scale ? real(1 / *axis.scale) : to.Div(in, out);
  if (coordinates == Coordinates::kAsymmetric) return to.Mul(places, ratio);
  return to.Sub(to.Mul(to.Add(places, half), ratio), half);
}

std::vector<Tap> ComputedTaps(Builder& to, const Axis& axis, const Sampling& sampling, DType dtype) {
  const Reals real{to, sampling.mode == "nearest" ? DType::kFloat32 : sampling.real};
  Tensor source = Sources(real, axis, sampling.coordinates);
  auto index = [&](const Tensor& x) { return to.CastTo(Clamped(real, x, axis.in), DType::kInt64); };
  const Tensor half = real(0.5);
  if (sampling.mode == "nearest") {
    if (sampling.nearest == "floor") return {{index(to.Floor(source)), {}}};
    if (sampling.nearest == "ceil") return {{index(to.Ceil(source)), {}}};
    if (sampling.nearest == "round_prefer_ceil") return {{index(to.Floor(to.Add(source, half))), {}}};
    return {{index(to.Ceil(to.Sub(source, half))), {}}};
  }
  auto weight = [&](const Tensor& x) { return to.CastTo(x, dtype); };
  if (sampling.mode == "linear") {
    source = Clamped(real, source, axis.in);
    const Tensor below = to.Floor(source), rest = to.Sub(source, below);
    return {{index(below), weight(to.Sub(real(1), rest))}, {index(to.Add(below, real(1))), weight(rest)}};
  }
  const double a = sampling.cubic_a;
  const Tensor below = to.Floor(source), rest = to.Sub(source, below);
  // Polynomials in the distance.
  auto polynomial = [&](const Tensor& x, std::initializer_list<double> from_highest) {
    Tensor sum;
    for (double factor : from_highest) sum = sum ? to.Add(to.Mul(sum, x), real(factor)) : real(factor);
    return weight(sum);
  };
  const Tensor one = real(1);
  const Tensor distances[] = {to.Add(rest, one), rest, to.Sub(one, rest), to.Sub(real(2), rest)};
  std::vector<Tap> taps;
  for (int i = 0; i < 4; ++i) {
    const bool inner = i == 1 || i == 2;
    taps.push_back({index(to.Add(below, real(i - 1))),
                    inner ? polynomial(distances[i], {a + 2, -(a + 3), 0, 1})
                          : polynomial(distances[i], {a, -5 * a, 8 * a, -4 * a})});
  }
  return taps;
}

// --- all axes -----------------------------------------------------------------------

Tensor ResizeAxis(Builder& to, const Tensor& x, const Axis& axis, const Sampling& sampling) {
  const auto taps = !axis.constant()                      ? ComputedTaps(to, axis, sampling, x.dtype())
                    : sampling.real == DType::kFloat64 ? KnownTaps<double>(to, axis, sampling, x.dtype())
                                                       : KnownTaps<float>(to, axis, sampling, x.dtype());
  Ints along(static_cast<size_t>(x.rank()), 1);
  along[static_cast<size_t>(axis.axis)] = -1;
  Tensor sum;
  for (const Tap& tap : taps) {
    Tensor part = to.Gather(x, tap.index, {.axis = axis.axis});
    if (tap.weight) part = to.Mul(part, to.ReshapeTo(tap.weight, along));
    sum = sum ? to.Add(sum, part) : part;
  }
  return sum;
}

// Each output place is the mean over what it covers: a matrix an axis.
Tensor Antialiased(Builder& to, const Tensor& x, const Axis& axis, const Sampling& sampling) {
  const double ratio = sampling.real == DType::kFloat64 ? Ratio<double>(axis, sampling.coordinates)
                                                        : static_cast<double>(Ratio<float>(axis, sampling.coordinates));
  const double stretch = std::max(ratio, 1.0);
  const double support = (sampling.mode == "linear" ? 1.0 : 2.0) * stretch;
  const int64_t in = *axis.known_in, out = *axis.known_out;
  Floats matrix(static_cast<size_t>(in * out), 0.0);  // [in, out]
  for (int64_t place = 0; place < out; ++place) {
    const double center = ratio * (static_cast<double>(place) + 0.5);
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const int64_t end = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), in);
    auto weight = [&](int64_t at) {
      const double distance = (static_cast<double>(at) - center + 0.5) / stretch;
      return sampling.mode == "linear" ? std::max(0.0, 1 - std::abs(distance)) : CubicWeight(distance, sampling.cubic_a);
    };
    double total = 0;
    for (int64_t at = first; at < end; ++at) total += weight(at);
    for (int64_t at = first; at < end && total != 0; ++at) matrix[static_cast<size_t>(at * out + place)] = weight(at) / total;
  }
  Ints swap;
  for (int64_t d = 0; d < x.rank(); ++d) swap.push_back(d);
  std::swap(swap[static_cast<size_t>(axis.axis)], swap.back());
  return to.Permute(to.MatMul(to.Permute(x, swap), to.ConstantFloats(matrix, x.dtype(), Ints{in, out})), swap);
}

std::optional<std::vector<Axis>> AxesOf(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], scales = request.operand(2), sizes = request.operand(3);
  Ints axes = request.IntList("axes");
  if (axes.empty())
    for (int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  const auto factors = scales ? KnownFloats(to, scales) : std::nullopt;
  if (factors && factors->size() != axes.size()) return std::nullopt;
  std::vector<Axis> found;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t at = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
    Axis axis{at, SizeNumber(to, x, at), {}, {}, {}, {}, {}};
    axis.known_in = to.AsConstant(x.size(at));
    auto scaled = [&](const Tensor& by) {
      return to.CastTo(to.Floor(to.Mul(to.CastTo(axis.in, DType::kFloat64), by)), DType::kInt64);
    };
    if (factors) {
      axis.scale = Meant((*factors)[i]);
      if (axis.known_in) axis.known_out = static_cast<int64_t>(std::floor(static_cast<double>(*axis.known_in) * *axis.scale));
      axis.out = axis.known_out ? to.ConstantInt(*axis.known_out) : scaled(to.ConstantOf(*axis.scale, DType::kFloat64));
    } else if (scales) {
      axis.factor = to.CastTo(to.Gather(scales, to.ConstantInt(static_cast<int64_t>(i))), DType::kFloat64);
      axis.out = scaled(axis.factor);
    } else {
      axis.out = to.Gather(to.CastTo(sizes, DType::kInt64), to.ConstantInt(static_cast<int64_t>(i)));
      if (const auto known = KnownInts(to, axis.out)) axis.known_out = known->front();
    }
    if (axis.scale == 1.0 || (axis.constant() && axis.known_in == axis.known_out && !axis.scale)) continue;
    found.push_back(axis);
  }
  return found;
}

// The sizes or scales of all axes.
Tensor OfAllAxes(Builder& to, const Request& request, const Tensor& given, bool sizes) {
  const Tensor x = request.operands[0];
  Ints axes = request.IntList("axes");
  if (axes.empty()) return given;
  for (int64_t& axis : axes) axis += axis < 0 ? x.rank() : 0;
  std::vector<Tensor> parts;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const auto at = std::ranges::find(axes, axis);
    if (at != axes.end()) {
      parts.push_back(to.Gather(given, to.ConstantInts({at - axes.begin()})));
    } else {
      parts.push_back(sizes ? SizeAlong(to, x, axis) : to.ConstantFloats(Floats{1}, DType::kFloat32, Ints{1}));
    }
  }
  return to.Concat(parts, {.axis = 0});
}

std::optional<Coordinates> CoordinatesOf(const std::string& name) {
  if (name == "half_pixel") return Coordinates::kHalfPixel;
  if (name == "asymmetric") return Coordinates::kAsymmetric;
  if (name == "align_corners") return Coordinates::kAlignCorners;
  return std::nullopt;
}

// Resize 10 and Upsample 9 know one way: coordinates divided by whole factors.
std::optional<Floats> WholeFactors(const std::vector<Axis>& axes, const Sampling& sampling, int64_t rank) {
  Floats factors(static_cast<size_t>(rank), 1.0);
  if (sampling.mode != "nearest" || sampling.coordinates != Coordinates::kAsymmetric || sampling.nearest != "floor") return std::nullopt;
  for (const Axis& axis : axes) {
    if (axis.factor) return std::nullopt;
    if (!axis.scale && (!axis.constant() || *axis.known_in == 0 || *axis.known_out % *axis.known_in != 0)) return std::nullopt;
    const double factor = axis.scale ? *axis.scale : static_cast<double>(*axis.known_out / *axis.known_in);
    if (factor < 1 || factor != std::floor(factor)) return std::nullopt;
    factors[static_cast<size_t>(axis.axis)] = factor;
  }
  return factors;
}

// Nothing for what has no such form.
std::optional<Sampling> SamplingOf(const Request& request) {
  const auto coordinates = CoordinatesOf(request.Text("coordinate_transformation_mode", "half_pixel"));
  const bool antialias = request.Int("antialias", 0) != 0;
  if (!coordinates || (!antialias && request.Int("exclude_outside", 0) != 0)) return std::nullopt;
  return Sampling{request.Text("mode", "nearest"), *coordinates, request.Text("nearest_mode", "round_prefer_floor"),
                  request.Float("cubic_coeff_a", -0.75), antialias,
                  request.operands[0].dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32};
}

Tensor ResizeAxes(Builder& to, const Tensor& x, const std::vector<Axis>& axes, const Sampling& sampling) {
  Tensor y = x;
  for (const Axis& axis : axes) y = sampling.antialias ? Antialiased(to, y, axis, sampling) : ResizeAxis(to, y, axis, sampling);
  return y.id() == x.id() ? to.Identity(x) : y;
}

// The form without a Resize, where there is one.
Results ByTaps(Builder& to, const Request& request) {
  const auto sampling = SamplingOf(request);
  if (!sampling || request.Text("keep_aspect_ratio_policy", "stretch") != "stretch") return std::nullopt;
  const auto axes = AxesOf(to, request);
  if (!axes || (sampling->antialias && !std::ranges::all_of(*axes, &Axis::constant))) return std::nullopt;
  return {{ResizeAxes(to, request.operands[0], *axes, *sampling)}};
}

Results LegalizeResize(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const std::string ways = request.Text("coordinate_transformation_mode", "half_pixel");
  const bool exists = to.opset() >= 19 || (to.opset() >= 18 && ways != "half_pixel_symmetric");
  const bool lacks_kernel = LacksKernelOfDouble(to, request, to.opset() >= 11 ? "T1" : "T");
  if (exists) return lacks_kernel ? ByTaps(to, request) : std::nullopt;
  if (!x.ranked()) return Refuse(to, request, "takes only tensors of known rank");
  if (request.Text("keep_aspect_ratio_policy", "stretch") != "stretch") return Refuse(to, request, "keeps no aspect ratio");
  const bool antialias = request.Int("antialias", 0) != 0;
  AttributeList attributes = request.attributes;
  for (const std::string_view name : {"axes", "antialias", "keep_aspect_ratio_policy"}) attributes = Without(attributes, name);
  if (lacks_kernel) {
    if (Results y = ByTaps(to, request)) return y;
  }
  if (to.opset() >= 11 && !antialias) {
    const Tensor none = to.ConstantFloats({}, DType::kFloat32, Ints{0});
    const bool required = to.opset() < 13;
    std::vector<Tensor> operands = {x, required ? none : Tensor(), required ? none : Tensor(), {}};
    if (request.operand(2)) operands[2] = OfAllAxes(to, request, request.operand(2), false);
    if (request.operand(3)) operands[3] = OfAllAxes(to, request, request.operand(3), true);
    return EmitAsIs(to, "Resize", operands, attributes, 1);
  }
  const auto sampling = SamplingOf(request);
  const auto axes = AxesOf(to, request);
  if (!sampling || !axes) return Refuse(to, request, "does not exist");
  if (antialias && !std::ranges::all_of(*axes, &Axis::constant)) return Refuse(to, request, "has no 'antialias'");
  if (const auto factors = WholeFactors(*axes, *sampling, x.rank()); factors && to.opset() >= 9 && !axes->empty()) {
    AttributeList mode;
    mode.Add("mode", std::string("nearest"));
    const Tensor operands[] = {x, to.ConstantFloats(*factors, DType::kFloat32, Ints{x.rank()})};
    return EmitAsIs(to, to.opset() >= 10 ? "Resize" : "Upsample", operands, mode, 1);
  }
  return {{ResizeAxes(to, x, *axes, *sampling)}};
}

constexpr LegalizeRule kRules[] = {
    {"Resize", kNever, &LegalizeResize},
};

}  // namespace

std::span<const LegalizeRule> ResizeForms() { return kRules; }

}  // namespace flambeau::onnx
