"""Lists to which each round appends a tuple: ``bounds.append((i, min(n, i + 4)))``, ``states.append((h, c))``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..sizes.progressions import from_front
from .layouts import Layout
from .rounds import Filled, Rounds
from .scanning import Unkept

__all__ = ["Tuples"]


class Tuples(Filled):
    """Such a list: items before, and the rounds'."""

    def __init__(self, before: Sequence[Any], layout: Layout, gathered: Sequence[torch.Tensor]) -> None:
        super().__init__(before, gathered)
        self.layout = layout

    def _count(self) -> Any:
        return self.layout.count - self.layout.first

    def length(self) -> Any:
        return list.__len__(self) + self._count() + len(self.after)

    def as_rounds(self) -> Rounds:
        before = list(list.__iter__(self))
        if self.after or len(before) != self.layout.first:
            raise Unkept("a loop goes over a list of tuples that is filled in several places")
        layout, gathered = self.layout.with_first(*before, self.rounds) if before else (self.layout, self.rounds)
        return Rounds(layout.count, lambda i: layout.at(i, gathered))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and 0 <= index < list.__len__(self):
            return list.__getitem__(self, index)
        if isinstance(index, int) and index < 0 and (self.after or index < -1):
            return self.after[index] if -index <= len(self.after) else self._unknown()
        if list.__len__(self) or self.after or not isinstance(index, (int, torch.SymInt)):
            if index != -1 or self.after:
                raise Unkept(f"item {index} of a list that a dynamic loop filled")
        return self.layout.at(from_front(index, self._count()), self.rounds)

    def joined(self, axis: int, stacked: bool) -> torch.Tensor:
        raise Unkept("tuples are put together as if they were tensors")

    reverse = Filled._unknown  # type: ignore[assignment]
