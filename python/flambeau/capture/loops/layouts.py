"""Of the tuples that rounds append to a list, what the place of a round gives, and what the rounds have to hand out."""

from __future__ import annotations

import copy
from collections.abc import Sequence, Set
from typing import Any

import sympy
import torch
from torch.utils import _pytree

from ..sizes.conversions import number_of
from .gathering import number
from .modes import Unkept
from .same import fixed, same_type

__all__ = ["Layout"]

_CONSTANTS = (int, float, bool, str, torch.dtype, torch.device, type(None))


class Layout:
    """What each round's tuple is made of.

    Args:
        item: The tuple of one round.
        index: The place of that round.
        known: The symbols from before the loop.
        count: How many rounds the loop has.
        first: The place of its first round.

    Raises:
        Unkept: It holds other things than numbers, tensors and constants.
    """

    def __init__(self, item: Any, index: torch.SymInt, known: Set[sympy.Symbol], count: Any, first: int) -> None:
        leaves, self.structure = _pytree.tree_flatten(item)
        self.index, self.count, self.first = index.node.expr, count, first
        self.tensors = {i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)}
        self.numbers: set[int] = set()
        """Which of the tensors hold integers of the rounds, that no formula gives."""
        self.known: dict[int, Any] = {}
        """What the place of the round gives: expressions, and constants."""
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, torch.SymInt) and leaf.node.expr.free_symbols <= {*known, self.index}:
                self.known[i] = leaf.node.expr
            elif isinstance(leaf, torch.SymInt):
                self.numbers.add(i)
            elif i not in self.tensors and not isinstance(leaf, _CONSTANTS):
                raise Unkept("a round appends a tuple of other things than numbers and tensors to a list")
            elif i not in self.tensors:
                self.known[i] = leaf

    @property
    def alike(self) -> bool:
        """Whether the tuples of all rounds are the same numbers."""
        return all(i in self.known and self.index not in getattr(self.known[i], "free_symbols", ()) for i in range(self.structure.num_leaves))

    def gathered(self, item: Any) -> list[torch.Tensor]:
        """Of a round's tuple, what its place does not give."""
        leaves, structure = _pytree.tree_flatten(item)
        if structure != self.structure:
            raise Unkept("the rounds append tuples of several kinds to a list")
        return [
            number(leaf) if i in self.numbers else leaf
            for i, leaf in enumerate(leaves)
            if i not in self.known
        ]

    def with_first(self, item: Any, gathered: Sequence[torch.Tensor]) -> tuple[Layout, list[torch.Tensor]]:
        """Of all rounds, where the first was done apart and gave this tuple: the layout, and what they handed out."""
        leaves, structure = _pytree.tree_flatten(item)
        start = {i: each.subs(self.index, 0) if isinstance(each, sympy.Expr) else each for i, each in self.known.items()}
        if structure != self.structure or any(not fixed(leaves[i], each) for i, each in start.items()):
            raise Unkept("the first round appends another tuple to a list than all others")
        whole = copy.copy(self)
        whole.first = 0
        rows = [each.unsqueeze(0) for each in self.gathered(item)]
        if not all(same_type(row[0], rest[0]) for row, rest in zip(rows, gathered)):
            raise Unkept("the first round appends a tuple of other tensors to a list than all others")
        return whole, [torch.cat(both) for both in zip(rows, gathered)]

    def at(self, place: Any, gathered: Sequence[torch.Tensor]) -> Any:
        """The tuple of the round at a place after the first."""
        rest = iter(gathered)
        leaves = []
        for i in range(self.structure.num_leaves):
            if i not in self.known:
                row = torch.select(next(rest), 0, place)
                leaves.append(row.item() if i in self.numbers else row)
            elif isinstance(self.known[i], sympy.Expr):
                leaves.append(number_of(self.known[i], self.count.node.shape_env, {self.index: place + self.first}))
            else:
                leaves.append(self.known[i])
        return _pytree.tree_unflatten(leaves, self.structure)
