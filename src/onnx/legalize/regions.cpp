// Regions of images.
#include "onnx/legalize/rule.h"
#include "onnx/runtime_kernels.h"

namespace flambeau::onnx {
namespace {

// How much each place of an axis counts for each bin of each region: the mean
// over a bin's samples, of which each counts its two neighbors linearly.
// A region is (x1, y1, x2, y2).
struct Sampling {
  Tensor regions;
  double scale;
  bool half_pixel;
  int64_t samples;  // a bin and axis; 0: one a place, as large as the region is
};

// [regions, bins, places]
Tensor WeightsAlong(Builder& to, const Sampling& sampling, int64_t column, int64_t bins, const Tensor& places) {
  const DType dtype = sampling.regions.dtype();
  auto number = [&](double value) { return to.ConstantOf(value, dtype); };
  auto corner = [&](int64_t at) {
    const Tensor scaled = to.Mul(to.SliceAxis(sampling.regions, 1, to.Of(at), to.Of(at + 1)), number(sampling.scale));
    return to.UnsqueezeAt(sampling.half_pixel ? to.Sub(scaled, number(0.5)) : scaled, {2});
  };
  const Tensor start = corner(column);
  Tensor extent = to.Sub(corner(column + 2), start);
  if (!sampling.half_pixel) extent = to.Max(Tensors{extent, number(1)});
  const Tensor bin = to.Div(extent, number(static_cast<double>(bins)));

  Tensor count = number(static_cast<double>(sampling.samples)), most = to.ConstantInt(sampling.samples);
  if (sampling.samples == 0) {
    count = to.Ceil(bin);
    const Tensor counts = to.Concat(Tensors{to.ReshapeTo(count, Ints{-1}), to.ConstantFloats(Floats{0.0}, dtype, Ints{1})}, {.axis = 0});
    most = to.CastTo(to.ReduceMax(counts, to.ConstantInts({0}), {.keepdims = 0}), DType::kInt64);
  }
  const Tensor sample = to.CastTo(Iota(to, most), dtype);
  const Tensor offset = to.Div(to.Mul(to.Add(sample, number(0.5)), bin), count);
  const Tensor index = to.UnsqueezeAt(to.CastTo(Iota(to, to.ConstantInt(bins)), dtype), {1});
  const Tensor position = to.Add(to.Add(start, to.Mul(index, bin)), offset);

  const Tensor size = to.CastTo(places, dtype);
  Tensor counts = to.Not(to.Or(to.Less(position, number(-1)), to.Greater(position, size)));
  if (sampling.samples == 0) counts = to.And(counts, to.Less(sample, count));
  const Tensor inside = to.Max(Tensors{to.Min(Tensors{position, to.Sub(size, number(1))}), number(0)});
  const Tensor distance = to.Abs(to.Sub(to.UnsqueezeAt(inside, {3}), to.CastTo(Iota(to, places), dtype)));
  const Tensor weights = to.Where(to.UnsqueezeAt(counts, {3}), to.Relu(to.Sub(number(1), distance)), number(0));
  const Tensor sums = to.ReduceSum(weights, to.ConstantInts({2}), {.keepdims = 0});
  return to.Div(sums, to.Max(Tensors{count, number(1)}));
}

// Rows and columns are weighted apart: a region is two products of matrices.
// One region a turn, because each needs an image of its own.
Results AlignByProducts(Builder& to, const Request& request) {
  if (request.Text("mode", "avg") != "avg") return Refuse(to, request, "takes only means");
  const Tensor images = request.operands[0];
  const DType wide = images.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Sampling sampling = {to.CastTo(request.operands[1], wide), request.Float("spatial_scale", 1),
                             request.Text("coordinate_transformation_mode", "half_pixel") == "half_pixel",
                             request.Int("sampling_ratio", 0)};
  const Tensor rows = to.CastTo(WeightsAlong(to, sampling, 1, request.Int("output_height", 1), SizeNumber(to, images, 2)), images.dtype());
  const Tensor columns = to.CastTo(WeightsAlong(to, sampling, 0, request.Int("output_width", 1), SizeNumber(to, images, 3)), images.dtype());
  const Tensor across = to.Permute(columns, {0, 2, 1});
  // Before 13 a loop has to carry something.
  auto results = Repeat(to, SizeNumber(to, sampling.regions, 0), {to.ConstantInt(0)}, 1, [&](Tensor turn, const std::vector<Tensor>& states) {
    auto of_turn = [&](const Tensor& tensor) { return to.Gather(tensor, turn, {.axis = 0}); };
    const Tensor image = to.Gather(images, of_turn(request.operands[2]), {.axis = 0});
    return std::vector<Tensor>{to.Identity(states[0]), to.MatMul(to.MatMul(of_turn(rows), image), of_turn(across))};
  });
  return {{results[1]}};
}

// The one way of coordinates before 16 has a name since.
Results AlignRegions(Builder& to, const Request& request) {
  const bool newest_form = to.opset() >= 16;
  const bool half_pixel = request.Text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const bool runs = !to.widens_for_runtime() || RuntimeKernels("RoiAlign", to.opset()).any();
  if (!to.Has("RoiAlign") || !runs || (half_pixel && !newest_form)) return AlignByProducts(to, request);
  if (newest_form) return std::nullopt;
  return EmitAsIs(to, "RoiAlign", request.operands, Without(request.attributes, "coordinate_transformation_mode"), 1);
}

constexpr LegalizeRule kRules[] = {
    {"RoiAlign", kNever, &AlignRegions},
};

}  // namespace

std::span<const LegalizeRule> RegionForms() { return kRules; }

}  // namespace flambeau::onnx
