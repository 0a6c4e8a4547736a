"""``torch.tensor`` of lists that have tensors and dynamic sizes in them."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch.utils import _pytree

__all__ = ["tensor_of"]

_LISTS = (list, tuple)  # not those that a loop of dynamic length filled
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


def _dtype_of(element: Any) -> torch.dtype:
    """What a list of such elements becomes."""
    if isinstance(element, torch.Tensor):
        return element.dtype
    if isinstance(element, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(element, complex):
        return torch.get_default_dtype().to_complex()
    return torch.get_default_dtype() if isinstance(element, (float, torch.SymFloat)) else torch.int64


def tensor_of(data: Any, **options: Any) -> torch.Tensor:
    """``torch.tensor``, which asks tensors of one element for their numbers, and sizes, too, where nothing else takes the call."""
    elements = _pytree.tree_leaves(data) if type(data) in _LISTS else []
    sizes: list[int] = []
    first = data
    while type(first) in _LISTS and first:
        sizes.append(len(first))
        first = first[0]
    scalars = all(isinstance(each, (int, float, complex, *_SYMBOLS)) or (isinstance(each, torch.Tensor) and not each.ndim) for each in elements)
    open_ones = any(isinstance(each, (torch.Tensor, *_SYMBOLS)) for each in elements)
    if not open_ones or not scalars or math.prod(sizes) != len(elements) or options.keys() - {"dtype", "device"}:
        return torch.tensor(data, **options)
    dtype = options.get("dtype") or functools.reduce(torch.promote_types, map(_dtype_of, elements))
    place = {"dtype": dtype, "device": options.get("device")}
    return torch.stack([each.to(**place) if isinstance(each, torch.Tensor) else torch.scalar_tensor(each, **place) for each in elements]).reshape(sizes)
