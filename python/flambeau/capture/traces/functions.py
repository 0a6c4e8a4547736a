"""Python's functions of numbers, which would make a constant of a size: while a model is traced, they compute with it.

``n *= 2`` gives a new number, and changes no other that has the same name elsewhere.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils import _pytree

from ..replaced_functions import Replacements, as_called, replaced_functions
from ..sizes.conversions import NAMING_ATTENTION
from .floats import cast_number, exact, float_of_sizes, replace_operators
from .sizes import OF_FLOATS, is_size, number_of_sizes

__all__ = ["numbers_stay_numbers"]

_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    f"__i{name}__": getattr(operator, name) for name in ("add", "floordiv", "mod", "mul", "pow", "sub", "truediv")
}


def _tensor(number: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Of a size, or of Python's number."""
    if isinstance(number, torch.Tensor):
        return exact(number) if dtype is None else cast_number(exact(number), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # it makes a constant of a number, which is one
        return torch.as_tensor(number, dtype=dtype)


def _float(number: Any) -> Any:
    """A size in float64. Python's numbers stay what they are: a tensor that is made of one promotes as a tensor."""
    return _tensor(number, torch.float64) if isinstance(number, torch.Tensor) else number


def _as_integer(round: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda size: cast_number(round(exact(size)), torch.int64) if size.is_floating_point() else size


def _of_float(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda size: function(_float(size))


def _of_floats(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[[Any, Any], torch.Tensor]:
    def call(one: Any, other: Any) -> torch.Tensor:
        zero = _float(one if isinstance(one, torch.Tensor) else other) * 0.0
        return function(zero + _float(one), zero + _float(other))

    return call


def _of_integers(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda *sizes: functools.reduce(function, map(_tensor, sizes))


def _log(size: Any, base: Any = None) -> Any:
    logarithm = torch.log(_float(size)) if isinstance(size, torch.Tensor) else math.log(size)
    return logarithm if base is None else logarithm / _log(base)


_OF_SIZES: dict[str, Callable[..., Any]] = {
    **{name: _as_integer(getattr(torch, name)) for name in ("ceil", "floor", "trunc")},
    **{name: _of_float(getattr(torch, name)) for name in OF_FLOATS if hasattr(math, name)},
    "atan2": _of_floats(torch.atan2),
    "copysign": _of_floats(torch.copysign),
    "degrees": _of_float(torch.rad2deg),
    "fabs": _of_float(torch.abs),
    "fmod": _of_floats(torch.fmod),
    "gcd": _of_integers(torch.gcd),
    "hypot": lambda *legs: torch.sqrt(sum(_float(leg) ** 2 for leg in legs)),
    "isqrt": lambda size: cast_number(torch.sqrt(_float(size)).floor(), torch.int64),
    "lcm": _of_integers(torch.lcm),
    "log": _log,
    "pow": lambda base, exponent: _float(base) ** _float(exponent),
    "radians": _of_float(torch.deg2rad),
}


def _numel(sizes: torch.Size) -> Any:
    return math.prod(sizes) if any(map(is_size, sizes)) else _OWN_NUMEL(sizes)


_OWN_NUMEL = torch.Size.numel


def _round(size: torch.Tensor, ndigits: int | None = None) -> torch.Tensor:
    if not is_size(size):
        raise TypeError(f"type {type(size).__name__} doesn't define __round__ method")
    integer = not size.is_floating_point()
    if integer and (ndigits is None or ndigits >= 0):
        return size
    rounded = torch.round(_float(size) if integer else exact(size), decimals=ndigits or 0)
    return cast_number(rounded, torch.int64) if integer or ndigits is None else float_of_sizes(rounded)


def _bit_length(size: torch.Tensor) -> torch.Tensor:
    if not is_size(size):
        raise AttributeError(f"{type(size).__name__!r} object has no attribute 'bit_length'")
    return cast_number(torch.frexp(_float(size))[1], torch.int64)


def _divmod(size: torch.Tensor, other: Any) -> Any:
    return (size // other, size % other) if is_size(size) else NotImplemented


def _turned_divmod(size: torch.Tensor, other: Any) -> Any:
    return (other // size, other % size) if is_size(size) else NotImplemented


def _accepting(own: Callable[..., Any], of_sizes: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def call(*args: Any) -> Any:
        if all(isinstance(each, (int, float)) for each in args):
            return own(*args)
        return float_of_sizes(of_sizes(*args)) if any(map(is_size, args)) else as_called(own, *args)

    return call


def _length(own: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``len``, which of a tensor is its first size: Python itself would make an int of it."""

    @functools.wraps(own)
    def call(items: Any, /) -> Any:
        sized = isinstance(items, torch.Tensor) and items.ndim and torch._C._get_tracing_state() is not None
        return items.shape[0] if sized else own(items)

    return call


def _extreme(own: Callable[..., Any], of_two: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], limit: str) -> Callable[..., Any]:
    """``max`` or ``min``. `limit`: what a number is to ``clamp`` then."""

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> Any:
        numbers = args if len(args) > 1 else args[0] if args and isinstance(args[0], (list, tuple)) else ()
        if kwargs or not any(map(is_size, numbers)) or not all(isinstance(each, (int, float)) or is_size(each) for each in numbers):
            return as_called(own, *args, **kwargs)
        if not any(isinstance(each, float) or each is not exact(each) for each in numbers):
            return functools.reduce(of_two, map(_tensor, numbers))
        of_sizes = functools.reduce(of_two, [_float(each) for each in numbers if isinstance(each, torch.Tensor)])
        known = [each for each in numbers if not isinstance(each, torch.Tensor)]
        return float_of_sizes(of_sizes.clamp(**{limit: own(known)}) if known else of_sizes)

    return call


def _attention(own: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Attention whose ``is_causal`` sizes decide (``q.shape[2] > 1``): it is as for the example, of which torch warns."""

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> torch.Tensor:
        args, kwargs = _pytree.tree_map(lambda each: as_called(bool, each) if _is_truth(each) else each, (args, kwargs))
        return own(*args, **kwargs)

    return call


def _is_truth(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and number_of_sizes(value) is bool


@contextlib.contextmanager
def numbers_stay_numbers() -> Iterator[None]:
    """While it is open, functions of numbers compute with sizes, and sizes and what is computed of them are not written in place."""

    def apart(name: str, compute: Callable[[Any, Any], Any]) -> Callable[[torch.Tensor, Any], Any]:
        write = getattr(torch.Tensor, name)

        def call(self: torch.Tensor, other: Any) -> Any:
            return compute(self, other) if is_size(self) else write(self, other)

        return call

    of_math = {("math", name): _accepting(getattr(math, name), of_sizes) for name, of_sizes in _OF_SIZES.items()}
    attention = {(F.__name__, "scaled_dot_product_attention"): _attention(F.scaled_dot_product_attention)}
    with replaced_functions({**of_math, **attention}, but_in=NAMING_ATTENTION, renamed=True), Replacements() as replacements:
        for name, compute in _IN_PLACE.items():
            replacements.set(torch.Tensor, name, apart(name, compute))
        replacements.set_of_builtin(torch.Size, "numel", _numel)
        replacements.set(torch.Tensor, "__round__", _round)
        replacements.set(torch.Tensor, "bit_length", _bit_length)
        replacements.set(torch.Tensor, "__divmod__", _divmod)
        replacements.set(torch.Tensor, "__rdivmod__", _turned_divmod)
        for name, of_two, limit in (("max", torch.maximum, "min"), ("min", torch.minimum, "max")):
            replacements.set(builtins, name, _extreme(getattr(builtins, name), of_two, limit))
        replacements.set(builtins, "len", _length(builtins.len))
        replace_operators(replacements)
        yield
