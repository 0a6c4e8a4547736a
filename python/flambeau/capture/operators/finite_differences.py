"""``torch.gradient`` along dynamic sizes, in a capture: torch makes numbers of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .size_keeping import keeping

__all__ = ["FINITE_DIFFERENCES"]


def _along(input: torch.Tensor, axis: int, spacing: Any, edge_order: int) -> torch.Tensor:
    """By steps of one size."""
    size = input.shape[axis]

    def part(start: Any, length: Any) -> torch.Tensor:
        return input.narrow(axis, start, length)

    if edge_order == 1:
        first, last = part(1, 1) - part(0, 1), part(size - 1, 1) - part(size - 2, 1)
    else:
        first = -1.5 * part(0, 1) + 2 * part(1, 1) - 0.5 * part(2, 1)
        last = 1.5 * part(size - 1, 1) - 2 * part(size - 2, 1) + 0.5 * part(size - 3, 1)
    return torch.cat([first, (part(2, size - 2) - part(0, size - 2)) / 2, last], axis) / spacing


def _along_places(input: torch.Tensor, axis: int, places: torch.Tensor, edge_order: int) -> torch.Tensor:
    """Of values at places: a parabola through three of them has the slope."""
    size = input.shape[axis]
    steps = places.narrow(0, 1, size - 1) - places.narrow(0, 0, size - 1)
    steps = steps.reshape([size - 1 if each == axis % input.dim() else 1 for each in range(input.dim())])

    def step(start: Any, length: Any) -> torch.Tensor:
        return steps.narrow(axis, start, length)

    def part(start: Any, length: Any) -> torch.Tensor:
        return input.narrow(axis, start, length)

    before, after = step(0, size - 2), step(1, size - 2)
    slopes = (part(1, size - 2) - part(0, size - 2)) / before, (part(2, size - 2) - part(1, size - 2)) / after
    inside = (after * slopes[0] + before * slopes[1]) / (before + after)
    first, last = slopes[0].narrow(axis, 0, 1), slopes[1].narrow(axis, size - 3, 1)
    if edge_order == 2:
        bend = (slopes[1] - slopes[0]) / (before + after)
        first = first - bend.narrow(axis, 0, 1) * before.narrow(axis, 0, 1)
        last = last + bend.narrow(axis, size - 3, 1) * after.narrow(axis, size - 3, 1)
    return torch.cat([first, inside, last], axis)


def _each(spacing: Any, count: int) -> list[Any] | None:
    """A step or the places for each dimension, or None if these are not so many."""
    each = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * count
    return each if len(each) == count else None


@keeping(torch.gradient)
def _gradient(input: torch.Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    spacings = _each(1 if spacing is None else spacing, len(dims))
    if spacings is None or edge_order not in (1, 2):
        return NotImplemented  # an error of PyTorch's
    return [
        (_along_places if isinstance(each, torch.Tensor) and each.dim() else _along)(input, axis, each, edge_order)
        for axis, each in zip(dims, spacings)
    ]


FINITE_DIFFERENCES: dict[Callable[..., Any], Callable[..., Any]] = {torch.gradient: _gradient}
