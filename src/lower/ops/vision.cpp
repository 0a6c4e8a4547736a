// torchvision's own operators.
#include <algorithm>
#include <limits>

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

constexpr Restriction kDynamicPool = {"a pooled size that is not constant",
                                      "torchvision.ops.roi_align(x, boxes, x.shape[2])"};

// A row of `rois` is the image's index and the box.
Tensor RoiAlign(Lowering& to, Tensor input, Tensor rois, double spatial_scale, Dim pooled_height, Dim pooled_width,
                int64_t sampling_ratio, bool aligned) {
  const auto height = to.AsConstant(pooled_height), width = to.AsConstant(pooled_width);
  if (!height || !width) return to.Unsupported(kDynamicPool);
  const Tensor images = to.CastTo(to.GatherIndex(rois, 1, to.Of(0)), DType::kInt64);
  const Tensor boxes = to.SliceAxis(rois, 1, to.Of(1), to.Of(5));
  return to.RoiAlign(input, boxes, images,
                     {.coordinate_transformation_mode = aligned ? "half_pixel" : "output_half_pixel",
                      .output_height = *height,
                      .output_width = *width,
                      .sampling_ratio = std::max<int64_t>(sampling_ratio, 0),
                      .spatial_scale = spatial_scale});
}

constexpr Restriction kPositions = {"the positions of the maxima", "torch.ops.torchvision.roi_pool(x, boxes, 1.0, 2, 2)[1]"};

std::tuple<Tensor, Tensor> RoiPool(Lowering& to, Tensor input, Tensor rois, double spatial_scale, Dim pooled_height,
                                   Dim pooled_width) {
  const auto height = to.AsConstant(pooled_height), width = to.AsConstant(pooled_width);
  if (!height || !width) return to.Unsupported(kDynamicPool);
  if (to.aten().HasUses(to.aten()[to.node()].result(1))) return to.Unsupported(kPositions);
  return {to.MaxRoiPool(input, rois, {.pooled_shape = {*height, *width}, .spatial_scale = spatial_scale}), Tensor()};
}

// Each bin has channels of its own: all are aligned, and a bin's taken from its channels. The second result says
// which channel each element is of.
std::tuple<Tensor, Tensor> PsRoiAlign(Lowering& to, Tensor input, Tensor rois, double spatial_scale, Dim pooled_height,
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

constexpr OpRow kRows[] = {
    Op<DeformConv2d>("torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
                     "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, "
                     "int offset_groups, bool use_mask) -> Tensor"),
    Op<Nms>("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"),
    Op<PsRoiAlign>("torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                   "SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
                   &kDynamicPool),
    Op<RoiPool>("torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
                "pooled_width) -> (Tensor, Tensor)",
                &kDynamicPool, &kPositions),
    Op<RoiAlign>("torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt "
                 "pooled_width, int sampling_ratio, bool aligned) -> Tensor",
                 &kDynamicPool),
};

}  // namespace

std::span<const OpRow> Vision() { return kRows; }

}  // namespace flambeau::lower
