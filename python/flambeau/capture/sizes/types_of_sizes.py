"""The types that a model asks for while it is captured: sizes, and numbers in tensors, are Python's numbers (``isinstance(n, int)``)."""

from __future__ import annotations

from typing import Any

import torch

from ..operators.subclasses import class_of
from ..traces.sizes import number_of_sizes

__all__ = ["FUNCTIONS"]

_PYTHONS: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


def _kind(value: Any) -> type | None:
    """The type that the value has when the model runs; None if it is the one that it has."""
    if torch.compiler.is_dynamo_compiling():  # to it they are Python's
        return None
    if isinstance(value, torch.Tensor):
        return class_of(value) or number_of_sizes(value)
    return _PYTHONS.get(type(value))


def _kinds(kinds: Any) -> Any:
    """With ``type`` itself for what stands in its place here."""
    if isinstance(kinds, tuple):
        return tuple(map(_kinds, kinds))
    return type if kinds is _type else kinds


def _is_instance(value: Any, kinds: Any, /) -> bool:
    """A size that is a tensor to torch's tracer counts as one, too: models look for that where they are traced."""
    kinds = _kinds(kinds)
    return isinstance(value, kinds) or ((kind := _kind(value)) is not None and issubclass(kind, kinds))


def _is_subclass(kind: Any, kinds: Any, /) -> bool:
    return issubclass(_kinds(kind), _kinds(kinds))


def _type(*args: Any, **options: Any) -> Any:
    """No class, for Dynamo would not look into it."""
    if len(args) != 1:
        return type(*args, **options)
    return _kind(args[0]) or type(args[0])


vars(_type).update((name, getattr(type, name)) for name in ("__call__", "__init__", "__new__", "mro"))  # metaclasses call them

FUNCTIONS = {"isinstance": _is_instance, "issubclass": _is_subclass, "type": _type}
"""In the place of Python's own, by their names."""
