"""The types that a model asks for while it is captured: sizes, and numbers in tensors, are Python's numbers (``isinstance(n, int)``)."""

from __future__ import annotations

from typing import Any

import torch

from .subclasses import class_of
from .traced_sizes import number_of_sizes

__all__ = ["FUNCTIONS"]

_PYTHONS: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


def _kind(value: Any) -> type | None:
    """The type that the value has when the model runs; None if it is the one that it has."""
    if isinstance(value, torch.Tensor):
        return class_of(value) or number_of_sizes(value)
    return _PYTHONS.get(type(value))


def _is_instance(value: Any, kinds: Any, /) -> bool:
    """A size that is a tensor to torch's tracer counts as one, too: models look for that where they are traced."""
    return isinstance(value, kinds) or ((kind := _kind(value)) is not None and issubclass(kind, kinds))


class _Kinds(type):
    """Of what stands for ``type`` itself."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls is not _Type:  # a metaclass of the model's own
            return super().__call__(*args, **options)
        return (_kind(*args) if len(args) == 1 else None) or type(*args, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, type) if cls is _Type else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, type) if cls is _Type else super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (cls is _Type and other is type)

    def __hash__(cls) -> int:
        return hash(type) if cls is _Type else super().__hash__()


class _Type(type, metaclass=_Kinds):
    pass


FUNCTIONS = {"isinstance": _is_instance, "type": _Type}
"""In the place of Python's own, by their names."""
