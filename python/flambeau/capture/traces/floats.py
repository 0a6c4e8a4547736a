"""Floats that Python computes of sizes while a model is traced.

Each is a tensor of the default dtype, as torch makes of Python's floats, and beside it the same in float64, with which Python goes on.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree

from ..replaced_functions import Replacements, as_called
from .sizes import is_size

__all__ = ["cast_number", "exact", "float_of_sizes", "replace_operators"]

_EXACT = "_flambeau_exact"  # an attribute of the tensor

_OF_TWO = [f"__{name}__" for name in ("add", "floordiv", "mod", "mul", "pow", "sub", "truediv")]
_TURNED = [name.replace("__", "__r", 1) for name in _OF_TWO]
_COMPARISONS = [f"__{name}__" for name in ("eq", "ge", "gt", "le", "lt", "ne")]
_OF_ONE = ("__abs__", "__neg__", "__pos__")
_READS: dict[str, Callable[..., Any]] = {"__float__": float, "__format__": format, "__int__": int, "__repr__": repr, "__str__": str}
_MAKERS = ("tensor", "as_tensor", "asarray", "scalar_tensor")


def _is_exact(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not value.ndim and hasattr(value, _EXACT)


def exact(value: Any) -> Any:
    """The tensor in float64 of what was made by `float_of_sizes`; other values as they are."""
    return getattr(value, _EXACT, value)


def cast_number(number: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The number in another dtype. Without blocking, which no model asks for of a size: so the engine knows that it stays a number."""
    return number.to(dtype, non_blocking=True)


def float_of_sizes(number: torch.Tensor) -> torch.Tensor:
    """What torch makes of Python's float, of the tensor in float64; other tensors as they are."""
    if number.dtype is not torch.float64 or torch.get_default_dtype() is torch.float64:
        return number
    rounded = cast_number(number, torch.get_default_dtype())
    setattr(rounded, _EXACT, number)
    return rounded


def _float_of_integers(name: str, self: torch.Tensor, other: Any) -> bool:
    """Whether Python's operator makes a float of a size that is an integer; a comparison makes none."""
    if self.dtype is not torch.int64 or name in _COMPARISONS:
        return False
    if name.endswith("truediv__"):
        return isinstance(other, (int, float)) or is_size(other)
    return isinstance(other, float) or (name == "__pow__" and isinstance(other, int) and other < 0)


def _quotient_of(divisor: torch.Tensor, number: Any) -> torch.Tensor:
    """Torch multiplies by the reciprocal, which is rounded once more."""
    return torch.div(divisor * 0.0 + number, divisor)


def _of_two(name: str, own: Callable[[torch.Tensor, Any], Any]) -> Callable[[torch.Tensor, Any], Any]:
    by_python = _quotient_of if name == "__rtruediv__" else own

    @functools.wraps(own)
    def call(self: torch.Tensor, other: Any) -> Any:
        if self.ndim:
            return own(self, other)
        if not (_is_exact(self) or _is_exact(other)):
            if not (_float_of_integers(name, self, other) and is_size(self)):
                return own(self, other)
            self = cast_number(self, torch.float64)
        if not all(isinstance(each, (int, float)) or _is_exact(each) or is_size(each) for each in (self, other)):
            return own(self, other)
        return float_of_sizes(by_python(exact(self), exact(other)))

    return call


def _of_one(own: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    @functools.wraps(own)
    def call(self: torch.Tensor) -> Any:
        return float_of_sizes(own(exact(self))) if _is_exact(self) else own(self)

    return call


def _reading(own: Callable[..., Any], of_float: Callable[..., Any], number: Callable[[torch.Tensor], float]) -> Callable[..., Any]:
    @functools.wraps(own)
    def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if not _is_exact(self):
            return as_called(own, self, *args, **kwargs)
        return of_float(as_called(number, exact(self)), *args)

    return call


def _dtype_of(elements: list[Any]) -> torch.dtype:
    """What a list of such numbers becomes."""
    kinds = {each.dtype if isinstance(each, torch.Tensor) else type(each) for each in elements}
    if any(kind is float or getattr(kind, "is_floating_point", False) for kind in kinds):
        return torch.get_default_dtype()
    return torch.bool if kinds <= {bool, torch.bool} else torch.int64


def _tensor_of(data: Any, dtype: torch.dtype | None) -> torch.Tensor | None:
    """The tensor of sizes, numbers among them, and lists of these; None if it is left to torch's tracer."""
    listed, shape = data, []
    while type(listed) in (list, tuple) and listed:
        shape.append(len(listed))
        listed = listed[0]
    elements = _pytree.tree_leaves(data) if shape else [data]
    if len(elements) != math.prod(shape) or not any(map(is_size, elements)):
        return None
    if not all(isinstance(each, (int, float)) or is_size(each) for each in elements):
        return None
    dtype = dtype or _dtype_of(elements)
    made = [exact(each).to(dtype) if isinstance(each, torch.Tensor) else torch.scalar_tensor(each + 0, dtype=dtype) for each in elements]
    return torch.stack(made).reshape(shape) if shape else made[0].detach()  # no number any more


def _making(own: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(own)
    def call(data: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        integer = isinstance(data, torch.Tensor) and not data.is_floating_point() and kwargs.get("dtype") is None
        made = None if args or integer or kwargs.keys() - {"dtype", "device"} else _tensor_of(data, kwargs.get("dtype"))
        if made is None:
            return own(data, *args, **kwargs)
        return made if kwargs.get("device") is None else made.to(kwargs["device"])

    return call


def replace_operators(replacements: Replacements) -> None:
    """While these are in place, Python computes with its floats of sizes, and torch makes tensors of them."""
    for name in (*_OF_TWO, *_TURNED, *_COMPARISONS):
        replacements.set(torch.Tensor, name, _of_two(name, getattr(torch.Tensor, name)))
    for name in _OF_ONE:
        replacements.set(torch.Tensor, name, _of_one(getattr(torch.Tensor, name)))
    number = torch.Tensor.__float__
    for name, of_float in _READS.items():
        replacements.set(torch.Tensor, name, _reading(getattr(torch.Tensor, name), of_float, number))
    for name in _MAKERS:
        replacements.set(torch, name, _making(getattr(torch, name)))
