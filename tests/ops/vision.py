"""torchvision's operators."""

import pathlib
import sys

import torch
from harness import case, floats
from literal import literal

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import torchvision_cpu  # noqa: E402

torchvision_cpu.imported()
import flambeau.capture.operators.vision  # noqa: E402

flambeau.capture.operators.vision.library()
vision = torch.ops.torchvision
# As archives of older releases have them.
older = torch.library.Library("torchvision", "FRAGMENT")
older.define("_new_empty_tensor_op(Tensor input, SymInt[] shape) -> Tensor")
older.define("roi_align.v0_5(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) -> Tensor")
older.define("deform_conv2d.v0_8(Tensor input, Tensor weight, Tensor offset, Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w, "
             "int dilation_h, int dilation_w, int groups, int offset_groups) -> Tensor")


def unmasked_deform_conv2d(x, weight, offset, bias, *numbers):
    return vision.deform_conv2d(x, weight, offset, x.new_zeros(len(x), 1), bias, *numbers, False)


corners = floats(9, 2, low=0, high=6)
boxes = torch.cat([corners, corners + floats(9, 2, low=1, high=6)], 1)
regions = torch.cat([torch.tensor([[0.0], [1.0], [1.0]]), boxes[:3]], 1)
image = floats(2, 4, 12, 14)
outside = torch.tensor([[0, -30, -3, 5, 2], [1, 9, 9, 40, 40], [1, 4, 4, 4, 4.0], [0, 5, 5, 3, 3], [0, 50, 50, 60, 60]])
FIXED = {"again": False, "strided": False}

CASES = [
    *[case(vision.nms, boxes, floats(9, low=0, high=1), threshold, dynamic=False, **FIXED) for threshold in (0.1, 0.3, 0.7)],
    *[case(torch.ops.flambeau.batched_nms, boxes, floats(9, low=0, high=1), torch.tensor([2, 0, 0, 1, 2, 0, 1, 0, 0]), 0.3, dynamic=dynamic, **FIXED) for dynamic in (False, {0: [0], 1: [0], 2: [0]})],
    *[case(vision.roi_align, image, regions, scale, 3, 2, samples, aligned, dynamic={0: [0, 1, 2, 3], 1: [0]}, **FIXED) for scale, samples in ((1.0, 2), (0.5, -1)) for aligned in (False, True)],
    case(vision.roi_align, image, torch.tensor([[0, -30, -3, 5, 2], [1, 9, 9, 40, 40], [1, 4, 4, 4, 4.0], [0, 5, 5, 3, 3]]), 1.0, 3, 2, 0, True, dynamic={1: [0]}, **FIXED),
    *[
        case(vision.deform_conv2d, image, floats(6, 4 // groups, 3, 2), floats(2, 12 * offsets, 10, 13), floats(2, 6 * offsets, 10, 13), floats(6),
             1, 1, 0, 0, 1, 1, groups, offsets, masked, dynamic=False, strided=False)
        for groups, offsets, masked in ((1, 1, False), (2, 2, True))
    ],
    *[case(lambda *a: vision.roi_pool(*a)[0], image, regions, scale, 3, 2, name=f"roi_pool at {scale}", dynamic={1: [0]}, **FIXED) for scale in (1.0, 0.5)],
    *[case(vision.roi_pool, image.round(), boxes_of_all, scale, 3, 2, name=f"roi_pool with positions {i} at {scale}", dynamic={0: [0, 2, 3], 1: [0]}, **FIXED) for i, boxes_of_all in enumerate((regions, outside)) for scale in (1.0, 0.5)],
    case(vision.roi_pool, image, regions, 1.0, 3, 2, second=(image, torch.zeros(0, 5), 1.0, 3, 2), name="roi_pool of no boxes", dynamic={1: [0]}, **FIXED),
    case(lambda x, rois: vision.roi_pool(x, rois, 1.0, x.shape[2] // 3, 2)[0], image, regions, name="roi_pool to a dynamic size", dynamic={0: [2]}, **FIXED),
    *[case(vision.ps_roi_align, floats(2, 12, 12, 14), regions, scale, 3, 2, samples, dynamic={1: [0]}, **FIXED) for scale, samples in ((1.0, 2), (0.5, -1))],
    *[case(vision.ps_roi_pool, floats(2, 12, 12, 14), torch.cat([regions, torch.tensor([[0, 5, 5, 5.4, 5], [1, -3, -2, 30, 30]])]), scale, 3, 2, dynamic={1: [0]}, **FIXED) for scale in (1.0, 0.5)],
    literal(vision._new_empty_tensor_op.default, image, [2, 0, 3], computed=lambda x, shape: x.new_empty(shape)),
    literal(vision.roi_align.v0_5, image, regions, 0.5, 3, 2, 2, computed=lambda *a: vision.roi_align(*a, False)),
    literal(vision.deform_conv2d.v0_8, image, floats(6, 4, 3, 2), floats(2, 12, 10, 13), floats(6), 1, 1, 0, 0, 1, 1, 1, 1, computed=unmasked_deform_conv2d),
]
