// Resizing of images, signals and volumes.
#include <algorithm>
#include <cmath>
#include <ranges>

#include "lower/op.h"
#include "lower/ops/antialias.h"
#include "lower/ops/geometry.h"
#include "lower/ops/nearest_pixels.h"

namespace flambeau::lower {
namespace {

using OptionalDims = std::optional<Dims>;
using OptionalFloats = std::optional<Floats>;

// A mode of PyTorch's that Resize does not have.
constexpr std::string_view kLanczos = "lanczos";

constexpr Restriction kScalesDisagree = {
    "scale factors that disagree with the output's size",
    "torch.ops.aten.upsample_bilinear2d(torch.ones(1, 1, 4, 4), [9, 9], False, 2.0, 2.0)",
    "ONNX's Resize takes sizes or scales, not both"};
constexpr Restriction kNoSize = {"neither an output size nor scale factors",
                                 "torch.ops.aten.upsample_nearest2d.vec(x, None, None)", "PyTorch refuses it"};

// Whether the output's size is floor(size · factor), as far as can be known: one that is computed when the model runs (in
// traces by torch 1.5 and 1.6, from factors in tensors) is taken for that, and a symbolic one unless a whole factor says otherwise.
bool Agrees(Lowering& to, Dim size, double factor, Dim output) {
  const auto in = to.AsConstant(size), out = to.AsConstant(output);
  if (in && out) return *out == static_cast<int64_t>(std::floor(static_cast<double>(*in) * factor));
  if (out) return false;
  const bool computed = to.exprs().kind(output.expr) == ExprKind::kSymbol && to.exprs().symbol_kind(output.expr) != SymbolKind::kDimension;
  if (computed && output != size) return true;
  return factor != std::floor(factor) || to.Times(size, to.Of(static_cast<int64_t>(factor))) == output;
}

void RequireOneEach(const OptionalDims& output_size, const Floats& factors) {
  if (output_size && !factors.empty() && output_size->size() != factors.size())
    throw onnx::BadOperand("takes a size for each factor");
}

bool Agree(Lowering& to, const Tensor& x, const OptionalDims& output_size, const Floats& factors) {
  bool agree = true;
  for (size_t i = 0; output_size && i < factors.size(); ++i) {
    const int64_t axis = x.rank() - static_cast<int64_t>(factors.size() - i);
    agree = agree && Agrees(to, x.size(axis), factors[i], (*output_size)[i]);
  }
  return agree;
}

bool IsNearest(const onnx::ResizeAttributes& attributes) { return attributes.mode == "nearest" && attributes.nearest_mode == "floor"; }

NearestPixels PixelsOf(const onnx::ResizeAttributes& attributes) { return {.exact = !IsNearest(attributes)}; }

constexpr int64_t kSmallImage = 128;  // rows and columns of the result

// Whether PyTorch takes a kernel for small images, in which sizes that stay or double do so whatever the factor.
bool IsSmallNearest(Lowering& to, const Tensor& x, const Floats& factors, const onnx::ResizeAttributes& attributes) {
  if (!IsNearest(attributes) || factors.size() != 2) return false;
  int64_t total = 0;
  for (const int64_t i : {0, 1}) {
    const auto size = to.AsConstant(x.size(x.rank() - 2 + i));
    if (!size) return false;
    total += static_cast<int64_t>(std::floor(static_cast<double>(*size) * factors[static_cast<size_t>(i)]));
  }
  return total <= kSmallImage;
}

// Whether PyTorch copies along an axis of which the size stays, whatever the factor.
bool CopiesAxes(const onnx::ResizeAttributes& attributes) {
  return attributes.mode == "linear" || attributes.antialias != 0 || attributes.coordinate_transformation_mode == "align_corners";
}

// floor(size · factor), in float64 as PyTorch computes it.
Dim SizeBy(Lowering& to, Dim in, double factor) {
  if (const auto size = to.AsConstant(in)) return to.Of(static_cast<int64_t>(std::floor(static_cast<double>(*size) * factor)));
  const Tensor scaled = to.Mul(to.CastTo(to.Number(in), DType::kFloat64), to.NumberOf(factor, DType::kFloat64));
  return to.DimOf(to.CastTo(to.Floor(scaled), DType::kInt64));
}

// onnxruntime copies where no size changes, whatever the factors. Some
// elements that repeat the edge change the size, and are cut off again.
Tensor ResizeInPlace(Lowering& to, Tensor x, const Floats& factors, const onnx::ResizeAttributes& attributes) {
  const auto grows = std::ranges::find_if(factors, [](double factor) { return factor > 1; });
  if (grows == factors.end() || std::ranges::any_of(x.sizes(), [&](Dim size) { return to.AsConstant(size) == 0; }))
    return x;
  const auto at = static_cast<size_t>(grows - factors.begin());
  const int64_t axis = attributes.axes[at], size = *to.AsConstant(x.size(axis));
  const auto enough = static_cast<int64_t>(std::ceil(1 / (*grows - 1))) + 1;
  const Tensor edge = to.SliceAxis(x, axis, to.Of(size - 1), to.Of(size));
  const Tensor padded = to.Concat({x, to.ExpandTo(edge, WithSize(x.sizes(), axis, to.Of(enough - size)))}, {.axis = axis});
  const Tensor scales = to.ConstantFloats(factors, DType::kFloat32, Ints{static_cast<int64_t>(factors.size())});
  return Sized(to, to.SliceAxis(to.Resize(padded, {}, scales, {}, attributes), axis, to.Of(0), to.Of(size)), x.sizes());
}

// Whether the size becomes a whole multiple, by which each runtime picks the same pixels.
bool IsMultiple(Lowering& to, Dim in, Dim out) {
  constexpr int64_t kLargest = 16;
  for (int64_t factor = 1; factor <= kLargest; ++factor)
    if (to.Times(in, to.Of(factor)) == out) return true;
  return false;
}

// Whether Resize picks PyTorch's pixels at whatever size, as far as can be told from the first sizes: of two levels of a pyramid both
// follow from one size of the input.
bool AgreesAtEachSize(Lowering& to, const NearestPixels& pixels, Dim in, Dim out) {
  constexpr int64_t kSizes = 512, kPlaces = 200'000;
  if (IsMultiple(to, in, out)) return true;
  ExprPool& exprs = to.exprs();
  std::optional<Expr> symbol;
  bool one = true;
  for (const Dim dim : {in, out})
    exprs.ForEachSymbol(dim.expr, [&](Expr each) {
      one &= !symbol || *symbol == each;
      symbol = each;
    });
  if (!symbol || !one) return false;
  const ExprPool::Range range = exprs.RangeOf(*symbol);
  const int64_t first = std::max<int64_t>(range.min, 1);
  int64_t places = 0;
  for (int64_t i = 0; i < kSizes && i <= range.max - first && places < kPlaces; ++i) {
    const std::unordered_map<Expr, int64_t> at{{*symbol, first + i}};
    const auto before = exprs.Evaluate(in.expr, at), after = exprs.Evaluate(out.expr, at);
    if (!before || !after) return false;
    if (*before > 0 && !pixels.AgreesWithResize(*before, *after)) return false;
    places += *after;
  }
  return true;
}

// By sizes. An axis along which Resize would show other pixels than PyTorch does is picked from here.
Tensor ResizeTo(Lowering& to, Tensor x, const Dims& output_size, onnx::ResizeAttributes attributes) {
  const bool picks = attributes.mode == "nearest";
  const NearestPixels pixels = PixelsOf(attributes);
  Dims sizes, resized = x.sizes();
  for (size_t i = 0; i < output_size.size(); ++i) {
    const int64_t axis = x.rank() - static_cast<int64_t>(output_size.size() - i);
    const Dim size = x.size(axis);
    resized[static_cast<size_t>(axis)] = output_size[i];
    const auto in = to.AsConstant(size), out = to.AsConstant(output_size[i]);
    if (picks && in && out && *in > 0 && !pixels.AgreesWithResize(*in, *out)) {
      x = pixels.Take(to, x, axis, output_size[i], NearestPixels::StepOf(*in, *out));
    } else if (picks && !(in && out) && !AgreesAtEachSize(to, pixels, size, output_size[i])) {
      auto real = [&](Dim dim) { return to.CastTo(to.Number(dim), DType::kFloat32); };
      x = pixels.Take(to, x, axis, output_size[i], to.Div(real(size), real(output_size[i])));
    } else {
      attributes.axes.push_back(axis);
      sizes.push_back(output_size[i]);
    }
  }
  return sizes.empty() ? x : Sized(to, to.Resize(x, {}, {}, to.Shape1(sizes), attributes), resized);
}

// PyTorch's sizes are floor(size · factor). Factors give the coordinates too,
// unless sizes say the same.
Tensor ResizeBy(Lowering& to, Tensor x, const OptionalDims& output_size, const Floats& factors,
                onnx::ResizeAttributes attributes) {
  if (!Agree(to, x, output_size, factors)) return to.Unsupported(kScalesDisagree);
  if (factors.empty()) return ResizeTo(to, x, *output_size, attributes);
  const auto spatial = static_cast<int64_t>(factors.size());
  const bool small = IsSmallNearest(to, x, factors, attributes), picks = attributes.mode == "nearest";
  const NearestPixels pixels = PixelsOf(attributes);
  bool exact = true, changes = false;
  Dims sizes, known = x.sizes();
  Floats scales;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t axis = x.rank() - spatial + i;
    double factor = factors[static_cast<size_t>(i)];
    Dim& result = known[static_cast<size_t>(axis)];
    const auto size = to.AsConstant(result);
    double product = size ? static_cast<double>(*size) * factor : 0;
    const auto out = static_cast<int64_t>(std::floor(product));
    if (size && out == *size && (small || CopiesAxes(attributes))) continue;
    if (size && out == 2 * *size && small) {
      factor = 2;
      product = static_cast<double>(out);
    }
    const bool whole = size && std::floor(product) == product;
    const double scale = RuntimeFactor(factor, size);
    const float step = NearestPixels::StepBy(factor);
    auto agrees = [&](float by) { return size ? pixels.AgreesWithResize(step, by, out, *size - 1) : pixels.AgreesWithResize(factor, by); };
    if (picks && !(agrees(static_cast<float>(scale)) && (!whole || *size == 0 || agrees(NearestPixels::StepOf(out, *size))))) {
      x = pixels.Take(to, x, axis, SizeBy(to, result, factor), step);
      result = x.size(axis);
      continue;
    }
    attributes.axes.push_back(axis);
    exact = exact && whole;
    changes = changes || out != size;
    result = size ? to.Of(out) : output_size ? (*output_size)[static_cast<size_t>(i)] : Dim{to.exprs().Anonymous()};
    if (size) sizes.push_back(result);
    scales.push_back(scale);
  }
  if (attributes.axes.empty()) return x;
  if (exact) return to.Resize(x, {}, {}, to.Shape1(sizes), attributes);
  if (!changes) return ResizeInPlace(to, x, scales, attributes);
  const auto count = static_cast<int64_t>(scales.size());
  return Sized(to, to.Resize(x, {}, to.ConstantFloats(scales, DType::kFloat32, Ints{count}), {}, attributes), known);
}

Dims SizesOf(Lowering& to, const Tensor& x, const OptionalDims& output_size, const Floats& factors) {
  if (output_size) return *output_size;
  Dims sizes;
  for (size_t i = 0; i < factors.size(); ++i)
    sizes.push_back(SizeBy(to, x.size(x.rank() - static_cast<int64_t>(factors.size() - i)), factors[i]));
  return sizes;
}

constexpr int kFirstOpsetOfAntialias = 18;

// Whether the sizes of the axes that are resized are constants, before and after.
bool HasKnownSizes(Lowering& to, const Tensor& x, const OptionalDims& output_size, const Floats& factors) {
  const size_t count = output_size ? output_size->size() : factors.size();
  const auto is_known = [&](Dim size) { return to.AsConstant(size).has_value(); };
  return std::ranges::all_of(x.sizes() | std::views::drop(x.sizes().size() - count), is_known) && (!output_size || std::ranges::all_of(*output_size, is_known));
}

AntialiasFilter FilterOf(const onnx::ResizeAttributes& attributes) {
  if (attributes.mode == kLanczos) return AntialiasFilter::kLanczos;
  return attributes.mode == "cubic" ? AntialiasFilter::kCubic : AntialiasFilter::kLinear;
}

Tensor InterpolateFloats(Lowering& to, Tensor x, const OptionalDims& output_size, const Floats& factors,
                         const onnx::ResizeAttributes& attributes) {
  const bool aligned = attributes.coordinate_transformation_mode == "align_corners";
  // No runtime has a kernel for antialiased float64, and older opsets say it of constant sizes alone.
  const bool has_operator = attributes.antialias == 0 || (attributes.mode != kLanczos && !aligned && x.dtype() != DType::kFloat64 &&
                                                          (to.opset() >= kFirstOpsetOfAntialias || HasKnownSizes(to, x, output_size, factors)) &&
                                                          Agree(to, x, output_size, factors));
  if (has_operator) return ResizeBy(to, x, output_size, factors, attributes);
  return AntialiasByMatrices(to, x, SizesOf(to, x, output_size, factors), factors, aligned, FilterOf(attributes));
}

// Images of uint8 are interpolated in fixed point, each axis rounded to bytes; lines and volumes in float32.
Tensor Interpolate(Lowering& to, Tensor x, const OptionalDims& output_size, const Floats& factors,
                   onnx::ResizeAttributes attributes) {
  RequireOneEach(output_size, factors);
  if (x.is_floating()) return InterpolateFloats(to, x, output_size, factors, attributes);
  if ((output_size ? output_size->size() : factors.size()) == 2) {
    const bool aligned = attributes.coordinate_transformation_mode == "align_corners";
    return BytesByMatrices(to, x, SizesOf(to, x, output_size, factors), factors, aligned, attributes.antialias != 0,
                           FilterOf(attributes));
  }
  const Tensor y = InterpolateFloats(to, to.CastTo(x, DType::kFloat32), output_size, factors, attributes);
  return to.CastTo(to.Clip(to.Round(y), to.NumberOf(0.0, DType::kFloat32), to.NumberOf(255.0, DType::kFloat32)),
                   x.dtype());
}

// --- modes ------------------------------------------------------------------------

onnx::ResizeAttributes Nearest() {
  return {.coordinate_transformation_mode = "asymmetric", .mode = "nearest", .nearest_mode = "floor"};
}

onnx::ResizeAttributes NearestExact() {
  return {.coordinate_transformation_mode = "half_pixel", .mode = "nearest", .nearest_mode = "round_prefer_ceil"};
}

std::string Coordinates(bool align_corners) { return align_corners ? "align_corners" : "half_pixel"; }

onnx::ResizeAttributes Linear(bool align_corners) {
  return {.coordinate_transformation_mode = Coordinates(align_corners), .mode = "linear"};
}

onnx::ResizeAttributes Cubic(bool align_corners) {
  return {.coordinate_transformation_mode = Coordinates(align_corners), .cubic_coeff_a = -0.75, .mode = "cubic"};
}

onnx::ResizeAttributes LinearAntialiased(bool align_corners) {
  return {.antialias = 1,
          .coordinate_transformation_mode = Coordinates(align_corners),
          .exclude_outside = 1,
          .mode = "linear"};
}

onnx::ResizeAttributes CubicAntialiased(bool align_corners) {
  return {.antialias = 1,
          .coordinate_transformation_mode = Coordinates(align_corners),
          .cubic_coeff_a = -0.5,
          .exclude_outside = 1,
          .mode = "cubic"};
}

onnx::ResizeAttributes LanczosAntialiased(bool align_corners) {
  return {.antialias = 1, .coordinate_transformation_mode = Coordinates(align_corners), .mode = std::string(kLanczos)};
}

template <auto kMode>
Tensor NearestOf(Lowering& to, Tensor x, const OptionalDims& output_size, const Floats& factors) {
  RequireOneEach(output_size, factors);
  if (Agree(to, x, output_size, factors)) return ResizeBy(to, x, output_size, factors, kMode());
  for (size_t i = 0; i < factors.size(); ++i)
    x = PixelsOf(kMode()).Take(to, x, x.rank() - static_cast<int64_t>(factors.size() - i), (*output_size)[i], NearestPixels::StepBy(factors[i]));
  return x;
}

template <auto kMode>
Tensor NearestVec(Lowering& to, Tensor input, OptionalDims output_size, OptionalFloats scale_factors) {
  if (!output_size && !scale_factors) return to.Unsupported(kNoSize);
  return NearestOf<kMode>(to, input, output_size, scale_factors.value_or(Floats{}));
}

template <auto kMode>
Tensor InterpolateVec(Lowering& to, Tensor input, OptionalDims output_size, bool align_corners,
                      OptionalFloats scale_factors) {
  if (!output_size && !scale_factors) return to.Unsupported(kNoSize);
  return Interpolate(to, input, output_size, scale_factors.value_or(Floats{}), kMode(align_corners));
}

struct Mode {
  std::string_view name;
  onnx::ResizeAttributes (*attributes)(bool align_corners);
};
constexpr Mode kModes[] = {{"bicubic", Cubic},
                           {"bilinear", Linear},
                           {"linear", Linear},
                           {"nearest", [](bool) { return Nearest(); }},
                           {"nearest_exact", [](bool) { return NearestExact(); }},
                           {"trilinear", Linear}};

Tensor PickByFactors(Lowering& to, Tensor x, const Tensor& factors, const onnx::ResizeAttributes& attributes) {
  auto real = [&](double value) { return to.NumberOf(value, DType::kFloat64); };
  std::vector<Tensor> ins, outs;
  for (size_t i = 0; i < attributes.axes.size(); ++i) {
    const Tensor factor = to.Gather(factors, to.ConstantInt(static_cast<int64_t>(i)));
    ins.push_back(to.CastTo(to.Number(x.size(attributes.axes[i])), DType::kFloat64));
    outs.push_back(to.Floor(to.Mul(ins.back(), factor)));
  }
  // As PyTorch's kernel for small images does: what stays or doubles in size does so whatever the factor.
  Tensor small;
  if (IsNearest(attributes) && outs.size() == 2) small = to.LessOrEqual(to.Add(outs[0], outs[1]), real(kSmallImage));
  for (size_t i = 0; i < attributes.axes.size(); ++i) {
    Tensor step = to.Div(real(1), to.Gather(factors, to.ConstantInt(static_cast<int64_t>(i))));
    for (const double times : {1.0, 2.0})
      if (small) step = to.Where(to.And(small, to.Equal(outs[i], to.Mul(ins[i], real(times)))), real(1 / times), step);
    const Dim out = to.DimOf(to.CastTo(outs[i], DType::kInt64));
    x = PixelsOf(attributes).Take(to, x, attributes.axes[i], out, to.CastTo(step, DType::kFloat32));
  }
  return x;
}

// By one factor for each of the last dimensions, known at run time only. PyTorch multiplies sizes by them in float64, runtimes in
// float32: where that gives another size, the least change of the factor gives PyTorch's.
Tensor ResizeByFactors(Lowering& to, Tensor input, Tensor scale_factors, std::string_view mode, bool align_corners) {
  const auto* found = std::ranges::find(kModes, mode, &Mode::name);
  const auto count = to.AsConstant(scale_factors.size(0));
  if (found == std::end(kModes) || !count) throw onnx::BadOperand("takes a mode of resizing, and as many factors as are known");
  onnx::ResizeAttributes attributes = found->attributes(align_corners);
  const Tensor factors = to.CastTo(scale_factors, DType::kFloat64);
  for (int64_t axis = input.rank() - *count; axis < input.rank(); ++axis) attributes.axes.push_back(axis);
  if (attributes.mode == "nearest") return PickByFactors(to, input, factors, attributes);
  Dims resized;
  for (const int64_t axis : attributes.axes) resized.push_back(input.size(axis));
  const Tensor sizes = to.CastTo(to.Shape1(resized), DType::kFloat64), wanted = to.Floor(to.Mul(sizes, factors));
  const Tensor narrow = to.CastTo(factors, DType::kFloat32);
  const Tensor in_float32 = to.Floor(to.Mul(to.CastTo(sizes, DType::kFloat32), narrow));
  const Tensor in_float64 = to.Floor(to.Mul(sizes, to.CastTo(narrow, DType::kFloat64)));  // by older opsets' forms
  const Tensor given = to.Add(to.CastTo(in_float32, DType::kFloat64), in_float64);
  const Tensor off = to.CastTo(to.Sign(to.Sub(to.Add(wanted, wanted), given)), DType::kFloat32);
  constexpr double kLeast = 1.2e-7;  // of itself
  const Tensor change = to.Mul(off, to.NumberOf(kLeast, DType::kFloat32));
  return to.Resize(input, {}, to.Add(narrow, to.Mul(narrow, change)), {}, attributes);
}

// The sizes are what the factors give.
Tensor InterpolateByFactors(Lowering& to, Tensor input, Dims, Tensor scale_factors, std::string_view mode, bool align_corners) {
  return ResizeByFactors(to, input, scale_factors, mode, align_corners);
}

// The factors if any is given; one that is not is what the sizes say.
Floats Given(Lowering& to, const Tensor& x, const Dims& output_size, std::initializer_list<std::optional<double>> factors) {
  if (std::ranges::none_of(factors, [](const auto& factor) { return factor.has_value(); })) return {};
  Floats given;
  for (const auto& factor : factors) {
    const size_t i = given.size();
    const auto in = to.AsConstant(x.size(x.rank() - static_cast<int64_t>(factors.size() - i))), out = to.AsConstant(output_size.at(i));
    if (!factor && !(in && out && *in > 0)) {
      to.Report(DiagnosticKind::kMissingInformation, "a factor is given for some dimensions only: pass one for each");
      return {};
    }
    given.push_back(factor ? *factor : static_cast<double>(*out) / static_cast<double>(*in));
  }
  return given;
}

using Factor = std::optional<double>;

template <auto kMode>
Tensor Nearest1(Lowering& to, Tensor self, Dims output_size, Factor scales) {
  return NearestOf<kMode>(to, self, output_size, Given(to, self, output_size, {scales}));
}
template <auto kMode>
Tensor Nearest2(Lowering& to, Tensor self, Dims output_size, Factor scales_h, Factor scales_w) {
  return NearestOf<kMode>(to, self, output_size, Given(to, self, output_size, {scales_h, scales_w}));
}
template <auto kMode>
Tensor Nearest3(Lowering& to, Tensor self, Dims output_size, Factor scales_d, Factor scales_h, Factor scales_w) {
  return NearestOf<kMode>(to, self, output_size, Given(to, self, output_size, {scales_d, scales_h, scales_w}));
}
template <auto kMode>
Tensor Interpolate1(Lowering& to, Tensor self, Dims output_size, bool align_corners, Factor scales) {
  return Interpolate(to, self, output_size, Given(to, self, output_size, {scales}), kMode(align_corners));
}
template <auto kMode>
Tensor Interpolate2(Lowering& to, Tensor self, Dims output_size, bool align_corners, Factor scales_h, Factor scales_w) {
  return Interpolate(to, self, output_size, Given(to, self, output_size, {scales_h, scales_w}), kMode(align_corners));
}
template <auto kMode>
Tensor Interpolate3(Lowering& to, Tensor self, Dims output_size, bool align_corners, Factor scales_d, Factor scales_h,
                    Factor scales_w) {
  return Interpolate(to, self, output_size, Given(to, self, output_size, {scales_d, scales_h, scales_w}), kMode(align_corners));
}

// --- grids ------------------------------------------------------------------------

Tensor GridSampler(Lowering& to, Tensor input, Tensor grid, int64_t interpolation_mode, int64_t padding_mode,
                   bool align_corners) {
  static constexpr std::string_view kModes[] = {"linear", "nearest", "cubic"},
                                    kPaddings[] = {"zeros", "border", "reflection"};
  return to.GridSample(input, grid,
                       {.align_corners = align_corners,
                        .mode = std::string(kModes[std::clamp<int64_t>(interpolation_mode, 0, 2)]),
                        .padding_mode = std::string(kPaddings[std::clamp<int64_t>(padding_mode, 0, 2)])});
}

Tensor CudnnGridSampler(Lowering& to, Tensor self, Tensor grid) { return GridSampler(to, self, grid, 0, 0, true); }

// -1 … 1 in `count` steps: the middles of pixels, or their corners.
Tensor PixelCoordinates(Lowering& to, Dim count, bool align_corners, DType dtype) {
  const Tensor range = to.Range(to.ConstantInt(0), to.Number(count), to.ConstantInt(1));
  auto number = [&](const Scalar& value) { return to.NumberOf(value, dtype); };
  const Tensor twice = to.Mul(to.CastTo(range, dtype), number(2.0));
  // The only pixel of an axis is in its middle.
  if (align_corners && to.AsConstant(count) == 1) return twice;
  if (align_corners && to.exprs().RangeOf(count.expr).min <= 1) {
    const Tensor last = number(to.Minus(count, to.Of(1)));
    return to.Div(to.Sub(twice, last), to.Max({last, number(1.0)}));
  }
  if (align_corners) return to.Sub(to.Div(twice, number(to.Minus(count, to.Of(1)))), number(1.0));
  return to.Sub(to.Div(to.Add(twice, number(1.0)), number(count)), number(1.0));
}

// theta · (x, y, 1) at each pixel; likewise with a depth.
Tensor AffineGridGenerator(Lowering& to, Tensor theta, Dims size, bool align_corners) {
  const size_t spatial = size.size() - 2;
  const Dims image(size.begin() + 2, size.end());
  std::vector<Tensor> columns;
  for (size_t i = spatial; i-- > 0;) {  // x first
    const Tensor along = PixelCoordinates(to, image[i], align_corners, theta.dtype());
    Ints axes;
    for (size_t axis = 1; axis <= spatial - i; ++axis) axes.push_back(static_cast<int64_t>(axis));
    Dims one_each = image;
    one_each.push_back(to.Of(1));
    columns.push_back(to.ExpandTo(to.UnsqueezeAt(along, axes), one_each));
  }
  Dims ones = image;
  ones.push_back(to.Of(1));
  columns.push_back(to.Full(ones, 1.0, theta.dtype()));
  Dim pixels = to.Product(image);
  const Tensor base = to.ReshapeTo(to.Concat(columns, {.axis = static_cast<int64_t>(spatial)}),
                                   Dims{pixels, to.Of(static_cast<int64_t>(spatial) + 1)});
  Dims grid = image;
  grid.insert(grid.begin(), theta.size(0));
  grid.push_back(to.Of(static_cast<int64_t>(spatial)));
  return to.ReshapeTo(to.MatMul(base, to.Transpose(theta, {.perm = {0, 2, 1}})), grid);
}

Tensor CudnnAffineGridGenerator(Lowering& to, Tensor theta, int64_t n, int64_t c, int64_t h, int64_t w) {
  return AffineGridGenerator(to, theta, {to.Of(n), to.Of(c), to.Of(h), to.Of(w)}, true);
}

constexpr OpRow kRows[] = {
    Op<GridSampler>("aten::_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
                    "bool align_corners) -> Tensor"),
    Op<Interpolate2<CubicAntialiased>>("aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool "
                                       "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"),
    Op<InterpolateVec<CubicAntialiased>>("aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool "
                                         "align_corners, float[]? scale_factors) -> Tensor",
                                         &kNoSize),
    Op<Interpolate2<LinearAntialiased>>("aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool "
                                        "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"),
    Op<InterpolateVec<LinearAntialiased>>("aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool "
                                          "align_corners, float[]? scale_factors) -> Tensor",
                                          &kNoSize),
    Op<Interpolate2<LanczosAntialiased>>("aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool "
                                         "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"),
    Op<InterpolateVec<LanczosAntialiased>>("aten::_upsample_lanczos2d_aa.vec(Tensor input, SymInt[]? output_size, bool "
                                           "align_corners, float[]? scale_factors) -> Tensor",
                                           &kNoSize),
    Op<Nearest1<NearestExact>>(
        "aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
    Op<NearestVec<NearestExact>>(
        "aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        &kNoSize),
    Op<Nearest2<NearestExact>>("aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? "
                               "scales_h=None, float? scales_w=None) -> Tensor"),
    Op<NearestVec<NearestExact>>(
        "aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        &kNoSize),
    Op<Nearest3<NearestExact>>("aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? "
                               "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"),
    Op<NearestVec<NearestExact>>(
        "aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        &kNoSize),
    Op<AffineGridGenerator>("aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor"),
    Op<CudnnAffineGridGenerator>("aten::cudnn_affine_grid_generator(Tensor theta, int N, int C, int H, int W) -> Tensor grid"),
    Op<CudnnGridSampler>("aten::cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor output"),
    Op<GridSampler>("aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
                    "align_corners) -> Tensor"),
    Op<GridSampler>("aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
                    "align_corners) -> Tensor"),
    Op<GridSampler>("aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
                    "align_corners) -> Tensor"),
    Op<Interpolate2<Cubic>>("aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
                            "scales_h=None, float? scales_w=None) -> Tensor",
                            &kScalesDisagree),
    Op<InterpolateVec<Cubic>>("aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
                              "float[]? scale_factors) -> Tensor",
                              &kNoSize),
    Op<Interpolate2<Linear>>("aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
                             "scales_h=None, float? scales_w=None) -> Tensor",
                             &kScalesDisagree),
    Op<InterpolateVec<Linear>>("aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
                               "float[]? scale_factors) -> Tensor",
                               &kNoSize),
    Op<Interpolate1<Linear>>(
        "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor",
        &kScalesDisagree),
    Op<InterpolateVec<Linear>>("aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
                               "float[]? scale_factors) -> Tensor",
                               &kNoSize),
    Op<Nearest1<Nearest>>("aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
    Op<NearestVec<Nearest>>(
        "aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        &kNoSize),
    Op<Nearest2<Nearest>>("aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
                          "scales_w=None) -> Tensor"),
    Op<NearestVec<Nearest>>(
        "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        &kNoSize),
    Op<Nearest3<Nearest>>("aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
                          "scales_h=None, float? scales_w=None) -> Tensor"),
    Op<NearestVec<Nearest>>(
        "aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        &kNoSize),
    Op<Interpolate3<Linear>>("aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, "
                             "float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
                             &kScalesDisagree),
    Op<InterpolateVec<Linear>>("aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool "
                               "align_corners, float[]? scale_factors) -> Tensor",
                               &kNoSize),
    Op<InterpolateByFactors>("flambeau::interpolate_by_factors(Tensor input, SymInt[] size, Tensor scale_factors, str mode, "
                             "bool align_corners) -> Tensor"),
    Op<ResizeByFactors>(
        "flambeau::resize_by_factors(Tensor input, Tensor scale_factors, str mode, bool align_corners) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Upsampling() { return kRows; }

}  // namespace flambeau::lower
