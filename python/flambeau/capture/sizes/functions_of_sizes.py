"""Python's and NumPy's functions of numbers take dynamic sizes while a module is captured: their own want numbers."""

from __future__ import annotations

import builtins
import contextlib
import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from ..questions.keys import equal_key
from ..questions.unasked import text_methods
from ..replaced_functions import Replacements, replaced_functions
from .numpys_functions import numpys_functions

__all__ = ["functions_of_sizes"]

_Call = Callable[..., Any]
_SYMBOLS = (torch.SymInt, torch.SymFloat)


def _computed(function: Callable[..., torch.Tensor]) -> _Call:
    """By tensors: torch has nodes for few functions of sizes. The result is a number that only a run knows."""
    return lambda *args: function(*(torch.scalar_tensor(each, dtype=torch.float64) for each in args)).item()


def _at_least(least: float, number: Any) -> Any:
    """The number, of which torch does not know its bound: ``2 ** number`` is an integer if it is not below 0."""
    most = int_oo if isinstance(number, torch.SymInt) else math.inf
    number.node.shape_env.var_to_range[number.node.expr] &= ValueRanges(least, most)
    return number


def _lower(number: Any) -> Any:
    return number.node.shape_env.bound_sympy(number.node.expr).lower


def _logarithm(name: str) -> _Call:
    own, computed = getattr(math, name), _computed(getattr(torch, name))

    def logarithm(x: Any) -> Any:
        least = max(_lower(x), 1) if isinstance(x, torch.SymInt) else _lower(x)  # Python has no logarithm of 0
        return _at_least(own(least), computed(x)) if least >= 1 else computed(x)

    return logarithm


def _bit_length(n: torch.SymInt) -> Any:
    least = _lower(n)
    return _at_least(int(least).bit_length() if least >= 0 else 0, _frexp(n)[1])


