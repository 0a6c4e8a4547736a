"""Tensors indexed by numbers that a capture knows as symbols, or that only a tensor knows."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree

from ..sizes.conversions import Uncounted
from .tensors_of_lists import tensor_of

__all__ = ["at_places", "read_at", "with_numbers", "write_at"]


def _is_place(index: Any) -> bool:
    """Whether an index is a number that only a tensor knows."""
    return isinstance(index, torch.Tensor) and index.ndim == 0 and index.dtype in (torch.int64, torch.int32, torch.int16, torch.int8)


def _is_flag(index: Any) -> bool:
    """Whether an index is a mask of no dimensions, which torch would read."""
    return isinstance(index, torch.Tensor) and index.ndim == 0 and index.dtype in (torch.bool, torch.uint8)


def _is_basic(item: Any) -> bool:
    return isinstance(item, (slice, int, torch.SymInt, type(None), type(...))) and not isinstance(item, bool)


def write_at(input: torch.Tensor, index: Any, value: Any) -> None:
    """``input[:, place] = value``: the view of what is indexed by numbers and slices, written where tensors say.

    torch would make a number of each tensor that is one, and of each size.
    """
    if _is_flag(index):
        input, index = input.unsqueeze(0), index.unsqueeze(0).bool()
    index = with_numbers(index)
    split = _places_first(index)
    if split is not None:
        places, rest = split
        view = at_places(input, tuple(each.item() if _is_place(each) else each for each in places))
        if view is not None:
            write_at(view, rest, value)
            return
    view = at_places(input, index)
    if view is not None:
        view.copy_(_fitting(value, view.ndim)) if isinstance(value, torch.Tensor) else view.fill_(value)
        return
    parts = _at_tensors(input, index)
    if parts is None:
        input[index] = value
        return
    view, where = parts
    new = value.to(view.dtype) if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=view.dtype, device=view.device)
    torch.ops.aten.index_put_(view, where, _fitting(new, view.ndim - sum(each is not None for each in where)))


def _at_tensors(input: torch.Tensor, index: Any) -> tuple[torch.Tensor, list[torch.Tensor | None]] | None:
    """What numbers and slices leave, and the tensors that index the dimensions of that; None where none does, or something else as well."""
    items = list(index) if isinstance(index, tuple) else [index]
    if not all(_is_basic(item) or _is_place(item) for item in items) or not any(map(_is_place, items)):
        return None
    taken = sum(item is not None and item is not Ellipsis for item in items)
    where: list[torch.Tensor | None] = []  # a dimension of the view each
    for item in items:
        if item is Ellipsis:
            where += [None] * (input.ndim - taken)
        elif item is None or isinstance(item, slice):
            where.append(None)
        elif _is_place(item):
            where.append(item)
    return input[tuple(slice(None) if _is_place(item) else item for item in items)], where


def _places_first(index: Any) -> tuple[Any, Any] | None:
    """``x[t, :, i]`` as ``x[:, :, i]`` and what is taken of that, ``[t, :]``, where a tensor that is a number stands beside others that
    index; else None."""
    places, rest, others = [], [], False
    for item in index if isinstance(index, tuple) else ():
        if isinstance(item, list) and item and all(type(each) is int for each in item):
            item = torch.tensor(item)
        if _is_place(item):
            places.append(item)
            continue
        rest.append(item)
        if isinstance(item, torch.Tensor):
            others, taken = True, item.ndim if item.dtype in (torch.bool, torch.uint8) else 1
            places += [slice(None)] * taken
            if not taken:  # adds a dimension
                return None
        elif not _is_basic(item):
            return None
        elif item is not None:
            places.append(item if item is Ellipsis else slice(None))
    return (tuple(places), tuple(rest)) if others and any(map(_is_place, places)) else None


def _fitting(value: torch.Tensor, rank: int) -> torch.Tensor:
    """What is written may have more dimensions in front, of size 1."""
    while value.ndim > rank and value.shape[0] == 1:
        value = value[0]
    return value


def read_at(input: torch.Tensor, index: Any) -> torch.Tensor:
    """``input[:, [0, size - 1]]``: torch would make a number of the size."""
    if _is_flag(index):
        input, index = input.unsqueeze(0), index.unsqueeze(0).bool()
    index = with_numbers(index)
    split = _places_first(index)
    if split is not None:
        places, rest = split
        return read_at(read_at(input, places), rest)
    try:
        return input[index]
    except GuardOnDataDependentSymNode:  # older releases of torch make a number of each tensor that is one
        parts = _at_tensors(input, index)
        if parts is None:
            raise
    return torch.ops.aten.index.Tensor(*parts)  # type: ignore[no-any-return]


def at_places(tensor: torch.Tensor, index: Any) -> torch.Tensor | None:
    """``tensor[:, i]``, where an index is a symbol; None where none is, or there are others than numbers and slices."""
    items = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(item, torch.SymInt) for item in items) or not all(map(_is_basic, items)):
        return None
    taken = sum(item is not None and item is not Ellipsis for item in items)
    axis = 0
    for item in items:
        if isinstance(item, (int, torch.SymInt)):
            tensor, taken = torch.select(tensor, axis, item), taken - 1
        elif item is Ellipsis:
            axis = tensor.ndim - taken
        elif item is None:
            tensor, axis = tensor.unsqueeze(axis), axis + 1
        else:
            if item != slice(None):
                tensor = tensor[(slice(None),) * axis + (item,)]
            axis, taken = axis + 1, taken - 1
    return tensor


def with_numbers(index: Any) -> Any:
    """The index with numbers for the tensors that bound its slices, and tensors for lists that have sizes in them, or tensors that are numbers."""
    if isinstance(index, slice) and any(map(_is_place, (index.start, index.stop, index.step))):
        return slice(*(each.item() if _is_place(each) else each for each in (index.start, index.stop, index.step)))
    if isinstance(index, Uncounted):
        return index.as_index()
    if isinstance(index, list) and any(isinstance(each, torch.SymInt) for each in _pytree.tree_leaves(index)):
        return tensor_of(index)
    if isinstance(index, tuple):
        return tuple(tensor_of(each) if _lists_places(each) else with_numbers(each) for each in index)
    return index


def _lists_places(index: Any) -> bool:
    """Whether a part of an index is a list of numbers of which only tensors know some (``x[(i, j), :]``): torch would read these."""
    return type(index) in (list, tuple) and any(map(_is_place, index)) and all(_is_place(each) or type(each) is int for each in index)
