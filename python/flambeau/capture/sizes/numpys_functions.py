"""NumPy's functions of numbers take dynamic sizes while a module is captured."""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy
import torch

from ..replaced_functions import Replacements, replaced_functions

__all__ = ["fails_in_numpy", "numbers_in_arrays", "numpys_functions"]

_Call = Callable[..., Any]
_SYMBOLS = (torch.SymInt, torch.SymFloat)


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, torch.SymInt))


def _whole(function: _Call) -> _Call:
    """What is of a fraction is a float that has none; of an integer, the integer."""
    return lambda x: x if _is_integer(x) else torch.sym_float(function(x))


def _sign(x: Any) -> Any:
    if _is_integer(x):
        return torch.sym_min(torch.sym_max(x, -1), 1)
    return torch.scalar_tensor(x, dtype=torch.float64).sign().item()


def _fmod(of_floats: _Call) -> _Call:
    """Has the sign of the dividend."""

    def function(x: Any, y: Any) -> Any:
        return abs(x) % abs(y) * _sign(x) if _is_integer(x) and _is_integer(y) else of_floats(x, y)

    return function


_OPERATORS: dict[str, _Call] = {
    "absolute": abs, "add": operator.add, "conjugate": lambda x: x, "divide": operator.truediv, "divmod": lambda x, y: (x // y, x % y),
    "equal": operator.eq, "floor_divide": operator.floordiv, "greater": operator.gt, "greater_equal": operator.ge, "less": operator.lt,
    "less_equal": operator.le, "multiply": operator.mul, "negative": operator.neg, "not_equal": operator.ne, "positive": lambda x: x,
    "power": operator.pow, "remainder": operator.mod, "subtract": operator.sub,
}  # fmt: skip
"""Their ufuncs, which NumPy's arrays of objects have as well."""

_MATHS = {
    "arctan2": "atan2", "deg2rad": "radians", "rad2deg": "degrees",
    **{f"arc{of}{suffix}": f"a{of}{suffix}" for of in ("sin", "cos", "tan") for suffix in ("", "h")},
}  # fmt: skip
"""Functions that :mod:`math` has under another name."""


def _functions(of_sizes: Mapping[str, _Call]) -> dict[str, _Call]:
    """By the names of NumPy's ufuncs."""
    alike = ("sqrt", "fabs", "hypot", "exp", "log", "cbrt", "degrees", "radians", "ldexp", "gcd", "lcm", "copysign", "modf", "frexp", "nextafter")
    alike += ("isnan", "isinf", "isfinite", "log2", "log10", "log1p", "expm1", "exp2", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    return {
        **_OPERATORS,
        **{name: of_sizes[name] for name in alike if name in of_sizes},
        **{name: of_sizes[other] for name, other in _MATHS.items()},
        "ceil": _whole(math.ceil),
        "floor": _whole(math.floor),
        "trunc": _whole(math.trunc),
        "rint": _whole(round),
        "fmod": _fmod(of_sizes["fmod"]),
        "sign": _sign,
        "square": lambda x: x * x,
        "reciprocal": lambda x: 0 if _is_integer(x) else 1 / x,
        "float_power": lambda x, y: torch.sym_float(x) ** y,
        **dict.fromkeys(("maximum", "fmax"), torch.sym_max),
        **dict.fromkeys(("minimum", "fmin"), torch.sym_min),
    }


def _as_array(value: Any) -> Any:
    """As NumPy takes an object that it does not know, or one that is a number in arrays."""
    if not isinstance(value, _SYMBOLS):
        return value
    if hasattr(value, "__array__"):
        return numpy.asarray(value)
    array = numpy.empty((), object)
    array[()] = value
    return array


def _ufunc(functions: Mapping[str, _Call]) -> _Call:
    """What NumPy calls in the place of its ufunc."""

    def call(symbol: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        numbers = all(isinstance(each, (int, float, *_SYMBOLS, numpy.number)) for each in inputs)
        if method == "__call__" and numbers and not options and ufunc.__name__ in functions:
            return functions[ufunc.__name__](*(each.item() if isinstance(each, numpy.number) else each for each in inputs))
        return getattr(ufunc, method)(*map(_as_array, inputs), **options)

    return call


def _clip(own: _Call) -> _Call:
    @functools.wraps(own)
    def call(a: Any, a_min: Any = None, a_max: Any = None, *args: Any, **options: Any) -> Any:
        if not isinstance(a, _SYMBOLS) or args or options:
            return own(a, a_min, a_max, *args, **options)
        least = a if a_min is None else torch.sym_max(a, a_min)
        return least if a_max is None else torch.sym_min(least, a_max)

    return call


def _of_lists(name: str, reduce: _Call) -> _Call:
    """Of a list of numbers, of which NumPy makes an array first."""
    own = getattr(numpy, name)

    @functools.wraps(own)
    def call(numbers: Any, *args: Any, **options: Any) -> Any:
        listed = isinstance(numbers, (list, tuple)) and all(isinstance(each, (int, float, *_SYMBOLS)) for each in numbers)
        sizes = listed and any(isinstance(each, _SYMBOLS) for each in numbers)
        return reduce(numbers) if sizes and not args and not options else own(numbers, *args, **options)

    return call


_REDUCTIONS: dict[str, _Call] = {
    "prod": math.prod,
    "sum": sum,
    **dict.fromkeys(("max", "amax"), lambda numbers: functools.reduce(torch.sym_max, numbers)),
    **dict.fromkeys(("min", "amin"), lambda numbers: functools.reduce(torch.sym_min, numbers)),
}


@contextlib.contextmanager
def numpys_functions(of_sizes: Mapping[str, _Call]) -> Iterator[None]:
    """While it is open, they keep sizes dynamic.

    Args:
        of_sizes: Those of :mod:`math`, by name.
    """
    functions = _functions(of_sizes)
    reductions = {("numpy", name): _of_lists(name, reduce) for name, reduce in _REDUCTIONS.items()}
    with Replacements() as replacements, replaced_functions({**reductions, ("numpy", "clip"): _clip(numpy.clip)}):
        for symbol in _SYMBOLS:
            replacements.set(symbol, "__array_ufunc__", _ufunc(functions))
            for name in functions.keys() - _OPERATORS.keys():  # NumPy asks the objects in arrays for methods of these names
                replacements.set(symbol, name, lambda *args, function=functions[name]: function(*args))
        yield


_NUMPY = re.compile("numpy|ufunc", re.IGNORECASE)
_OF_OBJECTS = re.compile(r"'(?:int|float)' object has no attribute '(\w+)'")
"""What NumPy says of numbers beside sizes in an array, which it asks for its function by name."""


def fails_in_numpy(error: BaseException | None) -> bool:
    """Whether NumPy does not take a size, or an array that one went into."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else ()
    inside = any("/numpy/" in frame.filename.replace("\\", "/") for frame in frames)
    asked = _OF_OBJECTS.search(str(error)) if isinstance(error, (AttributeError, TypeError)) else None
    of_objects = asked is not None and isinstance(getattr(numpy, asked[1], None), numpy.ufunc)
    return error is not None and (inside or of_objects or _NUMPY.search(str(error)) is not None)


@contextlib.contextmanager
def numbers_in_arrays() -> Iterator[None]:
    """While it is open, sizes are numbers in NumPy's arrays: those of the example, which the dimension is fixed at."""

    def array(size: Any, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.array(int(size) if isinstance(size, torch.SymInt) else float(size), dtype=dtype)

    with Replacements() as replacements:
        for symbol in _SYMBOLS:
            replacements.set(symbol, "__array__", array)
        yield
