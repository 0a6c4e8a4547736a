"""Calls that torch's tracer does not record, or not as what they do."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..replaced_functions import Replacements
from .untraced import untraced

__all__ = ["recorded_calls"]

_SET_DEFAULT_DTYPE = torch.set_default_dtype
_RESIZE = torch.Tensor.resize_


def _traced() -> bool:
    return torch._C._get_tracing_state() is not None


def _set_default_dtype(d: torch.dtype) -> None:
    if _traced() and d != torch.get_default_dtype():
        raise RuntimeError("a trace does not record that the model sets torch's default dtype: set it around the export, or name the dtypes in the model")
    _SET_DEFAULT_DTYPE(d)


def _resize(tensor: torch.Tensor, *sizes: Any, memory_format: torch.memory_format = torch.contiguous_format) -> torch.Tensor:
    """The tracer forgets a tensor of which the memory may be another. It takes one that is set to the part of the memory."""
    if not _traced():
        return _RESIZE(tensor, *sizes, memory_format=memory_format)
    shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    if memory_format != torch.contiguous_format:
        raise RuntimeError("a trace does not record resize_ to another memory format: call contiguous() with it")
    count = math.prod(shape)
    with untraced():  # the sizes of the example decide, as in all of a trace
        held = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
        longer, is_all = int(count) > held, tensor.is_contiguous() and tensor.numel() == held
    if is_all:
        memory = tensor.detach().view(-1)
        if longer:
            memory = torch.cat([memory, memory.new_zeros(count)])  # torch leaves open what they are
        tensor.set_(memory[:count].view(shape))
    elif longer:
        raise RuntimeError("a trace does not record resize_ to more elements than lie behind a part of a tensor: call contiguous() before")
    else:  # what lies behind its own elements, too, in the order of memory
        tensor.set_(tensor.detach().as_strided(shape, [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]))
    return tensor


def _resize_as(tensor: torch.Tensor, other: torch.Tensor, *, memory_format: torch.memory_format = torch.contiguous_format) -> torch.Tensor:
    return _resize(tensor, other.shape, memory_format=memory_format)


def _extreme_of_all(own: Callable[..., Any], along_all: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """``max`` or ``min`` of a tensor into ``out=``, which a trace has as that of two tensors."""

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(("input",), args, strict=False)), **kwargs}
        if len(args) > 1 or given.keys() != {"input", "out"} or given["out"] is None or not _traced():
            return own(*args, **kwargs)
        if given["input"].dtype == given["out"].dtype:
            return along_all(given["input"], (), out=given["out"])
        return torch.mul(along_all(given["input"], ()), 1, out=given["out"])

    return call


@contextlib.contextmanager
def recorded_calls() -> Iterator[None]:
    """While it is open, a trace has what ``resize_`` and ``max(x, out=y)`` do, and fails where the default dtype becomes another one."""
    with Replacements() as replacements:
        for name, along_all in (("max", torch.amax), ("min", torch.amin)):
            replacements.set(torch, name, _extreme_of_all(getattr(torch, name), along_all))
        replacements.set(torch, "set_default_dtype", _set_default_dtype)
        replacements.set(torch.Tensor, "resize_", _resize)
        replacements.set(torch.Tensor, "resize_as_", _resize_as)
        yield
