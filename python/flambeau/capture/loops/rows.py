"""Rows of tensors into which the rounds that go over them write: ``for row, image in zip(batch, images): row[:n] = image``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree

from .gathering import Appended
from .modes import Unkept
from .same import memory_of

__all__ = ["WrittenRows"]


class _Touched(TorchFunctionMode):
    """While it is active, it notes the memory of what functions are given."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: set[int] = set()

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        self.memory.update(memory_of(leaf) for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor))
        return func(*args, **(kwargs or {}))


class WrittenRows:
    """A round that takes copies of the rows, and gives back those that it wrote into, in a list of their own.

    Args:
        rows: Of which tensors the parts of an item are rows, as :class:`.rounds.Rounds` has it.
        round: What the copies are given to.
    """

    def __init__(self, rows: Any, round: Callable[..., tuple[Any, ...]]) -> None:
        self._rows, self._round = rows, round
        self._written: list[torch.Tensor] | None = None

    def __call__(self, each: Any, *given: Any) -> tuple[Any, ...]:
        copies: list[tuple[torch.Tensor, torch.Tensor, int]] = []

        def copied(part: Any, of: Any) -> Any:
            if isinstance(of, tuple):
                return tuple(copied(*both) for both in zip(part, of, strict=True))
            if of is None:
                return part
            copy = part.clone()
            copies.append((of, copy, copy._version))
            return copy

        *given, filled = given
        item = copied(each, self._rows)
        with _Touched() as touched:
            results = self._round(item, *given)
        changed = [(of, copy) for of, copy, before in copies if copy._version != before]
        written = [of for of, _ in changed]
        memory = {memory_of(of) for of in written}
        if memory & touched.memory or len(memory) < len(written):
            raise Unkept("a round takes a tensor into whose rows it writes by another name, too")
        if self._written is not None and [*map(id, self._written)] != [*map(id, written)]:
            raise Unkept("not all rounds write into rows of the same tensors")
        self._written = written
        for _, copy in changed:
            filled.append(copy)
        return (*results, filled)

    def put(self, first: list[torch.Tensor], others: Appended | None) -> None:
        """The rows that rounds gave back into their tensors: those of a first round that was done apart, and of all others."""
        for at, of in enumerate(self._written or ()):
            parts = [first[at].unsqueeze(0)] if first else []
            parts += [others.items[at]] if others else []
            of.copy_(torch.cat(parts))
