"""Iterables of a dynamic number of rounds, and lists that a dynamic number of rounds filled."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree

from ..sizes.conversions import Uncounted
from ..sizes.progressions import from_front
from .gathering import Gathering, Nested
from .pieces import Numbers, Pieces
from .scanning import Lost, Unkept, item_at

__all__ = ["Filled", "FilledNumbers", "LoopsAsScans", "Range", "Rounds", "Whole", "as_tensor", "is_dynamic", "pad_sequence", "range_of"]


def is_dynamic(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and not isinstance(size.node.maybe_as_int(), int)


class Rounds(Uncounted):
    """What a loop goes over: how many items, and the item of a round.

    Args:
        rows: In the place of an item the tensor of which it is a row, in that of a tuple a tuple of such, and None of others.
    """

    def __init__(self, count: Any, at: Callable[[Any], Any], rows: Any = None) -> None:
        self.count, self.at, self.rows = count, at, rows

    def __iter__(self) -> Iterator[Any]:
        return (self.at(i) for i in builtins.range(self.count))

    def length(self) -> Any:
        return self.count

    def as_index(self) -> torch.Tensor:
        raise Unkept("what a dynamic loop goes over is an index")


class Range(Rounds):
    """What ``range`` gives of sizes."""

    def __init__(self, start: Any, step: int, count: Any) -> None:
        super().__init__(count, lambda i: start + i * step)
        self.start, self.step = start, step

    @property
    def stop(self) -> Any:
        return self.start + self.count * self.step

    def as_index(self) -> torch.Tensor:
        return self.listed().as_index()

    def listed(self) -> FilledNumbers:
        return FilledNumbers([], torch.arange(self.start, self.stop, self.step))

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self.at(self._place(index))
        step = 1 if index.step is None else index.step
        if not isinstance(step, int) or not step:
            raise Unkept(f"every {step}th number of a range")
        least, most = (0, self.count) if step > 0 else (-1, self.count - 1)
        default = (least, most) if step > 0 else (most, least)
        start, stop = (
            each if given is None else torch.sym_min(torch.sym_max(self._place(given), least), most)
            for given, each in zip((index.start, index.stop), default)
        )
        return Range(self.at(start), self.step * step, _steps(start, stop, step))

    def _place(self, index: Any) -> Any:
        return from_front(index, self.count)

    def __len__(self) -> int:
        return builtins.len(builtins.range(self.count))


def _steps(start: Any, stop: Any, step: int) -> Any:
    count = (stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step
    return torch.sym_max(count, 0)


def range_of(start: Any, stop: Any, step: int) -> Range:
    """``range`` of these."""
    counts = not is_dynamic(start) and (start, step) == (0, 1) and stop.node.shape_env.bound_sympy(stop.node.expr).lower >= 0
    return Range(start, step, stop if counts else _steps(start, stop, step))


class Filled(Nested, Uncounted):
    """A list with what each round of a dynamic number appended: items before, and the rounds' items, stacked by their place in a round."""

    def __init__(self, before: Sequence[Any], rounds: Sequence[torch.Tensor]) -> None:
        super().__init__(before)
        self.rounds = list(rounds)
        self.after: list[Any] = []

    def append(self, item: Any) -> None:
        self.after.append(item)

    def extend(self, items: Any) -> None:
        self.after.extend(items)

    def joined(self, axis: int, stacked: bool) -> torch.Tensor:
        """torch.stack of the items, or torch.cat."""
        join = torch.stack if stacked else torch.cat
        before = list(super().__iter__())
        parts = [join(before, axis)] if before else []
        rank = self.rounds[0].ndim - 1 + stacked
        at = axis % rank
        each = [tensor.unsqueeze(at + 1) if stacked else tensor for tensor in self.rounds]
        moved = torch.cat(each, at + 1).movedim(0, at)
        parts.append(moved.flatten(at, at + 1))
        parts += [join(self.after, axis)] if self.after else []
        return parts[0] if len(parts) == 1 else torch.cat(parts, axis)

    def _only_rounds(self) -> bool:
        return not super().__len__() and not self.after and len(self.rounds) == 1

    def _items(self) -> torch.Tensor:
        """All items, stacked."""
        return self.rounds[0] if self._only_rounds() else self.joined(0, True)

    def length(self) -> Any:
        return self._items().shape[0]

    def as_index(self) -> torch.Tensor:
        raise Unkept("a list that a dynamic loop filled is an index")

    def stacked(self) -> torch.Tensor:
        return self._items() if type(self) is Filled else super().stacked()

    def as_rounds(self) -> Rounds:
        items = self._items()
        return Rounds(items.shape[0], lambda i: item_at(items, i))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and index < 0 and -index <= len(self.after):
            return self.after[index]
        if isinstance(index, int) and index < 0 and not self.after and -index <= len(self.rounds):
            return self.rounds[index].select(0, -1)
        if isinstance(index, int) and 0 <= index < super().__len__():
            return super().__getitem__(index)
        if isinstance(index, slice) and index == slice(None, None, -1):
            turned = Filled(list(super().__iter__()), self.rounds)
            turned.after = list(self.after)
            turned.reverse()
            return turned
        if isinstance(index, slice) and (index.step is None or index.step > 0):
            return Filled([], [self._items()[index]])
        if isinstance(index, (int, torch.SymInt)):
            return torch.select(self._items(), 0, index)
        raise Unkept(f"item {index} of a list that a dynamic loop filled")

    def reverse(self) -> None:
        before = list(super().__iter__())
        super().clear()
        super().extend(reversed(self.after))
        self.after = before[::-1]
        self.rounds = [tensor.flip(0) for tensor in reversed(self.rounds)]

    def _unknown(self, *_: Any) -> Any:
        raise Unkept("a list that a dynamic loop filled is used as a whole")

    __len__ = __iter__ = __reversed__ = __add__ = __radd__ = __mul__ = __contains__ = __eq__ = __setitem__ = __bool__ = _unknown  # type: ignore[assignment]
    insert = pop = remove = sort = index = count = copy = clear = _unknown  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Whole(Filled):
    """A list to which each round appended a piece of another length: the pieces are known as a whole."""

    def __init__(self, before: Sequence[Any], tensor: torch.Tensor, axis: int, lengths: torch.Tensor | None) -> None:
        super().__init__(before, [tensor])
        self.axis, self.lengths = axis, lengths

    def joined(self, axis: int, stacked: bool) -> torch.Tensor:
        (tensor,) = self.rounds
        if stacked or axis % tensor.ndim != self.axis:
            raise Unkept("pieces of several lengths are not put together as they were cut")
        parts = [*list.__iter__(self), tensor, *self.after]
        return tensor if len(parts) == 1 else torch.cat(parts, axis)

    def padded(self, batch_first: bool, value: float) -> torch.Tensor:
        """``pad_sequence`` of the pieces."""
        (tensor,) = self.rounds
        if self.lengths is None or self.axis or self.after or list.__len__(self):
            raise Unkept("pieces of several lengths are padded with others, or not along their first dimension")
        longest = self.lengths.max().item()
        torch._check(longest >= 0)
        places = torch.arange(longest, device=tensor.device)
        starts = self.lengths.cumsum(0) - self.lengths
        rows = torch.where(places < self.lengths[:, None], starts[:, None] + places, tensor.shape[0])
        padding = tensor.new_full((1, *tensor.shape[1:]), value)
        result = torch.cat([tensor, padding])[rows]
        return result if batch_first else result.transpose(0, 1)

    def as_rounds(self) -> Rounds:
        if self.lengths is None or self.after or list.__len__(self):
            return self._unknown()  # type: ignore[no-any-return]
        pieces = Pieces(self.rounds[0], self.lengths, self.axis)
        return Rounds(pieces.count, pieces.at)

    __getitem__ = reverse = Filled._unknown  # type: ignore[assignment]


