"""What rounds fill lists with, and the lists that they fill."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..sizes.progressions import is_integer
from .modes import Unkept
from .pieces import Numbers

if TYPE_CHECKING:
    from .layouts import Layout

__all__ = ["Appended", "Gathered", "Gathering", "Growing", "Nested", "gathered", "number"]


class Gathered(list):
    """What a round added to a list."""

    def __init__(self, items: Iterable[Any] = (), front: bool = False, numbers: bool = False) -> None:
        super().__init__(items)
        self.front = front
        """Whether at its front."""
        self.numbers = numbers
        """Whether the one tensor in it holds the items, integers."""


class Gathering(list):
    """The list that a round fills: at its end, or at its front. It holds what this round added alone, and so nobody may read it."""

    front = False

    def append(self, item: Any) -> None:
        if self.front:
            raise Unkept("a round fills a list at both ends")
        super().append(item)

    def insert(self, index: Any, item: Any) -> None:
        if not isinstance(index, int) or index != 0 or (self.items() and not self.front):
            raise Unkept("a round fills a list in other places than its ends")
        self.front = True
        super().append(item)

    def extend(self, items: Any) -> None:
        for item in [items] if isinstance(items, Numbers) else items:
            self.append(item)

    def __iadd__(self, items: Any) -> Gathering:  # type: ignore[override,misc]
        self.extend(items)
        return self

    def items(self) -> list[Any]:
        """Those of this round."""
        return list(list.__iter__(self))

    def gathered(self) -> Gathered:
        """With its numbers, if they are several, in one tensor."""
        items = self.items()
        several = len(items) > 1 or any(isinstance(item, Numbers) for item in items)
        if not several or not all(isinstance(item, Numbers) or is_integer(item) for item in items):
            return Gathered(items, self.front)
        parts = [item.integers() if isinstance(item, Numbers) else number(item).unsqueeze(0) for item in items]
        return Gathered([torch.cat(parts)], self.front, numbers=True)

    def _unknown(self, *_: Any, **__: Any) -> Any:
        raise Unkept("a round reads the list that it fills")

    __len__ = __bool__ = __iter__ = __reversed__ = __getitem__ = __contains__ = __add__ = __radd__ = __mul__ = __rmul__ = _unknown  # type: ignore[assignment]
    __setitem__ = __delitem__ = __imul__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown  # type: ignore[assignment]
    pop = remove = reverse = clear = sort = index = count = copy = _unknown  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


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


def gathered(result: Any, given: Any) -> Gathered | Nested:
    """What a round added to the list that it was given.

    Raises:
        Unkept: It gives back another list.
    """
    if isinstance(result, Nested):
        numbers = result.integers()
        return result if numbers is None else Gathered([numbers], numbers=True)
    if isinstance(result, Gathered):
        return result
    if not isinstance(result, Gathering) or result is not given:
        raise Unkept("a round makes another list of the one that it fills")
    return result.gathered()


def number(value: Any) -> torch.Tensor:
    return torch.scalar_tensor(value, dtype=torch.int64)
