"""Python's and NumPy's functions of numbers take dynamic sizes while a module is captured: their own want numbers."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch

__all__ = ["functions_of_sizes"]

_Call = Callable[..., Any]
_SYMBOLS = (torch.SymInt, torch.SymFloat)


def _computed(function: Callable[..., torch.Tensor]) -> _Call:
    """By tensors: torch has nodes for few functions of sizes. The result is a number that only a run knows."""
    return lambda *args: function(*(torch.scalar_tensor(each, dtype=torch.float64) for each in args)).item()


def _log(x: Any, base: Any = None) -> Any:
    logarithm = _computed(torch.log)(x)
    return logarithm if base is None else logarithm / math.log(base)


def _modf(x: Any) -> tuple[Any, Any]:
    whole = torch.sym_float(math.trunc(x))
    return x - whole, whole


def _round(n: torch.SymInt, ndigits: int | None = None) -> Any:
    """Of an integer, to tens or hundreds too, where torch gives the integer itself."""
    if ndigits is None or ndigits >= 0:
        return n
    unit = 10**-ndigits
    return torch.sym_int(_computed(lambda x: torch.round(x / unit) * unit)(n))


_OF_SIZES: dict[str, _Call] = {
    "sqrt": torch.sym_sqrt,
    "isqrt": lambda n: math.floor(torch.sym_sqrt(n)),
    "fabs": lambda x: abs(torch.sym_float(x)),
    "hypot": lambda *legs: torch.sym_sqrt(sum(leg * leg for leg in legs)),
    "exp": lambda x: math.e ** torch.sym_float(x),
    "log": _log,
    "cbrt": _computed(lambda x: torch.sign(x) * torch.abs(x) ** (1 / 3)),
    "degrees": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "remainder": _computed(lambda x, y: x - y * torch.round(x / y)),
    "ldexp": lambda x, i: x * 2.0**i,
    "modf": _modf,
    **{
        name: _computed(getattr(torch, name))
        for name in ("log2", "log10", "log1p", "expm1", "exp2", "erf", "erfc", "lgamma", "atan2", "fmod", "copysign")
        + tuple(prefix + of + suffix for of in ("sin", "cos", "tan") for prefix in ("", "a") for suffix in ("", "h"))
    },
}
_OF_SIZES = {name: function for name, function in _OF_SIZES.items() if hasattr(math, name)}  # cbrt and exp2 are of Python 3.11
_OF_NUMPY = ("sqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan", "tanh")
"""NumPy asks an object that it does not know for methods of these names."""


def _accepting(name: str) -> _Call:
    own = getattr(math, name)

    @functools.wraps(own)
    def call(*args: Any) -> Any:
        return (_OF_SIZES[name] if any(isinstance(each, _SYMBOLS) for each in args) else own)(*args)

    return call


def _methods() -> Iterator[tuple[type, str, _Call]]:
    for symbol in _SYMBOLS:
        yield symbol, "__divmod__", lambda a, b: (a // b, a % b)
        yield symbol, "__rdivmod__", lambda a, b: (b // a, b % a)
        for name in _OF_NUMPY:
            yield symbol, name, lambda self, function=_OF_SIZES[name]: function(self)
    yield torch.SymInt, "__round__", _round
    yield torch.SymFloat, "is_integer", lambda self: self == torch.sym_float(math.trunc(self))


@contextlib.contextmanager
def functions_of_sizes() -> Iterator[None]:
    """While it is open, functions of :mod:`math` and NumPy, and ``divmod``, keep sizes dynamic."""
    own = {name: getattr(math, name) for name in _OF_SIZES}
    with contextlib.ExitStack() as undo:
        for name, function in own.items():
            undo.callback(setattr, math, name, function)
            setattr(math, name, _accepting(name))
        for symbol, name, method in _methods():
            undo.callback(*((setattr, symbol, name, getattr(symbol, name)) if hasattr(symbol, name) else (delattr, symbol, name)))
            setattr(symbol, name, method)
        yield
