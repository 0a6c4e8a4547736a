"""What rewritten functions call in the place of Python's own: loops, and what makes their iterables and lists."""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from ..questions.presence import rows_are_known
from ..sizes.conversions import Uncounted
from ..sizes.proofs import simplified
from .alike import Alike, alike_items
from .gathering import Gathering
from .pieces import Numbers, Pieces
from .places import Places
from .rounds import Filled, FilledNumbers, Range, Rounds, Whole, as_tensor, is_dynamic, range_of
from .rows import WrittenRows
from .same import fixed
from .scanning import Lost, Unkept, as_scan, item_at
from .tuples import Tuples

__all__ = ["Runtime"]

_NUMBERS = {bool: torch.bool, float: torch.float64}
"""Of Python's numbers that are no integers, what holds them."""


def _parts(tensor: torch.Tensor, length: Any, dim: int) -> Rounds:
    """Pieces of one length, of which the last may be shorter."""
    size = tensor.shape[dim]

    def at(i: Any) -> torch.Tensor:
        rows = torch.sym_min(length, size - i * length)
        torch._check(rows >= 1)
        return torch.index_select(tensor, dim, i * length + torch.arange(rows, device=tensor.device))  # a slice would have a size of its own

    return Rounds((size + length - 1) // length, at)


def _known_steps(start: Any, stop: Any, step: torch.SymInt) -> list[Any]:
    """The numbers of a range whose step is a size, where there is a number of them for every size: all of it, in one step."""
    count = (stop - start + step - 1) // step
    number = simplified(count.node.expr) if isinstance(count, torch.SymInt) else count
    return [start + i * step for i in builtins.range(int(number))] if isinstance(number, (int, sympy.Integer)) else []


class Runtime:
    """What rewritten functions call."""

    @property
    def unset(self) -> Lost:
        """The value of a name that has none yet."""
        return Lost()

    def dynamic(self, items: Any) -> bool:
        if isinstance(items, torch.Tensor) and items.ndim:
            return is_dynamic(items.shape[0]) and not rows_are_known(items)
        return isinstance(items, (Rounds, Filled, Numbers, Pieces))

    def len(self, of: Any) -> Any:
        if isinstance(of, (Numbers, Pieces)):
            return of.count
        if isinstance(of, Uncounted):
            return of.length()
        return of.shape[0] if isinstance(of, torch.Tensor) and of.ndim else builtins.len(of)

    def range(self, *limits: Any) -> Any:
        start, stop, step = (0, *limits, 1) if len(limits) == 1 else (*limits, 1)[:3]
        if is_dynamic(step):
            return _known_steps(start, stop, step) or builtins.range(*limits)
        if not any(is_dynamic(limit) for limit in (start, stop)) or not isinstance(step, int) or not step:
            return builtins.range(*limits)
        return range_of(start, stop, step)

    def counted(self, start: Any, stop: Any, step: int) -> Any:
        """What ``i`` is after ``while i < stop: i += step``."""
        rounds = self.range(start, stop, step)
        return start + step * (rounds.count if isinstance(rounds, Rounds) else builtins.len(rounds))

    def attribute(self, of: Any, name: str) -> Any:
        """The attribute; one that is not there yet has no value."""
        return getattr(of, name, Lost())

    def unbind(self, of: Any, *args: Any, **kwargs: Any) -> Any:
        """``of.unbind(dim)``, or ``torch.unbind(tensor, dim)``."""
        tensor, *rest = args if of is torch else (of, *args)
        dim = rest[0] if rest else kwargs.get("dim", 0)
        if not isinstance(tensor, torch.Tensor) or not is_dynamic(tensor.shape[dim]):
            return of.unbind(*args, **kwargs)
        return Filled([], [tensor.movedim(dim, 0)])

    def split(self, of: Any, *args: Any, **kwargs: Any) -> Any:
        """Pieces of one length, or of those that a list has."""
        tensor, *rest = args if of is torch else (of, *args)
        length, dim, *_ = *rest, *(kwargs[name] for name in ("split_size_or_sections", "split_size", "dim") if name in kwargs), 0
        if not isinstance(tensor, torch.Tensor) or type(length) is not int or length < 1 or not is_dynamic(tensor.shape[dim]):
            return of.split(*args, **kwargs)
        return _parts(tensor, length, dim)

    def chunk(self, of: Any, *args: Any, **kwargs: Any) -> Any:
        """At most so many pieces."""
        tensor, *rest = args if of is torch else (of, *args)
        chunks, dim, *_ = *rest, *(kwargs[name] for name in ("chunks", "dim") if name in kwargs), 0
        if not isinstance(tensor, torch.Tensor) or type(chunks) is not int or chunks < 2 or not is_dynamic(tensor.shape[dim]):
            return of.chunk(*args, **kwargs)
        return _parts(tensor, torch.sym_max((tensor.shape[dim] + chunks - 1) // chunks, 1), dim)

    def _rounds(self, items: Any) -> Any:
        if isinstance(items, torch.Tensor) and items.ndim:
            return Rounds(items.shape[0], lambda i: item_at(items, i), items)
        if isinstance(items, (Numbers, Pieces)):
            return Rounds(items.count, items.at)
        if isinstance(items, builtins.range):
            return Rounds(builtins.len(items), lambda i: items.start + i * items.step)
        return items.as_rounds() if isinstance(items, Filled) else items

    def enumerate(self, items: Any, start: Any = 0) -> Any:
        if not self.dynamic(items):
            return builtins.enumerate(items, start)
        rounds = self._rounds(items)
        return Rounds(rounds.count, lambda i: (i + start, rounds.at(i)), (None, rounds.rows))

    def zip(self, *all: Any, **kwargs: Any) -> Any:
        if not builtins.any(builtins.map(self.dynamic, all)):
            return builtins.zip(*all, **kwargs)
        if not builtins.all(builtins.map(self.dynamic, all)):
            raise Unkept("a loop over what is dynamic beside what is not")
        rounds = [self._rounds(items) for items in all]
        counts = [each.count for each in rounds]
        for count in counts[1:]:
            if not fixed(counts[0], count):
                raise Unkept("a loop over two dynamic dimensions")
        return Rounds(counts[0], lambda i: tuple(each.at(i) for each in rounds), tuple(each.rows for each in rounds))

    tuples = staticmethod(itertools.product)

    def product(self, function: Callable[..., Any], *all: Any, **kwargs: Any) -> Any:
        """What the function gives, which may be ``itertools.product``."""
        if function is not itertools.product or kwargs or not builtins.any(builtins.map(self.dynamic, all)):
            return function(*all, **kwargs)
        if not builtins.all(self.dynamic(items) or isinstance(items, builtins.range) for items in all):
            raise Unkept("a loop over what is dynamic beside what is not")
        factors = [self._rounds(items) for items in all]

        def at(i: Any) -> tuple[Any, ...]:
            items = []
            for rounds in builtins.reversed(factors):
                place = i % rounds.count
                torch._check(place >= 0)
                torch._check(place < rounds.count)
                items.append(rounds.at(place))
                i = i // rounds.count
            return (*builtins.reversed(items),)

        return Rounds(math.prod(rounds.count for rounds in factors), at)

    def map(self, function: Callable[..., Any], *all: Any) -> Any:
        if not builtins.any(builtins.map(self.dynamic, all)):
            return builtins.map(function, *all)
        rounds = self.zip(*all)
        return Rounds(rounds.count, lambda i: function(*rounds.at(i)))

    def reversed(self, items: Any) -> Any:
        if not self.dynamic(items):
            return builtins.reversed(items)
        if isinstance(items, Range):
            return items[::-1]
        rounds = self._rounds(items)
        return Rounds(rounds.count, lambda i: rounds.at(rounds.count - 1 - i))

    def last(self, items: Any) -> Any:
        """``items[-1]``; of nothing, what is no value."""
        return items[-1] if isinstance(items, Filled) or (isinstance(items, list) and items) else Lost()

    def last_after(self, last: Any, items: Any) -> Any:
        """``filled[-1]`` after ``filled.extend(items)``, of what it was before."""
        if isinstance(items, Numbers) and isinstance(last, (int, torch.SymInt)):
            return torch.cat([torch.scalar_tensor(last, dtype=torch.int64).unsqueeze(0), items.integers()])[-1].item()
        if not isinstance(items, (list, tuple)) or isinstance(items, Filled):
            raise Unkept("the last item of a list is read to which a round adds as many as it finds")
        return items[-1] if items else last

    def extended(self, filled: Any, items: Any) -> Any:
        """The list after ``filled.extend(items)`` or ``filled += items``."""
        if not isinstance(filled, list):  # the name is given to something else, too
            filled += items
            return filled
        if not isinstance(items, Numbers):
            filled.extend(items)
            return filled
        if isinstance(filled, Filled) and not isinstance(filled, FilledNumbers):
            raise Unkept("a list holds the numbers of a tensor beside what are no integers")
        numbers = items.integers()
        return filled.extended(numbers) if isinstance(filled, FilledNumbers) else FilledNumbers(filled, numbers)

    def repeated(self, items: list[Any], count: Any) -> Any:
        """``items * count``."""
        if not is_dynamic(count) or not items:
            return items * count
        count = torch.sym_max(count, 0)
        if len(items) == 1 and (items[0] is None or isinstance(items[0], torch.Tensor)):
            return Places(count, items[0])
        if all(isinstance(each, torch.Tensor) for each in items):
            return Filled([], [each.expand(count, *each.shape) for each in items])
        kind = _NUMBERS.get(type(items[0]))
        alike = kind is not None and all(type(each) is type(items[0]) for each in items)
        numbers = torch.tensor(items, dtype=kind) if alike else as_tensor(items, torch.empty(0, dtype=torch.int64))
        return FilledNumbers([], numbers.repeat(count))

    def collected(self, kind: type, items: Any) -> Any:
        """``list(items)``, or a tuple."""
        if kind not in (list, tuple) or not self.dynamic(items):
            return kind(items)
        if isinstance(items, torch.Tensor):
            return Filled([], [items])
        if isinstance(items, Places):
            return items.copied()
        if isinstance(items, Range):
            return items.listed()
        return items if isinstance(items, Filled) else self.listed(items, lambda each: each, False)

    def sum(self, items: Any) -> Any:
        """``sum`` of a list."""
        if isinstance(items, Numbers) and items.tensor.ndim == 1:
            return items.tensor.sum().item()
        if isinstance(items, Alike):
            return items.item * items.count
        if not isinstance(items, Filled):
            return builtins.sum(items)
        rows = torch.stack(items)
        return rows.sum(0, dtype=torch.int64 if rows.dtype is torch.bool else rows.dtype)

    def max(self, items: Any) -> Any:
        """``max`` of a list."""
        return self._greatest(items, builtins.max, torch.amax)

    def min(self, items: Any) -> Any:
        """``min`` of a list."""
        return self._greatest(items, builtins.min, torch.amin)

    def _greatest(self, items: Any, of_items: Callable[[Any], Any], of_rows: Callable[..., torch.Tensor]) -> Any:
        if isinstance(items, Numbers) and items.tensor.ndim == 1:
            return of_rows(items.tensor, 0).item()
        if isinstance(items, Alike):
            return items.item
        if not isinstance(items, Filled):
            return of_items(items)
        rows = torch.stack(items)
        if rows.ndim != 1 or isinstance(items, FilledNumbers):
            raise Unkept("items of a list that a dynamic loop filled are compared, and are no numbers in tensors")
        return of_rows(rows, 0)

    def listed(self, items: Any, function: Callable[..., Any], spread: bool) -> list[Any]:
        """``[function(item) for item in items]``."""
        call = (lambda each: function(*each)) if spread else function
        if not self.dynamic(items):
            return [call(each) for each in items]

        def round(each: Any, filled: list[Any]) -> tuple[list[Any]]:
            filled.append(call(each))
            return (filled,)

        try:
            return self.run(items, round, ["the list"], [[]], ["the list"], [])[0]  # type: ignore[no-any-return]
        except Unkept:
            found = alike_items(self._rounds(items), call)
            if found is None:
                raise
            return found

    def run(
        self, items: Any, round: Callable[..., tuple[Any, ...]], names: list[str], before: list[Any], written: list[str], anew: list[str]
    ) -> tuple[Any, ...]:
        """The values of the names after all rounds."""
        rounds = self._rounds(items)
        before = [value.items() if isinstance(value, Gathering) and not value.front else value for value in before]
        rows = WrittenRows(rounds.rows, round) if {*written} & {*anew} and pytree.tree_leaves(rounds.rows) else None
        round, names, before = (rows, [*names, "the rows"], [*before, []]) if rows else (round, names, before)
        after, appended = as_scan(rounds.count, rounds.at, round, names, before, frozenset(written), frozenset(anew))
        if rows:
            rows.put(after.pop(), appended.pop(len(after), None))
        for i, added in appended.items():
            if added.layout is not None:
                layout = added.layout
                after[i] = Alike(layout.count, layout.at(0, [])) if layout.alike and not after[i] else Tuples(after[i], layout, added.items)
                continue
            if added.numbers:
                after[i] = FilledNumbers(after[i], added.items[0])
                continue
            if added.axis is not None:
                after[i] = Whole(after[i], added.items[0], added.axis, added.lengths)
                continue
            if not added.front:
                after[i] = Filled(after[i], added.items)
                continue
            filled = Filled([], added.items)
            filled.reverse()
            filled.extend(after[i])
            after[i] = filled
        return tuple(after)
