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


_OF_SIZES: dict[str, _Call] = {
    "sqrt": torch.sym_sqrt,
    "isqrt": lambda n: math.floor(torch.sym_sqrt(n)),
    "fabs": lambda x: abs(torch.sym_float(x)),
    "hypot": lambda *legs: torch.sym_sqrt(sum(leg * leg for leg in legs)),
    "exp": lambda x: math.e ** torch.sym_float(x),
    "log": _log,
    "atan2": _computed(torch.atan2),
    **{name: _computed(getattr(torch, name)) for name in ("log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "atan")},
}
_OF_NUMPY = ("sqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan", "tanh")
"""NumPy asks an object that it does not know for methods of these names."""


def _accepting(name: str) -> _Call:
    own = getattr(math, name)

    @functools.wraps(own)
    def call(*args: Any) -> Any:
        return (_OF_SIZES[name] if any(isinstance(each, _SYMBOLS) for each in args) else own)(*args)

    return call


def _methods() -> Iterator[tuple[str, _Call]]:
    yield "__divmod__", lambda a, b: (a // b, a % b)
    yield "__rdivmod__", lambda a, b: (b // a, b % a)
    for name in _OF_NUMPY:
        yield name, lambda self, function=_OF_SIZES[name]: function(self)


@contextlib.contextmanager
def functions_of_sizes() -> Iterator[None]:
    """While it is open, functions of :mod:`math` and NumPy, and ``divmod``, keep sizes dynamic."""
    own = {name: getattr(math, name) for name in _OF_SIZES}
    added = [(symbol, name, method) for symbol in _SYMBOLS for name, method in _methods() if not hasattr(symbol, name)]
    for name in own:
        setattr(math, name, _accepting(name))
    for symbol, name, method in added:
        setattr(symbol, name, method)
    try:
        yield
    finally:
        for name, function in own.items():
            setattr(math, name, function)
        for symbol, name, _ in added:
            delattr(symbol, name)
