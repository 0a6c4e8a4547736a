"""Lists of a dynamic number of items that are all alike, such as the sizes of all rows: ``[list(row.shape) for row in x]``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.utils import _pytree

from ..sizes.conversions import number_of
from .modes import ByPlaces, Unkept
from .rounds import Filled, Rounds

__all__ = ["Alike", "alike_items"]


class Alike(Filled):
    """So many copies of an item, which holds numbers; the first may be written into."""

    def __init__(self, count: Any, item: Any) -> None:
        super().__init__([], [])
        self.count, self.item, self._first = count, item, copy.copy(item)

    def as_rounds(self) -> Rounds:
        if self._first != self.item:
            raise Unkept("the first of a dynamic number of items that are alike is another by now")
        return Rounds(self.count, lambda _: copy.copy(self.item))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int):
            return self._first if index == 0 else copy.copy(self.item)
        if isinstance(index, slice) and index.step is None and index.stop is None and isinstance(index.start, int) and index.start > 0:
            return Alike(torch.sym_max(self.count - index.start, 0), self.item)
        raise Unkept(f"item {index} of a list that a dynamic loop filled")

    def joined(self, axis: int, stacked: bool) -> torch.Tensor:
        raise Unkept("numbers are put together as if they were tensors")


def alike_items(rounds: Rounds, function: Callable[[Any], Any]) -> Alike | None:
    """What the function gives for the items, where that is the same numbers for each; else None."""
    env = rounds.count.node.shape_env
    known = set(env.var_to_range)
    with disable_proxy_modes_tracing(), env.ignore_fresh_unbacked_symbols(), ByPlaces():
        index = env.create_unbacked_symint()
        torch._check(index >= 0)
        torch._check(index < rounds.count)
        item = function(rounds.at(index))
    leaves, structure = _pytree.tree_flatten(item)
    if not all(type(leaf) is int or (isinstance(leaf, torch.SymInt) and leaf.node.expr.free_symbols <= known) for leaf in leaves):
        return None
    numbers = [leaf if isinstance(leaf, int) else number_of(leaf.node.expr, env) for leaf in leaves]
    return Alike(rounds.count, _pytree.tree_unflatten(numbers, structure))
