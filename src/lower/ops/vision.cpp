// torchvision's own operators.
#include <algorithm>
#include <limits>
#include <utility>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/loops.h"
#include "onnx/runtime_kernels.h"

namespace flambeau::lower {
namespace {

// A tensor of this number.
Tensor OfOne(Lowering& to, const Scalar& number) { return to.UnsqueezeAt(to.NumberOf(number, DType::kFloat32), {0}); }

// Kept boxes by falling score; which corner comes first is all the same to the overlap.
Tensor Nms(Lowering& to, Tensor dets, Tensor scores, Scalar iou_threshold) {
  auto float32 = [&](Tensor tensor) { return to.CastTo(tensor, DType::kFloat32); };
  const Tensor selected =
      to.NonMaxSuppression(to.UnsqueezeAt(float32(dets), {0}), to.UnsqueezeAt(float32(scores), {0, 1}),
                           to.ConstantInts({std::numeric_limits<int32_t>::max()}),
                           OfOne(to, iou_threshold));
  return to.GatherIndex(selected, 1, to.Of(2));
}

// torchvision's batched_nms: no box suppresses one of another class. Boxes of up to 4000 numbers are moved apart, a
// class from the next, as eager mode does it, rounding and all; of more, each class is taken by itself.
Tensor BatchedNms(Lowering& to, Tensor boxes, Tensor scores, Tensor idxs, Scalar iou_threshold) {
  boxes = to.CastTo(boxes, DType::kFloat32), scores = to.CastTo(scores, DType::kFloat32);
  const Dim count = boxes.size(0);
  auto most = [&](const Tensor& of, const Scalar& at_least) {
    const Tensor padded = to.Concat({to.ReshapeTo(of, Ints{-1}), to.Full(Dims{to.Of(1)}, at_least, of.dtype())}, {.axis = 0});
    return to.ReduceMax(padded, {}, {.keepdims = 0});
  };
  const Tensor alone = to.Greater(to.Number(count), to.ConstantInt(1000));
  const Tensor step = to.Add(most(boxes, std::numeric_limits<float>::lowest()), to.NumberOf(1.0, DType::kFloat32));
  const Tensor offset = to.Where(alone, to.NumberOf(0.0, DType::kFloat32), to.Mul(to.CastTo(idxs, DType::kFloat32), step));
  const Tensor apart = to.Add(boxes, to.UnsqueezeAt(offset, {1}));

  const Tensor labels = to.CastTo(idxs, DType::kInt64), none = to.ConstantInt(0);
  const Tensor lowest = to.Neg(most(to.Neg(labels), int64_t{0}));
  const Tensor label = to.Where(alone, to.Sub(labels, lowest), none);
  const Tensor label_count = to.Add(most(label, int64_t{0}), to.ConstantInt(1));
  const Tensor each = to.UnsqueezeAt(to.Range(none, label_count, to.ConstantInt(1)), {1});
  constexpr double kNoScore = -std::numeric_limits<double>::infinity();
  const Tensor by_label = to.Where(to.Equal(each, to.UnsqueezeAt(label, {0})), scores, to.NumberOf(kNoScore, DType::kFloat32));
  const Tensor selected =
      to.NonMaxSuppression(to.UnsqueezeAt(apart, {0}), to.UnsqueezeAt(by_label, {0}),
                           to.ConstantInts({std::numeric_limits<int32_t>::max()}),
                           OfOne(to, iou_threshold),
                           OfOne(to, std::numeric_limits<float>::lowest()));
  const Tensor kept = to.GatherIndex(selected, 1, to.Of(2));
  const Tensor all = to.Number1(kept.size(0));
  auto [ordered, unused] = to.TopK(kept, all, {.axis = 0, .largest = 0});  // of equal scores the first box comes first
  auto [falling, order] = to.TopK(to.Gather(scores, ordered, {.axis = 0}), all, {.axis = 0});
  return to.Gather(ordered, order, {.axis = 0});
}

constexpr Restriction kDynamicPool = {"a pooled size that is not constant",
                                      "torchvision.ops.roi_align(x, boxes, x.shape[2])",
                                      "it is an attribute of ONNX's operator"};

// A row of `rois` is the image's index and the box. The scale is an attribute of ONNX's operators: one that is known at
// run time only is applied to the boxes, and `scale` becomes 1.
Tensor Scaled(Lowering& to, Tensor rois, Scalar& scale) {
  if (scale.is_constant()) return rois;
  const Tensor boxes = to.Scale(to.SliceAxis(rois, 1, to.Of(1), to.Of(5)), std::exchange(scale, Scalar(1.0)));
  return to.Concat({to.SliceAxis(rois, 1, to.Of(0), to.Of(1)), boxes}, {.axis = 1});
}

Tensor RoiAlign(Lowering& to, Tensor input, Tensor rois, Scalar spatial_scale, Dim pooled_height, Dim pooled_width,
                int64_t sampling_ratio, bool aligned) {
  const auto height = to.AsConstant(pooled_height), width = to.AsConstant(pooled_width);
  if (!height || !width) return to.Unsupported(kDynamicPool);
  rois = Scaled(to, rois, spatial_scale);
  const Tensor images = to.CastTo(to.GatherIndex(rois, 1, to.Of(0)), DType::kInt64);
  const Tensor boxes = to.SliceAxis(rois, 1, to.Of(1), to.Of(5));
  return to.RoiAlign(input, boxes, images,
                     {.coordinate_transformation_mode = aligned ? "half_pixel" : "output_half_pixel",
                      .output_height = *height,
                      .output_width = *width,
                      .sampling_ratio = std::max<int64_t>(sampling_ratio, 0),
                      .spatial_scale = spatial_scale.AsDouble()});
}

Tensor RoiAlignUnaligned(Lowering& to, Tensor input, Tensor rois, Scalar spatial_scale, Dim pooled_height,
                         Dim pooled_width, int64_t sampling_ratio) {
  return RoiAlign(to, input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, false);
}

// Each bin has channels of its own: all are aligned, and a bin's taken from its channels. The second result says
// which channel each element is of.
std::tuple<Tensor, Tensor> PsRoiAlign(Lowering& to, Tensor input, Tensor rois, Scalar spatial_scale, Dim pooled_height,
                                      Dim pooled_width, int64_t sampling_ratio) {
  const Tensor aligned = RoiAlign(to, input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, true);
  const auto height = to.AsConstant(pooled_height), width = to.AsConstant(pooled_width);
  if (!height || !width) return {aligned, Tensor()};
  const int64_t bins = *height * *width;
  const Dim channels{to.exprs().FloorDiv(input.size(1).expr, to.exprs().Constant(bins))};
  const Tensor pairs = to.ReshapeTo(aligned, Dims{rois.size(0), channels, to.Of(bins * bins)});
  Ints own;
  for (int64_t bin = 0; bin < bins; ++bin) own.push_back(bin * (bins + 1));
  const Dims sizes{rois.size(0), channels, pooled_height, pooled_width};
  const Tensor channel = to.ReshapeTo(Iota(to, to.Times(channels, to.Of(bins))), Dims{channels, pooled_height, pooled_width});
  return {to.ReshapeTo(to.Gather(pairs, to.ConstantInts(own), {.axis = 2}), sizes),
          to.ExpandTo(to.CastTo(channel, DType::kInt32), sizes)};
}

// The bins into which boxes are divided along an axis.
struct Bins {
  Tensor from, until;  // the places of each: [boxes, bins, 1]
};

// Boxes end `extra` places after their last corner; bins begin and end up to `last`.
Bins BinsOf(Lowering& to, Tensor rois, int64_t start_column, const Scalar& scale, Dim count, Tensor last, double extra) {
  const DType dtype = rois.dtype();
  auto number = [&](double value) { return to.NumberOf(value, dtype); };
  auto rounded = [&](int64_t column) {
    const Tensor x = to.Scale(to.SliceAxis(rois, 1, to.Of(column), to.Of(column + 1)), scale);
    return to.Mul(to.Sign(x), to.Floor(to.Add(to.Abs(x), number(0.5))));  // halves away from 0
  };
  const Tensor begin = rounded(start_column), end = rounded(start_column + 2);
  Tensor length = to.Sub(end, begin);
  if (extra != 0) length = to.Add(length, number(extra));
  const Tensor size = to.Div(to.Max({length, number(1)}), to.CastTo(to.Number(count), dtype));
  const Tensor bin = to.CastTo(Iota(to, count), dtype), limit = to.CastTo(last, dtype);
  auto bound = [&](const Tensor& x) {
    return to.UnsqueezeAt(to.Max({to.Min({to.Add(x, begin), limit}), number(0)}), {2});
  };
  return {bound(to.Floor(to.Mul(bin, size))), bound(to.Ceil(to.Mul(to.Add(bin, number(1)), size)))};
}

// Which places of an axis belong to each bin: [boxes, bins, places].
Tensor PlacesOf(Lowering& to, const Bins& bins, Dim places) {
  const Tensor place = to.CastTo(Iota(to, places), bins.from.dtype());
  return to.And(to.GreaterOrEqual(place, bins.from), to.Less(place, bins.until));
}

// The maxima of each bin, and with `positions` where in the plane the first of each is, or -1. Box by box, and of each
// what it covers: all at once there would be an element for each pair of a bin and a pixel.
std::vector<Tensor> MaximaOfBins(Lowering& to, Tensor input, Tensor rois, const Scalar& scale, Dim height, Dim width, bool positions) {
  const Dim rows = input.size(2), columns = input.size(3);
  const Bins by_row = BinsOf(to, rois, 2, scale, height, to.Number(rows), 1), by_column = BinsOf(to, rois, 1, scale, width, to.Number(columns), 1);
  const Tensor of_rows = PlacesOf(to, by_row, rows), of_columns = PlacesOf(to, by_column, columns);
  const Tensor images = to.CastTo(to.GatherIndex(rois, 1, to.Of(0)), DType::kInt64);
  const Tensor one = to.ConstantInt(1), lowest = to.NumberOf(-std::numeric_limits<double>::infinity(), input.dtype());
  // One place at least, of which none may belong to a bin.
  struct Range {
    Dim from, until;
  };
  auto covered = [&](const Bins& bins, const Tensor& k, Dim places) {
    auto of_box = [&](const Tensor& x) { return to.CastTo(to.Gather(x, k, {.axis = 0}), DType::kInt64); };
    const Tensor first = to.ReduceMin(of_box(bins.from), {}, {.keepdims = 0}), end = to.ReduceMax(of_box(bins.until), {}, {.keepdims = 0});
    const Tensor from = to.Min({first, to.Sub(to.Number(places), one)}), until = to.Max({end, to.Add(from, one)});
    return Range{to.DimOf(from), to.DimOf(until)};
  };
  std::vector<Tensor> found = Collect(to, rois.size(0), [&](const Tensor& k) {
    const Range high = covered(by_row, k, rows), wide = covered(by_column, k, columns);
    auto cut = [&](const Tensor& x, int64_t axis, const Range& range) { return to.SliceAxis(x, axis, range.from, range.until); };
    const Tensor image = to.Gather(input, to.Gather(images, k, {.axis = 0}), {.axis = 0});
    const Tensor inside_columns = cut(to.Gather(of_columns, k, {.axis = 0}), 1, wide);
    const Tensor inside_rows = cut(to.Gather(of_rows, k, {.axis = 0}), 1, high);
    // [channels, width, rows, columns], then [channels, height, width, rows].
    const Tensor pixels = to.UnsqueezeAt(cut(cut(image, 1, high), 2, wide), {1});
    const Tensor across = to.Where(to.UnsqueezeAt(inside_columns, {1}), pixels, lowest);
    const Tensor of_row = to.UnsqueezeAt(to.ReduceMax(across, to.ConstantInts({3}), {.keepdims = 0}), {1});
    const Tensor down = to.Where(to.UnsqueezeAt(inside_rows, {1}), of_row, lowest);
    auto any = [&](const Tensor& inside) { return to.ReduceMax(to.CastTo(inside, DType::kInt32), to.ConstantInts({1}), {.keepdims = 0}); };
    const Tensor is_filled = to.Greater(to.Mul(to.UnsqueezeAt(any(inside_rows), {1}), any(inside_columns)), to.NumberOf(0, DType::kInt32));
    const Tensor most = to.ReduceMax(down, to.ConstantInts({3}), {.keepdims = 0});
    const Dims sizes{input.size(1), height, width};
    std::vector<Tensor> results{Sized(to, to.Where(is_filled, most, to.NumberOf(0.0, input.dtype())), sizes)};
    if (positions) {
      const Tensor row = to.ArgMax(down, {.axis = 3, .keepdims = 1});
      const Tensor column = to.UnsqueezeAt(to.ArgMax(across, {.axis = 3, .keepdims = 0}), {1});
      Dims rows_of_bins = down.sizes();
      const Tensor at = to.GatherElements(to.ExpandTo(column, rows_of_bins), row, {.axis = 3});
      const Tensor position = to.Add(to.Mul(to.Add(row, to.Number(high.from)), to.Number(columns)), to.Add(at, to.Number(wide.from)));
      const Tensor flat = to.SqueezeAt(position, {3});
      results.push_back(Sized(to, to.CastTo(to.Where(is_filled, flat, to.ConstantInt(-1)), DType::kInt32), sizes));
    }
    return results;
  });
  return found;
}

std::tuple<Tensor, Tensor> RoiPool(Lowering& to, Tensor input, Tensor rois, Scalar spatial_scale, Dim pooled_height,
                                   Dim pooled_width) {
  const auto height = to.AsConstant(pooled_height), width = to.AsConstant(pooled_width);
  const auto& node = to.aten()[to.node()];
  const bool positions = node.result_count > 1 && to.aten().HasUses(node.result(1));
  const bool has_kernel = !to.widens_for_runtime() || onnx::RuntimeKernels("MaxRoiPool", to.opset()).any();
  if (height && width && has_kernel && !positions) {
    rois = Scaled(to, rois, spatial_scale);
    const Tensor pooled = to.MaxRoiPool(input, rois, {.pooled_shape = {*height, *width}, .spatial_scale = spatial_scale.AsDouble()});
    // While types are inferred, the node has no results yet: the positions have this type.
    return {pooled, node.result_count == 0 ? to.CastTo(pooled, DType::kInt32) : Tensor()};
  }
  const std::vector<Tensor> found = MaximaOfBins(to, input, rois, spatial_scale, pooled_height, pooled_width, positions || node.result_count == 0);
  return {found[0], found.size() > 1 ? found[1] : Tensor()};
}

// Means over bins, each of which has channels of its own.
std::tuple<Tensor, Tensor> PsRoiPool(Lowering& to, Tensor input, Tensor rois, Scalar spatial_scale, Dim pooled_height,
                                     Dim pooled_width) {
  const Dim bins = to.Times(pooled_height, pooled_width), boxes = rois.size(0);
  const Dim channels{to.exprs().FloorDiv(input.size(1).expr, bins.expr)};
  auto places = [&](int64_t column, Dim count, Dim size) {
    const Tensor last = to.Sub(to.Number(size), to.ConstantInt(1));
    return PlacesOf(to, BinsOf(to, rois, column, spatial_scale, count, last, 0), size);
  };
  const Tensor rows = places(2, pooled_height, input.size(2)), columns = places(1, pooled_width, input.size(3));
  const Tensor images = to.CastTo(to.GatherIndex(rois, 1, to.Of(0)), DType::kInt64);
  const Tensor of_boxes = to.ReshapeTo(to.Gather(input, images, {.axis = 0}),
                                       Dims{boxes, channels, pooled_height, pooled_width, input.size(2), input.size(3)});
  const Tensor belongs = to.And(to.UnsqueezeAt(rows, {1, 3, 5}), to.UnsqueezeAt(columns, {1, 2, 4}));
  const Tensor zero = to.NumberOf(0.0, input.dtype());
  const Tensor sums = to.ReduceSum(to.Where(belongs, of_boxes, zero), to.ConstantInts({4, 5}), {.keepdims = 0});
  const Tensor area = to.Mul(to.ReduceSum(to.CastTo(rows, input.dtype()), to.ConstantInts({2}), {.keepdims = 1}),
                             to.UnsqueezeAt(to.ReduceSum(to.CastTo(columns, input.dtype()), to.ConstantInts({2}), {.keepdims = 0}), {1}));
  const Tensor count = to.UnsqueezeAt(to.Max({area, to.NumberOf(1.0, input.dtype())}), {1});
  const Dims sizes{boxes, channels, pooled_height, pooled_width};
  const Tensor channel = to.ReshapeTo(Iota(to, to.Times(channels, bins)), Dims{channels, pooled_height, pooled_width});
  return {Sized(to, to.Div(sums, count), sizes), to.ExpandTo(to.CastTo(channel, DType::kInt32), sizes)};
}

Tensor DeformConv2d(Lowering& to, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias,
                    int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                    int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
  return to.DeformConv(input, weight, offset, bias, use_mask ? mask : Tensor(),
                       {.dilations = {dilation_h, dilation_w},
                        .group = groups,
                        .offset_group = offset_groups,
                        .pads = {pad_h, pad_w, pad_h, pad_w},
                        .strides = {stride_h, stride_w}});
}

Tensor DeformConv2dUnmasked(Lowering& to, Tensor input, Tensor weight, Tensor offset, Tensor bias, int64_t stride_h,
                            int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w,
                            int64_t groups, int64_t offset_groups) {
  return DeformConv2d(to, input, weight, offset, Tensor(), bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
                      groups, offset_groups, false);
}

// What it holds is open: it was made for tensors without elements.
Tensor NewEmptyTensor(Lowering& to, Tensor input, Dims shape) { return to.Full(shape, int64_t{0}, input.dtype()); }

constexpr OpRow kRows[] = {
    Op<NewEmptyTensor>("torchvision::_new_empty_tensor_op(Tensor input, SymInt[] shape) -> Tensor"),
    Op<BatchedNms>("flambeau::batched_nms(Tensor boxes, Tensor scores, Tensor idxs, float iou_threshold) -> Tensor"),
    Op<DeformConv2d>("torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
                     "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, "
                     "int offset_groups, bool use_mask) -> Tensor"),
    Op<DeformConv2dUnmasked>("torchvision::deform_conv2d.v0_8(Tensor input, Tensor weight, Tensor offset, Tensor bias, "
                             "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int "
                             "groups, int offset_groups) -> Tensor"),
    Op<Nms>("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"),
    Op<PsRoiAlign>("torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                   "SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
                   &kDynamicPool),
    Op<PsRoiPool>("torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                  "SymInt pooled_width) -> (Tensor, Tensor)"),
    Op<RoiPool>("torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
                "pooled_width) -> (Tensor, Tensor)"),
    Op<RoiAlign>("torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
                 "pooled_width, int sampling_ratio, bool aligned) -> Tensor",
                 &kDynamicPool),
    Op<RoiAlignUnaligned>("torchvision::roi_align.v0_5(Tensor input, Tensor rois, float spatial_scale, SymInt "
                          "pooled_height, SymInt pooled_width, int sampling_ratio) -> Tensor",
                          &kDynamicPool),
};

}  // namespace

std::span<const OpRow> Vision() { return kRows; }

}  // namespace flambeau::lower
