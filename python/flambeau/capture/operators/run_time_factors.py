"""Images resized by factors that follow from sizes: torch's operators take numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

__all__ = ["MODES", "library", "resized_by"]

MODES = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear")


def _resized(input: torch.Tensor, size: Sequence[Any], scale_factors: torch.Tensor, mode: str, align_corners: bool) -> torch.Tensor:
    factors = tuple(scale_factors.tolist())
    return F.interpolate(input, None, factors, mode.replace("_", "-"), align_corners if mode.endswith(("linear", "cubic")) else None)


def _infer(input: torch.Tensor, size: Sequence[Any], *_: Any) -> torch.Tensor:
    return input.new_empty([*input.shape[:2], *size])


@functools.cache
def library() -> torch.library.Library:
    """The operator that captures have; made once, it lives as long as this object."""
    library = torch.library.Library("flambeau", "FRAGMENT")
    library.define("interpolate_by_factors(Tensor input, SymInt[] size, Tensor scale_factors, str mode, bool align_corners) -> Tensor")
    library.impl("interpolate_by_factors", _resized, "CompositeExplicitAutograd")
    torch.library.register_fake("flambeau::interpolate_by_factors", _infer, lib=library)
    return library


def resized_by(input: torch.Tensor, factors: Sequence[Any], mode: str, align_corners: bool | None) -> torch.Tensor:
    """``F.interpolate`` by factors of which some are symbols: [batch, channels, *sizes] to ``floor(size * factor)``."""
    library()
    sizes = [math.floor(size * factor) for size, factor in zip(input.shape[2:], factors, strict=True)]
    numbers = torch.stack([torch.scalar_tensor(factor, dtype=torch.float64) for factor in factors])
    return torch.ops.flambeau.interpolate_by_factors(input, sizes, numbers, mode.replace("-", "_"), bool(align_corners))
