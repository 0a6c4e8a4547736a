"""Fourier transforms of signals whose sizes are dynamic, cut or filled up to so many samples, in a capture: torch compares the sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fft

from .size_keeping import keeping

__all__ = ["TRANSFORMS"]

_Call = Callable[..., Any]


def _is_same(size: Any, other: Any) -> bool:
    """Whether they are one size for all inputs."""
    expressions = [each.node.expr if isinstance(each, torch.SymInt) else each for each in (size, other)]
    return bool(expressions[0] == expressions[1])


def _resized(input: torch.Tensor, dim: int, count: Any) -> torch.Tensor:
    """The first samples of the signal, and zeros beyond it: no size is compared."""
    size = input.shape[dim]
    if _is_same(size, count) or not any(isinstance(each, torch.SymInt) for each in (size, count)):
        return input  # torch itself cuts and fills up
    dim %= input.dim()
    zeros = input.new_zeros([*input.shape[:dim], count, *input.shape[dim + 1 :]])
    return torch.cat([input, zeros], dim).narrow(dim, 0, count)


def _stored(count: Any, is_half: bool) -> Any:
    """How many samples a transform reads that gives `count` real ones of a half spectrum."""
    return count // 2 + 1 if is_half else count


def _along_one(function: _Call, is_half: bool = False) -> _Call:
    @keeping(function)
    def transform(input: torch.Tensor, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
        if n is None or not input.dim():
            return NotImplemented
        return function(_resized(input, dim, _stored(n, is_half)), n, dim, norm)

    return transform


def _along_several(function: _Call, standard: tuple[int, ...] | None, is_half: bool = False) -> _Call:
    @keeping(function)
    def transform(input: torch.Tensor, s: Any = None, dim: Any = standard, norm: str | None = None) -> Any:
        if s is None or any(isinstance(size, int) and size < 0 for size in s):
            return NotImplemented
        axes = tuple(range(-len(s), 0)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
        if len(axes) != len(s) or len(s) > input.dim():
            return NotImplemented  # an error of PyTorch's
        for place, (axis, size) in enumerate(zip(axes, s)):
            input = _resized(input, axis, _stored(size, is_half and place == len(axes) - 1))
        return function(input, s, axes, norm)

    return transform


_LAST_TWO = (-2, -1)

TRANSFORMS: dict[_Call, _Call] = {
    **{each: _along_one(each) for each in (fft.fft, fft.ifft, fft.rfft, fft.ihfft)},
    **{each: _along_one(each, is_half=True) for each in (fft.irfft, fft.hfft)},
    **{each: _along_several(each, _LAST_TWO) for each in (fft.fft2, fft.ifft2, fft.rfft2, fft.ihfft2)},
    **{each: _along_several(each, _LAST_TWO, is_half=True) for each in (fft.irfft2, fft.hfft2)},
    **{each: _along_several(each, None) for each in (fft.fftn, fft.ifftn, fft.rfftn, fft.ihfftn)},
    **{each: _along_several(each, None, is_half=True) for each in (fft.irfftn, fft.hfftn)},
}
