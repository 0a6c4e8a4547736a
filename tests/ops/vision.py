"""torchvision's operators. Where torchvision is not installed, plain ones of the same names stand for its own."""

import torch
from harness import case, floats
from torch.nn import functional as F


def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    area = (dets[:, 2] - dets[:, 0]) * (dets[:, 3] - dets[:, 1])
    kept = []
    for i in scores.argsort(descending=True).tolist():
        def overlap(j):
            sides = torch.minimum(dets[i, 2:], dets[j, 2:]) - torch.maximum(dets[i, :2], dets[j, :2])
            common = sides.clamp(min=0).prod()
            return common / (area[i] + area[j] - common)

        if all(overlap(j) <= iou_threshold for j in kept):
            kept.append(i)
    return torch.tensor(kept, dtype=torch.int64)


def bilinear(image, y, x):
    """image (channels, height, width) at points; zeros outside, PyTorch's rule at the borders."""
    height, width = image.shape[-2:]
    grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], -1)
    return F.grid_sample(image[None], grid[None], align_corners=True)[0]


def roi_align(input: torch.Tensor, rois: torch.Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
              sampling_ratio: int, aligned: bool) -> torch.Tensor:
    out = []
    for image, *box in rois.tolist():
        x1, y1, x2, y2 = (b * spatial_scale - (0.5 if aligned else 0) for b in box)
        height, width = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1.0), max(x2 - x1, 1.0))
        rows, columns = sampling_ratio * pooled_height, sampling_ratio * pooled_width
        y = y1 + (torch.arange(rows) + 0.5) * height / rows
        x = x1 + (torch.arange(columns) + 0.5) * width / columns
        inside = ((y >= -1) & (y <= input.shape[2]))[:, None] & ((x >= -1) & (x <= input.shape[3]))
        y, x = y.clamp(0, input.shape[2] - 1), x.clamp(0, input.shape[3] - 1)
        sampled = bilinear(input[int(image)], y[:, None].expand(rows, columns), x.expand(rows, columns)) * inside
        out.append(F.avg_pool2d(sampled, sampling_ratio))
    return torch.stack(out)


def deform_conv2d(input: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor, bias: torch.Tensor,
                  stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int,
                  offset_groups: int, use_mask: bool) -> torch.Tensor:
    (kh, kw), (oh, ow) = weight.shape[2:], offset.shape[2:]
    per_group = input.shape[1] // offset_groups
    taps = []
    for tap in range(kh * kw):
        y = (torch.arange(oh) * stride_h - pad_h + tap // kw * dilation_h).float()[:, None].expand(oh, ow)
        x = (torch.arange(ow) * stride_w - pad_w + tap % kw * dilation_w).float().expand(oh, ow)
        images = []
        for n in range(input.shape[0]):
            parts = []
            for g in range(offset_groups):
                at = g * kh * kw + tap
                part = bilinear(input[n, g * per_group : (g + 1) * per_group], y + offset[n, 2 * at], x + offset[n, 2 * at + 1])
                parts.append(part * mask[n, at] if use_mask else part)
            images.append(torch.cat(parts))
        taps.append(torch.stack(images))
    columns = torch.stack(taps, 2)  # (batch, channels, taps, height, width)
    grouped = columns.unflatten(1, (groups, -1)).unflatten(3, (kh, kw))
    own = weight.unflatten(0, (groups, -1))
    return torch.einsum("ngcijyx,gocij->ngoyx", grouped, own).flatten(1, 2) + bias[:, None, None]


try:
    import torchvision  # noqa: F401
except ImportError:
    torch.library.custom_op("torchvision::nms", nms, mutates_args=()).register_fake(
        lambda dets, scores, iou_threshold: dets.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64)
    )
    torch.library.custom_op("torchvision::roi_align", roi_align, mutates_args=(), schema="(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor").register_fake(
        lambda input, rois, scale, height, width, ratio, aligned: input.new_empty(rois.shape[0], input.shape[1], height, width)
    )
    torch.library.custom_op("torchvision::deform_conv2d", deform_conv2d, mutates_args=()).register_fake(
        lambda input, weight, offset, *rest: input.new_empty(input.shape[0], weight.shape[0], *offset.shape[2:])
    )

vision = torch.ops.torchvision
corners = floats(9, 2, low=0, high=6)
boxes = torch.cat([corners, corners + floats(9, 2, low=1, high=6)], 1)
regions = torch.cat([torch.tensor([[0.0], [1.0], [1.0]]), boxes[:3]], 1)
image = floats(2, 4, 12, 14)
FIXED = {"again": False, "strided": False}

CASES = [
    *[case(vision.nms, boxes, floats(9, low=0, high=1), threshold, dynamic=False, **FIXED) for threshold in (0.1, 0.3, 0.7)],
    *[case(vision.roi_align, image, regions, scale, 3, 2, 2, aligned, dynamic={1: [0]}, **FIXED) for scale in (1.0, 0.5) for aligned in (False, True)],
    *[
        case(vision.deform_conv2d, image, floats(6, 4 // groups, 3, 2), floats(2, 12 * offsets, 10, 13), floats(2, 6 * offsets, 10, 13), floats(6),
             1, 1, 0, 0, 1, 1, groups, offsets, masked, dynamic=False, strided=False)
        for groups, offsets, masked in ((1, 1, False), (2, 2, True))
    ],
]
