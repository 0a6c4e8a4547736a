// torchvision's own operators.
#include <algorithm>
#include <limits>
#include <utility>

#include "lower/op.h"
#include "lower/ops/geometry.h"

namespace flambeau::lower {
namespace {

// Kept boxes by falling score; which corner comes first is all the same to the overlap.
Tensor Nms(Lowering& to, Tensor dets, Tensor scores, double iou_threshold) {
  auto float32 = [&](Tensor tensor) { return to.CastTo(tensor, DType::kFloat32); };
  const Tensor selected =
      to.NonMaxSuppression(to.UnsqueezeAt(float32(dets), {0}), to.UnsqueezeAt(float32(scores), {0, 1}),
                           to.ConstantInts({std::numeric_limits<int32_t>::max()}),
                           to.ConstantFloats(Floats{iou_threshold}, DType::kFloat32, Ints{1}));
  return to.GatherIndex(selected, 1, to.Of(2));
}

// torchvision's batched_nms: no box suppresses one of another class. Boxes of up to 4000 numbers are moved apart, a
// class from the next, as eager mode does it, rounding and all; of more, each class is taken by itself.
Tensor BatchedNms(Lowering& to, Tensor boxes, Tensor scores, Tensor idxs, double iou_threshold) {
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
                           to.ConstantFloats(Floats{iou_threshold}, DType::kFloat32, Ints{1}),
                           to.ConstantFloats(Floats{std::numeric_limits<float>::lowest()}, DType::kFloat32, Ints{1}));
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

constexpr Restriction kPositions = {"the positions of the maxima", "torch.ops.torchvision.roi_pool(x, boxes, 1.0, 2, 2)[1]",
                                    "ONNX's MaxRoiPool gives the maxima alone"};

std::tuple<Tensor, Tensor> RoiPool(Lowering& to, Tensor input, Tensor rois, Scalar spatial_scale, Dim pooled_height,
                                   Dim pooled_width) {
  const auto height = to.AsConstant(pooled_height), width = to.AsConstant(pooled_width);
  if (!height || !width) return to.Unsupported(kDynamicPool);
  const auto& node = to.aten()[to.node()];
  if (node.result_count > 1 && to.aten().HasUses(node.result(1))) return to.Unsupported(kPositions);
  rois = Scaled(to, rois, spatial_scale);
  const Tensor pooled = to.MaxRoiPool(input, rois, {.pooled_shape = {*height, *width}, .spatial_scale = spatial_scale.AsDouble()});
  // While types are inferred, the node has no results yet: the positions have this type.
  return {pooled, node.result_count == 0 ? to.CastTo(pooled, DType::kInt32) : Tensor()};
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

// Which places of an axis belong to each bin of each box: [boxes, bins, places].
Tensor BinsOf(Lowering& to, Tensor rois, int64_t start_column, const Scalar& scale, Dim count, Dim places) {
  const DType dtype = rois.dtype();
  auto number = [&](double value) { return to.NumberOf(value, dtype); };
  auto rounded = [&](int64_t column) {
    const Tensor x = to.Scale(to.SliceAxis(rois, 1, to.Of(column), to.Of(column + 1)), scale);
    return to.Mul(to.Sign(x), to.Floor(to.Add(to.Abs(x), number(0.5))));  // halves away from 0
  };
  const Tensor begin = rounded(start_column), end = rounded(start_column + 2);
  const Tensor size = to.Div(to.Max({to.Sub(end, begin), number(1)}), to.CastTo(to.Number(count), dtype));
  const Tensor bin = to.CastTo(Iota(to, count), dtype), last = to.CastTo(to.Sub(to.Number(places), to.ConstantInt(1)), dtype);
  auto bound = [&](const Tensor& x) {
    return to.UnsqueezeAt(to.Max({to.Min({to.Add(x, begin), last}), number(0)}), {2});
  };
  const Tensor from = bound(to.Floor(to.Mul(bin, size)));
  const Tensor until = bound(to.Ceil(to.Mul(to.Add(bin, number(1)), size)));
  const Tensor place = to.CastTo(Iota(to, places), dtype);
  return to.And(to.GreaterOrEqual(place, from), to.Less(place, until));
}

// Means over bins, each of which has channels of its own.
std::tuple<Tensor, Tensor> PsRoiPool(Lowering& to, Tensor input, Tensor rois, Scalar spatial_scale, Dim pooled_height,
                                     Dim pooled_width) {
  const Dim bins = to.Times(pooled_height, pooled_width), boxes = rois.size(0);
  const Dim channels{to.exprs().FloorDiv(input.size(1).expr, bins.expr)};
  const Tensor rows = BinsOf(to, rois, 2, spatial_scale, pooled_height, input.size(2));
  const Tensor columns = BinsOf(to, rois, 1, spatial_scale, pooled_width, input.size(3));
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
                "pooled_width) -> (Tensor, Tensor)",
                &kDynamicPool, &kPositions),
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