class FilledNumbers(Filled):
    """A list of numbers, some of them those in a tensor."""

    def __init__(self, before: Sequence[Any], tensor: torch.Tensor) -> None:
        super().__init__(before, [tensor])

    @staticmethod
    def of(numbers: Numbers) -> FilledNumbers:
        """Those in a tensor, as Python has them again."""
        return FilledNumbers([], numbers.tensor if numbers.tensor.dtype is torch.bool else numbers.tensor.long())

    def joined(self, axis: int, stacked: bool) -> torch.Tensor:
        if not stacked or axis:
            raise Unkept("numbers are put together as if they were tensors")
        (tensor,) = self.rounds
        parts = [part for part in (as_tensor(list.__iter__(self), tensor), tensor, as_tensor(self.after, tensor)) if part is not None]
        return tensor if len(parts) == 1 else torch.cat(parts)  # of which one is may be known what it holds

    def as_tensor(self, dtype: torch.dtype | None = None, **options: Any) -> torch.Tensor:
        """What ``torch.tensor`` makes of them."""
        numbers = self.joined(0, True)
        return torch.tensor(numbers, dtype=dtype or (torch.get_default_dtype() if numbers.is_floating_point() else None), **options)

    def as_index(self) -> torch.Tensor:
        return self.joined(0, True)

    def integers(self) -> torch.Tensor | None:
        numbers = self.joined(0, True)
        return None if numbers.is_floating_point() or numbers.dtype is torch.bool else numbers

    def extended(self, numbers: torch.Tensor) -> FilledNumbers:
        return FilledNumbers([], torch.cat([self.joined(0, True), numbers]))

    def as_rounds(self) -> Rounds:
        numbers = Numbers(self.joined(0, True))
        return Rounds(numbers.count, numbers.at)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            numbers, step = self.joined(0, True), index.step
            if step is None or step > 0:
                return FilledNumbers([], numbers[index])
            if (index.start, index.stop) != (None, None):
                raise Unkept("a part of a list of numbers is turned around")
            return FilledNumbers([], numbers.flip(0)[::-step])
        found = super().__getitem__(index)
        return found.item() if isinstance(found, torch.Tensor) else found

    def __add__(self, others: Any) -> FilledNumbers:  # type: ignore[override]
        longer = FilledNumbers(list(list.__iter__(self)), *self.rounds)
        longer.after = [*self.after, *others]
        return longer

    def __radd__(self, others: Any) -> FilledNumbers:
        longer = FilledNumbers([*others, *list.__iter__(self)], *self.rounds)
        longer.after = list(self.after)
        return longer