def _of_integers(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> _Call:
    return lambda *args: functools.reduce(function, (torch.scalar_tensor(each, dtype=torch.int64) for each in args)).item()


def _factorial(n: Any) -> Any:
    numbers = torch.arange(1, 21)  # more are no int64
    return torch.where(numbers <= n, numbers, 1).prod().item()


def _perm(n: Any, k: Any = None) -> Any:
    if k is None:
        return _factorial(n)
    return math.prod(n - i for i in range(k)) if isinstance(k, int) else (n - torch.arange(k)).prod().item()


def _comb(n: Any, k: Any) -> Any:
    if isinstance(k, int):
        return _perm(n, k) // math.factorial(k)
    i = torch.arange(1, k + 1, dtype=torch.float64)
    return ((n - k + i) / i).prod().round().to(torch.int64).item()


def _frexp(x: Any) -> tuple[Any, Any]:
    mantissa, exponent = torch.frexp(torch.scalar_tensor(x, dtype=torch.float64))
    return mantissa.item(), exponent.item()


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    if (rel_tol, abs_tol) == (1e-09, 0.0) and all(isinstance(each, (int, torch.SymInt)) for each in (a, b)):
        return a == b  # of sizes below 10^9
    return abs(a - b) <= torch.sym_max(rel_tol * torch.sym_max(abs(a), abs(b)), abs_tol)


def _of_finite(name: str) -> _Call:
    """Sizes, and what is computed of them, are finite; numbers that only a run knows may be anything."""
    own = getattr(math, name)
    return lambda x: own(0.0) if x.node.has_hint() else _computed(getattr(torch, name))(x)


def _copysign(x: Any, y: Any) -> Any:
    """Of what is known not to be negative, as sizes are, it is the number without its sign; an integer has no -0."""
    if isinstance(y, torch.SymInt) and _lower(y) >= 0:
        return abs(torch.sym_float(x))
    return _computed(torch.copysign)(x, y)


_natural_logarithm = _logarithm("log")


def _log(x: Any, base: Any = None) -> Any:
    logarithm = _natural_logarithm(x)
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
    "copysign": _copysign,
    "hypot": lambda *legs: torch.sym_sqrt(sum(leg * leg for leg in legs)),
    "exp": lambda x: math.e ** torch.sym_float(x),
    "log": _log,
    "cbrt": _computed(lambda x: torch.sign(x) * torch.abs(x) ** (1 / 3)),
    "degrees": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "remainder": _computed(lambda x, y: x - y * torch.round(x / y)),
    "pow": lambda x, y: torch.sym_float(x) ** torch.sym_float(y),
    "ldexp": lambda x, i: x * 2.0**i,
    "modf": _modf,
    "gcd": _of_integers(torch.gcd),
    "lcm": _of_integers(torch.lcm),
    "factorial": _factorial,
    "perm": _perm,
    "comb": _comb,
    "gamma": lambda x: torch.sym_float(_factorial(x - 1)) if isinstance(x, torch.SymInt) else _computed(lambda x: x.lgamma().exp())(x),
    "fsum": lambda numbers: torch.sym_float(sum(numbers)),
    "sumprod": lambda p, q: sum(a * b for a, b in zip(p, q, strict=True)),
    "dist": lambda p, q: torch.sym_sqrt(sum((a - b) * (a - b) for a, b in zip(p, q, strict=True))),
    "isclose": _isclose,
    "frexp": _frexp,
    "nextafter": _computed(torch.nextafter),
    "ulp": _computed(lambda x: torch.nextafter(x, torch.full_like(x, math.inf)) - x),
    **{name: _logarithm(name) for name in ("log2", "log10", "log1p")},
    **{name: _of_finite(name) for name in ("isnan", "isinf", "isfinite")},
    **{
        name: _computed(getattr(torch, name))
        for name in ("expm1", "exp2", "erf", "erfc", "lgamma", "atan2", "fmod")
        + tuple(prefix + of + suffix for of in ("sin", "cos", "tan") for prefix in ("", "a") for suffix in ("", "h"))
    },
}
_OF_SIZES = {name: function for name, function in _OF_SIZES.items() if hasattr(math, name)}  # cbrt and exp2 are of Python 3.11, sumprod of 3.12
def _accepting(name: str) -> _Call:
    own = getattr(math, name)

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> Any:
        numbers = itertools.chain.from_iterable(each if isinstance(each, (list, tuple)) else (each,) for each in args)
        return (_OF_SIZES[name] if any(isinstance(each, _SYMBOLS) for each in numbers) else own)(*args, **kwargs)

    return call


def _extreme(own: _Call, of_two: Callable[[Any, Any], Any], limit: str) -> _Call:
    """``max`` or ``min`` of numbers; torch's own, in a capture, is of two integers, or of a tensor and a number that is no size.

    Of a tensor and a number that is a size it is one where that is a number of the same kind whichever is taken, and NaN stays: ``clamp``
    keeps it, and Python the first of the two.

    Args:
        limit: What the number is to ``clamp`` then.
    """

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> Any:
        numbers = args if len(args) > 1 else args[0] if args and isinstance(args[0], (list, tuple)) else ()
        if kwargs or not any(isinstance(each, _SYMBOLS) for each in numbers):
            return own(*args, **kwargs)
        if all(isinstance(each, (int, float, *_SYMBOLS)) for each in numbers):
            return functools.reduce(of_two, numbers)
        if len(numbers) == 2:
            tensor, number = numbers if isinstance(numbers[0], torch.Tensor) else reversed(numbers)
            if isinstance(tensor, torch.Tensor) and tensor.ndim == 0:
                integers = tensor.dtype == torch.int64 and isinstance(number, torch.SymInt)
                floats = tensor.dtype in (torch.float32, torch.float64) and isinstance(number, torch.SymFloat) and tensor is numbers[0]
                if integers or floats:
                    return tensor.clamp(**{limit: number})
        return own(*args, **kwargs)

    return call


_RECKONING = ("sympy", "mpmath")
"""They reckon with numbers alone, and so often that a look at each would be felt."""

