"""Sizes that are tensors to torch's tracer, and numbers to the model: ``n *= 2`` gives a new number, and changes no other that has the same name elsewhere.

Python's functions of numbers, which would make a constant of a tensor, compute with it.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Set
from typing import Any

import torch

from .replaced_functions import Replacements, replaced_functions

__all__ = ["as_called", "is_size", "number_of_sizes", "numbers_stay_numbers"]

_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    f"__i{name}__": getattr(operator, name) for name in ("add", "floordiv", "mod", "mul", "pow", "sub", "truediv")
}
_SIZE = "prim::NumToTensor"
_OF_FLOATS = ("acos", "asin", "atan", "cos", "cosh", "exp", "expm1", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh")
"""Functions of :mod:`math` that torch has by the same names."""
_ARITHMETIC = {
    f"aten::{name}"
    for name in ("add", "ceil", "div", "floor", "floor_divide", "frexp", "log", "maximum", "minimum", "mul", "neg", "pow", "reciprocal", "remainder")
    + ("gcd", "lcm", "round", "rsub", "sub", "to", "trunc", *_OF_FLOATS)
}
_COMPARISONS = {f"aten::{name}" for name in ("eq", "ge", "gt", "le", "lt", "ne")}


def number_of_sizes(tensor: torch.Tensor) -> type | None:
    """The type of Python's that a size has, or what is computed of sizes, which is a tensor to torch's tracer; None for other tensors."""
    if not _is_made_of_sizes(tensor, _ARITHMETIC | _COMPARISONS):
        return None
    return bool if tensor.dtype is torch.bool else float if tensor.is_floating_point() else int


def _is_made_of_sizes(tensor: torch.Tensor, computed: Set[str] = _ARITHMETIC) -> bool:
    if tensor.ndim or torch._C._get_tracing_state() is None:
        return False
    pending, seen, found = [torch._C._get_value_trace(tensor)], set[str](), False
    while pending:
        value = pending.pop()
        if value.debugName() in seen:
            continue
        seen.add(value.debugName())
        node = value.node()
        if node.kind() == _SIZE:
            found = True
        elif node.kind() in computed:
            pending += node.inputs()
        elif node.kind() != "prim::Constant":
            return False
    return found


def _tensor(number: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # it makes a constant of a number, which is one
        return torch.as_tensor(number, dtype=dtype)


def _as_integer(round: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda size: round(size).to(torch.int64) if size.is_floating_point() else size


def _of_floats(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda size: function(size.to(torch.float64))


def _of_integers(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda *sizes: functools.reduce(function, map(_tensor, sizes))


def _log(size: Any, base: Any = None) -> Any:
    logarithm = torch.log(_tensor(size, torch.float64))
    return logarithm if base is None else logarithm / _log(base)


_OF_SIZES: dict[str, Callable[..., Any]] = {
    **{name: _as_integer(getattr(torch, name)) for name in ("ceil", "floor", "trunc")},
    **{name: _of_floats(getattr(torch, name)) for name in _OF_FLOATS},
    "log": _log,
    "fabs": lambda size: torch.abs(size.to(torch.float64)),
    "gcd": _of_integers(torch.gcd),
    "lcm": _of_integers(torch.lcm),
    "isqrt": lambda size: torch.sqrt(size.to(torch.float64)).floor().to(torch.int64),
    "hypot": lambda *legs: torch.sqrt(sum(_tensor(leg, torch.float64) ** 2 for leg in legs)),
    "pow": lambda base, exponent: _tensor(base, torch.float64) ** exponent,
}


def _numel(sizes: torch.Size) -> Any:
    return math.prod(sizes) if any(map(is_size, sizes)) else _OWN_NUMEL(sizes)


_OWN_NUMEL = torch.Size.numel


def _round(size: torch.Tensor, ndigits: int | None = None) -> torch.Tensor:
    if not _is_made_of_sizes(size):
        raise TypeError(f"type {type(size).__name__} doesn't define __round__ method")
    if not size.is_floating_point():
        return size
    return torch.round(size).to(torch.int64) if ndigits is None else torch.round(size, decimals=ndigits)


def _bit_length(size: torch.Tensor) -> torch.Tensor:
    if not _is_made_of_sizes(size):
        raise AttributeError(f"{type(size).__name__!r} object has no attribute 'bit_length'")
    return torch.frexp(size.to(torch.float64))[1].to(torch.int64)


def is_size(value: Any) -> bool:
    """Whether it is a size, or computed of sizes, as torch's tracer has them."""
    return isinstance(value, torch.Tensor) and _is_made_of_sizes(value)


def as_called(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the function gives. Where torch's tracer warns of it, that is said of the line that called, two frames away."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = own(*args, **kwargs)
    for each in said:
        warnings.warn(each.message, each.category, stacklevel=3)
    return result


def _accepting(own: Callable[..., Any], of_sizes: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def call(*args: Any) -> Any:
        if all(isinstance(each, (int, float)) for each in args):
            return own(*args)
        return of_sizes(*args) if any(map(is_size, args)) else as_called(own, *args)

    return call


def _extreme(own: Callable[..., Any], of_two: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """``max`` or ``min``."""

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> Any:
        numbers = args if len(args) > 1 else args[0] if args and isinstance(args[0], (list, tuple)) else ()
        if kwargs or not any(map(is_size, numbers)) or not all(isinstance(each, (int, float)) or is_size(each) for each in numbers):
            return as_called(own, *args, **kwargs)
        return functools.reduce(of_two, map(_tensor, numbers))

    return call


@contextlib.contextmanager
def numbers_stay_numbers() -> Iterator[None]:
    """While it is open, functions of numbers compute with sizes, and sizes and what is computed of them are not written in place."""

    def apart(name: str, compute: Callable[[Any, Any], Any]) -> Callable[[torch.Tensor, Any], Any]:
        write = getattr(torch.Tensor, name)

        def call(self: torch.Tensor, other: Any) -> Any:
            return compute(self, other) if _is_made_of_sizes(self) else write(self, other)

        return call

    of_math = {("math", name): _accepting(getattr(math, name), of_sizes) for name, of_sizes in _OF_SIZES.items()}
    with replaced_functions(of_math, renamed=True), Replacements() as replacements:
        for name, compute in _IN_PLACE.items():
            replacements.set(torch.Tensor, name, apart(name, compute))
        replacements.set_of_builtin(torch.Size, "numel", _numel)
        replacements.set(torch.Tensor, "__round__", _round)
        replacements.set(torch.Tensor, "bit_length", _bit_length)
        for name, of_two in (("max", torch.maximum), ("min", torch.minimum)):
            replacements.set(builtins, name, _extreme(getattr(builtins, name), of_two))
        yield
