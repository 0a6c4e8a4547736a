"""One size where torch takes a list of integers: its tracer keeps the sizes in a list, and makes a number of the one."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

from ..replaced_functions import Replacements
from .sizes import is_size

__all__ = ["sizes_in_lists"]

_Call = Callable[..., Any]

_MAX_POOLED = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
_AVERAGED = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
_LISTS = {"kernel_size", "stride", "padding", "dilation", "output_size"}


def _listing(own: _Call, names: tuple[str, ...], count: int) -> _Call:
    """The function, whose arguments after the first have these names, with one size for each of so many dimensions."""

    @functools.wraps(own)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        named = dict(zip(names, args, strict=False)) | kwargs
        sizes = {name: (value,) * count for name, value in named.items() if name in _LISTS and is_size(value)}
        return own(input, **named | sizes) if sizes and len(args) <= len(names) else own(input, *args, **kwargs)

    return call


def _rolling(own: _Call) -> _Call:
    @functools.wraps(own)
    def call(input: Any, shifts: Any, dims: Any = ()) -> Any:
        return own(input, (shifts,), (dims,) if isinstance(dims, int) else dims) if is_size(shifts) else own(input, shifts, dims)

    return call


def _replacements() -> Iterator[tuple[Any, str, _Call]]:
    for dims in (1, 2, 3):
        for owner, name, names in (
            (torch, f"max_pool{dims}d", _MAX_POOLED),
            (torch if dims == 1 else torch._C._nn, f"max_pool{dims}d_with_indices", _MAX_POOLED),
            (F, f"avg_pool{dims}d", _AVERAGED),
        ):
            yield owner, name, _listing(getattr(owner, name), names, dims)
    for owner, name in ((torch, "adaptive_avg_pool1d"), (F, "adaptive_avg_pool1d"), (torch, "adaptive_max_pool1d")):
        yield owner, name, _listing(getattr(owner, name), ("output_size",), 1)
    for owner in (torch, torch.Tensor):
        yield owner, "roll", _rolling(owner.roll)


@contextlib.contextmanager
def sizes_in_lists() -> Iterator[None]:
    """While it is open, ``F.max_pool1d(x, x.size(2))``, ``x.roll(x.size(1) // 2, 1)`` and their like follow the size."""
    with Replacements() as replacements:
        for owner, name, function in _replacements():
            replacements.set(owner, name, function)
        yield
