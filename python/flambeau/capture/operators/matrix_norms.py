"""Norms of matrices whose sizes are dynamic, in a capture: torch makes numbers of those."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .size_keeping import keeping

__all__ = ["MATRIX_NORMS"]


def _norm_of_matrices(input: torch.Tensor, order: float, dim: tuple[int, int], keepdim: bool) -> torch.Tensor:
    """The largest or smallest sum along rows or columns, or singular value."""
    extreme = torch.amax if order > 0 else torch.amin
    rows, columns = (axis % input.dim() for axis in dim)
    if abs(order) == 2:
        values = torch.linalg.svdvals(input.movedim((rows, columns), (-2, -1)))
        found = extreme(values, -1)
        return found.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns)) if keepdim else found
    summed, compared = (rows, columns) if abs(order) == 1 else (columns, rows)
    found = extreme(input.abs().sum(summed, keepdim=True), compared, keepdim=True)
    return found if keepdim else found.squeeze((rows, columns))


@keeping(torch.linalg.matrix_norm)
def _matrix_norm(A: torch.Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
    if isinstance(ord, str) or abs(ord) not in (1, 2, math.inf) or len(dim) != 2:
        return NotImplemented
    return _norm_of_matrices(A if dtype is None else A.to(dtype), ord, tuple(dim), keepdim)


@keeping(torch.linalg.norm)
def _norm(input: torch.Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
    axes = tuple(range(input.dim())) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if ord is None or len(axes) != 2:
        return NotImplemented
    return _matrix_norm(input, ord, axes, keepdim, dtype=dtype)


MATRIX_NORMS: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.linalg.matrix_norm: _matrix_norm,
    torch.linalg.norm: _norm,
}