_UNHASHED = {"torch", "einops"}
"""They do without a cache where a size cannot be hashed."""

_OF_MODULES = ("torch._functorch._aot_autograd.frontend_utils", "torch.utils._pytree")
"""They look at what modules hold."""


def _hash(size: torch.SymInt) -> int:
    """Of a size as part of a key, in a model's cache of tables: no other size is equal to it, nor in another capture.

    In a table of numbers that the model only reads, it is equal to the number that it is in the example.
    """
    frame = sys._getframe(1)
    asks = frame.f_globals.get("__name__", "")
    if not asks.startswith(_OF_MODULES):
        if asks.partition(".")[0] in _UNHASHED:
            return _OWN_HASH(size)
        number = equal_key(size, frame)
        if number is not None:
            return hash(number)
    return hash((id(size.node.shape_env), size.node.expr))


_OWN_HASH = torch.SymInt.__hash__


def _differ(a: torch.SymBool, b: bool | torch.SymBool) -> bool | torch.SymBool:
    if isinstance(b, bool):
        return torch.sym_not(a) if b else a
    return (a | b) & torch.sym_not(a & b)


def _methods() -> Iterator[tuple[type, str, Any]]:
    for symbol in _SYMBOLS:
        yield symbol, "__divmod__", lambda a, b: (a // b, a % b)
        yield symbol, "__rdivmod__", lambda a, b: (b // a, b % a)
    yield torch.SymInt, "__hash__", _hash
    yield from text_methods()
    yield torch.SymInt, "__round__", _round
    yield torch.SymInt, "__xor__", lambda a, b: (a | b) - (a & b)
    yield torch.SymInt, "__rxor__", lambda a, b: (b | a) - (b & a)
    for name in ("__xor__", "__rxor__"):
        yield torch.SymBool, name, _differ
    yield torch.SymInt, "__invert__", lambda a: -a - 1
    yield torch.SymInt, "bit_length", _bit_length
    yield torch.SymInt, "numerator", property(lambda a: a)
    yield torch.SymInt, "denominator", property(lambda a: 1)
    for symbol in _SYMBOLS:
        yield symbol, "real", property(lambda a: a)
        yield symbol, "imag", property(lambda a: 0)
    yield torch.Tensor, "nbytes", property(lambda self: self.numel() * self.element_size())
    yield torch.SymFloat, "is_integer", lambda self: self == torch.sym_float(math.trunc(self))


def _numel(sizes: torch.Size) -> Any:
    """The number of elements; torch's own makes numbers of sizes."""
    return math.prod(sizes) if any(isinstance(each, torch.SymInt) for each in sizes) else _OWN_NUMEL(sizes)


_OWN_NUMEL = torch.Size.numel


def _broadcast(one: Any, other: Any) -> torch.Size:
    """The shape of both together; torch's own, which distributions use, takes no sizes."""
    return torch.broadcast_shapes(one, other) if any(isinstance(each, torch.SymInt) for each in (*one, *other)) else _OWN_BROADCAST(one, other)


_OWN_BROADCAST = torch._C._infer_size


@contextlib.contextmanager
def functions_of_sizes() -> Iterator[None]:
    """While it is open, functions of :mod:`math` and NumPy, ``divmod``, ``max`` and ``min`` keep sizes dynamic."""
    of_math = replaced_functions({("math", name): _accepting(name) for name in _OF_SIZES}, but_in=_RECKONING, renamed=True)
    with of_math, Replacements() as replacements, numpys_functions(_OF_SIZES):
        replacements.set(builtins, "max", _extreme(builtins.max, torch.sym_max, "min"))
        replacements.set(builtins, "min", _extreme(builtins.min, torch.sym_min, "max"))
        for symbol, name, method in _methods():
            replacements.set(symbol, name, method)
        replacements.set_of_builtin(torch.Size, "numel", _numel)
        replacements.set(torch._C, "_infer_size", _broadcast)
        yield
