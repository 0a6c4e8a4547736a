"""What torch remembers of operators' results while a module is captured."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import sympy
import torch
from torch._subclasses import FakeTensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree

from .replaced_functions import Replacements

__all__ = ["only_short_sizes_remembered"]

_LONG = 8
"""So many terms of an expression: to look up a result of such sizes costs more than to compute it again."""


@functools.lru_cache(maxsize=4096)
def _is_long(size: Any) -> bool:
    return len(list(sympy.preorder_traversal(size))) >= _LONG


def _has_long_sizes(leaf: Any) -> bool:
    sizes = leaf.shape if isinstance(leaf, FakeTensor) else (leaf,)
    return any(isinstance(each, torch.SymInt) and _is_long(each.node.expr) for each in sizes)


@contextlib.contextmanager
def only_short_sizes_remembered() -> Iterator[None]:
    """While it is open, operators on tensors with long expressions for sizes are computed anew each time."""
    remembered = FakeTensorMode._cached_dispatch_impl

    @functools.wraps(remembered)
    def dispatch(self: FakeTensorMode, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        long = any(_has_long_sizes(leaf) for leaf in _pytree.arg_tree_leaves(*args, **kwargs))
        return (self._dispatch_impl if long else functools.partial(remembered, self))(func, types, args, kwargs)

    with Replacements() as replacements:
        replacements.set(FakeTensorMode, "_cached_dispatch_impl", dispatch)
        yield
