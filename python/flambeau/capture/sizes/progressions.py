"""Numbers that a model reads from evenly spaced ones: ``int(torch.arange(n)[-1])`` is ``n - 1``, a size as any other.

torch takes what a tensor holds for data, of which a capture knows nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

__all__ = ["Progressions", "from_front", "is_integer"]

_DTYPES = (torch.int64, torch.int32)


@dataclasses.dataclass(frozen=True)
class _Numbers:
    """What a tensor holds: numbers that rise or fall by one step along an axis, and are alike along all others."""

    first: Any
    step: Any = 0
    size: Any = 1
    axis: int | None = None
    """None of a single number, all over the tensor."""

    def at(self, index: Any) -> _Numbers:
        return _Numbers(self.first + self.step * index)

    def last(self) -> _Numbers:
        return self.at(self.size - 1)

    def moved(self, axis: int | None) -> _Numbers:
        return dataclasses.replace(self, axis=axis)


_Rule = Callable[..., "_Numbers | None"]
"""Takes what is known of the first argument, and the call's result and arguments; None where nothing is known of the result."""


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool)


def _made(result: torch.Tensor, *limits: Any, start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> _Numbers | None:
    """Of ``arange``."""
    if len(limits) == 1:
        (end,) = limits
    elif limits:
        start, end, step = (*limits, step)[:3]
    return _Numbers(start, step, result.shape[0], 0) if all(map(is_integer, (start, end, step))) else None


def _placed(numbers: _Numbers, result: torch.Tensor) -> _Numbers | None:
    """In another shape, of which all other sizes are 1."""
    if numbers.axis is None:
        return numbers
    long = [axis for axis, size in enumerate(result.shape) if not isinstance(size, int) or size != 1]
    return numbers.moved(long[0]) if len(long) == 1 else None


def _reshaped(numbers: _Numbers, result: torch.Tensor, tensor: torch.Tensor, *args: Any, **options: Any) -> _Numbers | None:
    alone = all(isinstance(size, int) and size == 1 for axis, size in enumerate(tensor.shape) if axis != numbers.axis)
    return _placed(numbers, result) if alone else None


def _kept(numbers: _Numbers, result: torch.Tensor, tensor: torch.Tensor, *args: Any, **options: Any) -> _Numbers | None:
    return numbers if result.ndim == tensor.ndim else None


def _expanded(numbers: _Numbers, result: torch.Tensor, tensor: torch.Tensor, *args: Any, **options: Any) -> _Numbers | None:
    return numbers if numbers.axis is None else numbers.moved(numbers.axis + result.ndim - tensor.ndim)


def _unsqueezed(numbers: _Numbers, result: torch.Tensor, tensor: torch.Tensor, dim: int) -> _Numbers | None:
    return numbers if numbers.axis is None else numbers.moved(numbers.axis + (dim % result.ndim <= numbers.axis))


def _selected(numbers: _Numbers, result: torch.Tensor, tensor: torch.Tensor, dim: int, index: Any) -> _Numbers | None:
    return _indexed(numbers, result, tensor, (*(slice(None),) * (dim % tensor.ndim), index))


def _indexed(numbers: _Numbers, result: torch.Tensor, tensor: torch.Tensor, index: Any) -> _Numbers | None:
    items = list(index) if isinstance(index, tuple) else [index]
    if not all(item is None or item is Ellipsis or isinstance(item, slice) or is_integer(item) for item in items):
        return None
    taken = sum(item is not None and item is not Ellipsis for item in items)
    axis = to = 0  # of the tensor, and of what is made of it
    for item in items:
        if item is Ellipsis:
            if numbers.axis is not None and axis <= numbers.axis < axis + tensor.ndim - taken:
                return numbers.moved(to + numbers.axis - axis)
            axis, to = axis + tensor.ndim - taken, to + tensor.ndim - taken
        elif item is None:
            to += 1
        elif axis == numbers.axis:
            cut = _cut(numbers, result.shape[to], item) if isinstance(item, slice) else numbers.at(from_front(item, numbers.size))
            return cut if cut is None or cut.axis is None else cut.moved(to)
        else:
            axis, to = axis + 1, to + isinstance(item, slice)
    return numbers if numbers.axis is None else numbers.moved(to + numbers.axis - axis)


def from_front(index: Any, size: Any) -> Any:
    """The place of an item, which may be counted from the end. Of sizes it is known that none is negative; of what is computed of them, whether that is known."""
    lower = index if isinstance(index, int) else index.node.shape_env.bound_sympy(index.node.expr).lower
    if lower >= 0:
        return index
    if isinstance(index, int):
        return index + size
    upper = index.node.shape_env.bound_sympy(index.node.expr).upper
    return index + size if upper < 0 else torch.sym_ite(index < 0, index + size, index)


def _cut(numbers: _Numbers, size: Any, cut: slice) -> _Numbers | None:
    """What lies behind the end has no first number; nobody reads one there."""
    step = 1 if cut.step is None else cut.step
    start = 0 if cut.start is None else cut.start
    if not all(map(is_integer, (start, step))):
        return None
    if isinstance(start, int) and start < 0:
        start = torch.sym_max(start + numbers.size, 0)
    else:
        start = from_front(start, numbers.size)
    return _Numbers(numbers.first + numbers.step * start, numbers.step * step, size, numbers.axis)


def _extreme(greatest: bool) -> _Rule:
    def rule(numbers: _Numbers, result: Any, tensor: torch.Tensor, *args: Any, **options: Any) -> _Numbers | None:
        if args or options or not isinstance(numbers.step, int):
            return None
        return numbers.last() if (numbers.step > 0) == greatest else numbers.at(0)

    return rule


def _flipped(numbers: _Numbers, result: torch.Tensor, tensor: torch.Tensor, *dims: Any) -> _Numbers | None:
    listed = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    if numbers.axis not in [dim % tensor.ndim for dim in listed]:
        return numbers
    return dataclasses.replace(numbers, first=numbers.last().first, step=-numbers.step)


def _functions(*names: str) -> list[Callable[..., Any]]:
    return [getattr(owner, name) for owner in (torch, torch.Tensor) for name in names if hasattr(owner, name)]


_RULES: dict[Callable[..., Any], _Rule] = {
    **dict.fromkeys(_functions("to", "long", "int", "clone", "contiguous", "detach", "cpu", "type_as"), _kept),
    **dict.fromkeys(_functions("view", "reshape", "flatten", "squeeze", "ravel"), _reshaped),
    **dict.fromkeys(_functions("expand", "expand_as", "broadcast_to"), _expanded),
    **dict.fromkeys(_functions("unsqueeze"), _unsqueezed),
    **dict.fromkeys(_functions("select"), _selected),
    **dict.fromkeys(_functions("__getitem__"), _indexed),
    **dict.fromkeys(_functions("max", "amax"), _extreme(True)),
    **dict.fromkeys(_functions("min", "amin"), _extreme(False)),
    **dict.fromkeys(_functions("flip"), _flipped),
}
_SUMS = _functions("add", "__add__", "__radd__")
_DIFFERENCES = _functions("sub", "__sub__")
_TURNED_DIFFERENCES = _functions("rsub", "__rsub__")
_PRODUCTS = _functions("mul", "__mul__", "__rmul__")
_READS = (torch.Tensor.item, torch.Tensor.tolist)


class Progressions(TorchFunctionMode):
    """While it is active, numbers that are read from what ``arange`` made are known, as expressions of the sizes that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self._known = WeakIdKeyDictionary()  # tensors -> (what is known, the version of which it is)

    def _numbers(self, value: Any) -> _Numbers | None:
        if is_integer(value):
            return _Numbers(value)
        if not isinstance(value, torch.Tensor):
            return None
        numbers, version = self._known.get(value, (None, 0))
        return numbers if numbers is not None and value._version == version else None

    def _arithmetic(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Numbers | None:
        if len(args) != 2 or kwargs or func not in _ARITHMETIC:
            return None
        one, other = map(self._numbers, args)
        if one is None or other is None or None not in (one.axis, other.axis):
            return None
        longer = max((each for each in args if isinstance(each, torch.Tensor)), key=lambda each: each.ndim)
        if other.axis is not None and longer is not args[1] or one.axis is not None and longer is not args[0]:
            return None
        axis, size = (other.axis, other.size) if one.axis is None else (one.axis, one.size)
        if func in _PRODUCTS:
            factor, numbers = (one, other) if one.axis is None else (other, one)
            return _Numbers(numbers.first * factor.first, numbers.step * factor.first, size, axis)
        if func in _TURNED_DIFFERENCES:
            one, other = other, one
        sign = 1 if func in _SUMS else -1
        return _Numbers(one.first + sign * other.first, one.step + sign * other.step, size, axis)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.compiler.is_dynamo_compiling():  # branches and rounds of torch's own, which it traces with the modes that are active
            return func(*args, **kwargs)
        numbers = self._numbers(args[0]) if args and isinstance(args[0], torch.Tensor) else None
        if func in _READS and numbers is not None and args[0].ndim == 0:
            return numbers.first
        result = func(*args, **kwargs)
        if not isinstance(result, torch.Tensor) or result.dtype not in _DTYPES or result.is_inference():
            return result
        if func is torch.arange:
            found = _made(result, *args, **kwargs)
        elif numbers is not None and func in _RULES:
            try:
                found = _RULES[func](numbers, result, *args, **kwargs)
            except TypeError:  # of arguments that are not followed
                found = None
        else:
            found = self._arithmetic(func, args, kwargs)
        if found is not None:
            self._known[result] = found, result._version
        return result


_ARITHMETIC = {*_SUMS, *_DIFFERENCES, *_TURNED_DIFFERENCES, *_PRODUCTS}
