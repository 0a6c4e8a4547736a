"""Tensors of a model's own classes that it makes of others while it is captured: what torch has there cannot become one of another class."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ..replaced_functions import Replacements

__all__ = ["class_of", "kept_methods"]

_CLASS = "_flambeau_class"
_ANYWHERE = {
    "__annotations__", "__deepcopy__", "__dict__", "__doc__", "__firstlineno__", "__format__", "__module__", "__new__", "__qualname__",
    "__reduce_ex__", "__repr__", "__slots__", "__static_attributes__", "__str__", "__torch_function__", "__weakref__",
}  # fmt: skip
"""Names that a class may have which computes as any tensor does."""


def class_of(tensor: torch.Tensor) -> type | None:
    """The model's own class of which the tensor is one when the model runs; None if there is none."""
    return getattr(tensor, _CLASS, None) if isinstance(tensor, FakeTensor) else None


def _own_names(kind: type) -> dict[str, Any]:
    mro = kind.__mro__[: kind.__mro__.index(torch.Tensor)]
    return {name: value for base in reversed(mro) for name, value in vars(base).items() if name not in _ANYWHERE}


def _computes_as_any(kind: type) -> bool:
    """Whether only what the class adds tells its tensors from others."""
    of_torch = kind.__module__.startswith("torch.")  # it looks for its own parameters
    if of_torch or kind.__torch_function__ is not torch._C._disabled_torch_function_impl:
        return False
    return not any(hasattr(torch.Tensor, name) or not isinstance(value, types.FunctionType) for name, value in _own_names(kind).items())


def _made_of(kind: type, data: torch.Tensor, require_grad: bool = False, *args: Any, **options: Any) -> torch.Tensor:
    """``torch.Tensor._make_subclass``: of what is captured, a tensor that has the methods of the class."""
    if not isinstance(data, FakeTensor) or args or options or not _computes_as_any(kind):
        return torch._C.TensorBase._make_subclass(kind, data, require_grad, *args, **options)
    made = data.detach()
    for name, method in _own_names(kind).items():
        setattr(made, name, types.MethodType(method, made))
    setattr(made, _CLASS, kind)
    return made


@contextlib.contextmanager
def kept_methods() -> Iterator[None]:
    """While it is open, fake tensors of which a model makes tensors of a class of its own have the methods of the class."""
    with Replacements() as replacements:
        replacements.set(torch.Tensor, "_make_subclass", staticmethod(_made_of))
        yield