def as_tensor(numbers: Iterable[Any], like: torch.Tensor) -> torch.Tensor | None:
    """Python's integers; None for no numbers."""
    listed = list(numbers)
    if not all(isinstance(each, (int, torch.SymInt)) and not isinstance(each, bool) for each in listed):
        raise Unkept("a list holds the numbers of a tensor beside what are no integers")
    if not listed:
        return None
    return torch.stack([torch.scalar_tensor(each, dtype=like.dtype, device=like.device) for each in listed])


def pad_sequence(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The function, which takes such lists, too."""

    def call(sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> torch.Tensor:
        if isinstance(sequences, Pieces):
            sequences = Whole([], sequences.tensor, sequences.dim, sequences.lengths)
        if isinstance(sequences, Whole) and padding_side == "right":
            return sequences.padded(batch_first, padding_value)
        return function(sequences, batch_first, padding_value, padding_side)

    return call


def _listed(value: Any) -> Any:
    """A list of numbers, for what stands for one."""
    if isinstance(value, Numbers):
        return FilledNumbers.of(value)
    return value.listed() if isinstance(value, Range) else value


_JOINS = {torch.stack: True, torch.cat: False, torch.concat: False, torch.concatenate: False}


class LoopsAsScans(TorchFunctionMode):
    """While it is active, PyTorch's functions take such lists."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        leaves = _pytree.tree_leaves((args, kwargs), is_leaf=lambda each: isinstance(each, Filled))
        if not any(isinstance(leaf, (Filled, Gathering, Lost, Numbers, Range)) for leaf in leaves):
            return func(*args, **kwargs)
        args = tuple(_listed(each) for each in args)
        if func in (torch.tensor, torch.as_tensor) and isinstance(args[0] if args else None, FilledNumbers):
            return args[0].as_tensor(**kwargs)
        if func is torch.Tensor.new_tensor and len(args) == 2 and isinstance(args[1], FilledNumbers):
            return args[1].as_tensor(**{"dtype": args[0].dtype, "device": args[0].device, **kwargs})
        tensors = args[0] if args else kwargs.pop("tensors", None)
        axis = args[1] if len(args) > 1 else kwargs.pop("dim", 0)
        if func not in _JOINS or not isinstance(tensors, Filled) or kwargs:
            raise Unkept(f"{getattr(func, '__name__', func)} of a list that a dynamic loop filled")
        return tensors.joined(axis, _JOINS[func])
