"""What rounds fill lists with, and the lists that they fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .modes import Unkept
from .pieces import Numbers

if TYPE_CHECKING:
    from .layouts import Layout

__all__ = ["Appended", "Gathering", "Growing", "Nested", "is_integer", "number", "together"]


class Gathering(list):
    """The list that a round fills: at its end, or at its front."""

    front = False
    numbers = False
    """Whether its one tensor holds the items, integers."""

    def append(self, item: Any) -> None:
        if self.front:
            raise Unkept("a round fills a list at both ends")
        super().append(item)

    def insert(self, index: Any, item: Any) -> None:
        if not isinstance(index, int) or index != 0 or (self and not self.front):
            raise Unkept("a round fills a list in other places than its ends")
        self.front = True
        super().append(item)

    def extend(self, items: Any) -> None:
        for item in [items] if isinstance(items, Numbers) else items:
            self.append(item)

    def __iadd__(self, items: Any) -> Gathering:  # type: ignore[override,misc]
        self.extend(items)
        return self

    def together(self) -> Gathering:
        """With its numbers, if they are several, in one tensor."""
        several = len(self) > 1 or any(isinstance(item, Numbers) for item in self)
        if not several or not all(isinstance(item, Numbers) or is_integer(item) for item in self):
            return self
        parts = [item.integers() if isinstance(item, Numbers) else number(item).unsqueeze(0) for item in self]
        return self.of_numbers(torch.cat(parts), self.front)

    @staticmethod
    def of_numbers(tensor: torch.Tensor, front: bool = False) -> Gathering:
        gathered = Gathering([tensor])
        gathered.numbers, gathered.front = True, front
        return gathered


class Growing(list):
    """Integers to which a round that is tried may add."""

    def extend(self, items: Any) -> None:
        if isinstance(items, Numbers):
            self.append(items)
        else:
            super().extend(items)

    def __iadd__(self, items: Any) -> Growing:  # type: ignore[override,misc]
        self.extend(items)
        return self


class Nested(list):
    """A list that a loop within a round filled."""

    def integers(self) -> torch.Tensor | None:
        """All items, where they are integers."""
        return None

    def stacked(self) -> torch.Tensor:
        """All items."""
        raise Unkept("a loop within another fills a list with other things than tensors of one shape")


class Appended(NamedTuple):
    """What the rounds added to a list: the items of a round, stacked over the rounds."""

    items: list[torch.Tensor]
    front: bool
    """Whether each item went before all that was there."""
    axis: int | None = None
    """Of pieces of several lengths, one a round, the axis along which they are the only item in `items`."""
    lengths: torch.Tensor | None = None
    """Those of the pieces, where they differ."""
    numbers: bool = False
    """Whether the items are integers, of all rounds in one tensor."""
    layout: Layout | None = None
    """Of tuples, what else there is of each."""


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool)


def together(result: Any) -> Any:
    """A list that a round filled, with several integers in one tensor."""
    if isinstance(result, Nested):
        numbers = result.integers()
        return result if numbers is None else Gathering.of_numbers(numbers)
    return result.together() if isinstance(result, Gathering) else result


def number(value: Any) -> torch.Tensor:
    return torch.scalar_tensor(value, dtype=torch.int64)
