"""``torch.export``, as each release has it."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.export._trace import _export

from ..torch_names import found

__all__ = ["DIM", "above_autograd", "below_autograd", "draft"]

DIM: type = type(Dim("any"))
"""Of what ``Dim`` gives: before torch 2.8 it is a function, and gives types."""

_DEFERRED = ("prefer_deferred_runtime_asserts_over_guards", "allow_complex_guards_as_runtime_asserts")
"""The argument that has conditions on sizes become checks of the program where they would make a dimension static: its name, and the former one."""


def _deferred(function: Any) -> dict[str, bool]:
    return {name: True for name in _DEFERRED if name in inspect.signature(function).parameters}


def above_autograd(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic_shapes: Any, strict: bool) -> ExportedProgram:
    """As ``torch.export.export``."""
    if deferred := _deferred(torch.export.export):
        return torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict, **deferred)
    # What it calls has the argument in every release.
    return _export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict, pre_dispatch=True, **_deferred(_export))


def below_autograd(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic_shapes: Any, strict: bool) -> ExportedProgram:
    """The same with the operators that autograd calls."""
    return _export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict, pre_dispatch=False, **_deferred(_export))


def draft(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic_shapes: Any) -> ExportedProgram:
    """As ``torch.export.draft_export``."""
    export: Any = found("torch.export.draft_export")
    return export(model, args, kwargs=kwargs, dynamic_shapes=dynamic_shapes)  # type: ignore[no-any-return]
