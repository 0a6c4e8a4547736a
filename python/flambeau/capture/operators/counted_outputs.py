"""Functions of PyTorch that count elements into ``out=``, whose shape they keep where it has as many: in a capture torch gives it one dimension."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

__all__ = ["counted_into"]


def counted_into(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which copies what it counts into an ``out=`` that is known to have as many elements."""

    @functools.wraps(function)
    def call(*args: Any, out: torch.Tensor | None = None, **kwargs: Any) -> Any:
        if out is None:
            return function(*args, **kwargs)
        counted = function(*args, **(kwargs | {"dtype": out.dtype}))
        if statically_known_true(counted.numel() == out.numel()):
            return out.copy_(counted.view(out.shape))
        return function(*args, out=out, **kwargs)

    return call
