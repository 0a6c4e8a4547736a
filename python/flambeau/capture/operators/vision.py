"""torchvision's detectors, for torch.export: what they do box by box, or only where there are boxes, in forms that it captures."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch._higher_order_ops.map import map as map_rows

from ..replaced_functions import replaced_functions

__all__ = ["capturable_detectors", "library"]


def _batched_nms(boxes: torch.Tensor, scores: torch.Tensor, idxs: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """As one operator: torchvision asks how many boxes there are."""
    return torch.ops.flambeau.batched_nms(boxes, scores, idxs, iou_threshold)


def _kept(boxes: torch.Tensor, scores: torch.Tensor, idxs: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    count = torch.library.get_ctx().new_dynamic_size()
    torch._check(count <= boxes.shape[0])
    return idxs.new_empty(count, dtype=torch.int64)


def _axis(low: torch.Tensor, high: torch.Tensor, size: int, source: int) -> tuple[torch.Tensor, ...]:
    """What each of `size` pixels takes of a mask of `source`, stretched from low to high: [boxes, size] of indices, weight, inside."""
    extent = (high - low + 1).clamp(min=1)[:, None]
    pixel = torch.arange(size, device=low.device)[None]
    inside = (pixel >= low[:, None]) & (pixel <= high[:, None])
    place = ((pixel - low[:, None]).to(torch.float32) + 0.5) * (source / extent.to(torch.float32)) - 0.5
    place = place.clamp(0, source - 1)
    first = place.to(torch.int64)
    return first, (first + 1).clamp(max=source - 1), place - first, inside


def _paste_masks(masks: torch.Tensor, boxes: torch.Tensor, img_shape: Any, padding: int = 1) -> torch.Tensor:
    """All masks at once; torchvision resizes and pastes them one by one."""
    from torchvision.models.detection import roi_heads

    masks, scale = roi_heads.expand_masks(masks, padding=padding)
    low_x, low_y, high_x, high_y = roi_heads.expand_boxes(boxes, scale).to(torch.int64).unbind(1)
    height, width = img_shape
    pasted = masks[:, 0]
    for dim, low, high, size in ((1, low_y, high_y, height), (2, low_x, high_x, width)):
        first, second, weight, inside = _axis(low, high, size, pasted.shape[dim])
        shape = (pasted.shape[0], size, 1) if dim == 1 else (pasted.shape[0], 1, size)
        sizes = [*pasted.shape]
        sizes[dim] = size
        near, far = (pasted.gather(dim, index.reshape(shape).expand(sizes)) for index in (first, second))
        weight = weight.reshape(shape).to(near.dtype)
        pasted = torch.where(inside.reshape(shape), near * (1 - weight) + far * weight, 0)
    return pasted[:, None]


def _heatmap_to_keypoints(row: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    heatmap, roi = row
    sides = (roi[2:] - roi[:2]).clamp(min=1)
    width, height = sides.ceil().to(torch.int64).tolist()
    for size in (width, height):
        torch._check(size >= 1)
    resized = F.interpolate(heatmap[:, None], size=(height, width), mode="bicubic", align_corners=False)[:, 0]
    score, place = resized.flatten(1).max(1)
    at = torch.stack([place % width, place // width]).to(torch.float32) + 0.5
    x, y = (at * (sides / sides.ceil())[:, None] + roi[:2, None]).unbind()
    return torch.stack([x, y, torch.ones_like(x)], 1), score


def _heatmaps_to_keypoints(maps: torch.Tensor, rois: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As a loop that stays one."""
    return map_rows(_heatmap_to_keypoints, (maps, rois))


@functools.cache
def library() -> torch.library.Library:
    """The operators that captures have; made once, they live as long as this object."""
    from torchvision.ops import boxes

    library = torch.library.Library("flambeau", "FRAGMENT")
    library.define("batched_nms(Tensor boxes, Tensor scores, Tensor idxs, float iou_threshold) -> Tensor")
    library.impl("batched_nms", boxes.batched_nms, "CompositeExplicitAutograd")
    torch.library.register_fake("flambeau::batched_nms", _kept, lib=library)
    return library


_REPLACEMENTS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torchvision.ops.boxes", "batched_nms"): _batched_nms,
    ("torchvision.models.detection.roi_heads", "paste_masks_in_image"): _paste_masks,
    ("torchvision.models.detection.roi_heads", "heatmaps_to_keypoints"): _heatmaps_to_keypoints,
}


def capturable_detectors() -> contextlib.AbstractContextManager[None]:
    """While it is open, torchvision's functions are replaced."""
    if "torchvision.ops.boxes" not in sys.modules:
        return contextlib.nullcontext()
    library()
    return replaced_functions(_REPLACEMENTS)
