"""Lists of a dynamic number of places that are written one by one: ``rows = [None] * n``, and then ``rows[i] = row``."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree

from .rounds import Filled
from .same import same_type
from .scanning import Unkept, item_at

__all__ = ["Places"]


class _Count:
    """How many places there are. Equal to itself alone: to compare sizes may be a question to the example."""

    def __init__(self, size: Any) -> None:
        self.size = size


class Places(Filled):
    """The items of all places are rows of one tensor, which loops hand on. There is none before the first item is known."""

    def __init__(self, count: Any, item: torch.Tensor | None) -> None:
        super().__init__([], [])
        self._count = _Count(count)
        if item is not None:
            self.rounds = [item.expand(count, *item.shape).contiguous()]

    def __setitem__(self, index: Any, item: Any) -> None:
        if not isinstance(item, torch.Tensor) or isinstance(index, slice):
            raise Unkept("a place of a list gets what is no tensor")
        if not self.rounds:
            self.rounds = [item.new_zeros((self._count.size, *item.shape))]
        (rows,) = self.rounds
        if not same_type(item_at(rows, 0), item) or self.after:
            raise Unkept("the places of a list hold tensors of several types")
        rows = rows.clone()  # what was read before stays what it was
        rows[index] = item
        self.rounds = [rows]

    def copied(self) -> Places:
        """As ``list`` makes it."""
        if self.after:
            raise Unkept("a list of a dynamic number of places grows")
        return Places.of(self.rounds, self._count)

    def joined(self, axis: int, stacked: bool) -> torch.Tensor:
        self._refuse_unwritten()
        return super().joined(axis, stacked)

    def __getitem__(self, index: Any) -> Any:
        self._refuse_unwritten()
        return super().__getitem__(index)

    def _refuse_unwritten(self) -> None:
        if not self.rounds:
            raise Unkept("a list is read before anything is written into it")

    def flattened(self) -> tuple[list[torch.Tensor], _Count]:
        """As PyTorch's trees have it."""
        if self.after:
            raise Unkept("a list of a dynamic number of places grows")
        return self.rounds, self._count

    @staticmethod
    def of(rounds: Any, count: _Count) -> Places:
        """What was flattened."""
        places = Places(count.size, None)
        places._count, places.rounds = count, list(rounds)
        return places


_pytree.register_pytree_node(Places, Places.flattened, Places.of, serialized_type_name="flambeau.Places")
