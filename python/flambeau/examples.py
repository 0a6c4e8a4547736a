"""The example arguments of an export, as ``forward`` takes them."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram

from .calls import with_distinct_tensors
from .feed.script_inputs import SCRIPTS, script_parameters

__all__ = ["example_call"]


def example_call(
    model: torch.nn.Module | ExportedProgram, args: Any, kwargs: dict[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as (args, kwargs)."""
    if isinstance(args, (torch.Tensor, bool, int, float, Mapping)):
        args = (args,)
    if not isinstance(args, Iterable) or isinstance(args, (str, bytes)) or hasattr(args, "__array__"):
        raise TypeError(f"args is {reprlib.repr(args)}; it must be a tuple of what forward takes, or a tensor")
    args = tuple(args)
    if kwargs is None and args and isinstance(args[-1], dict) and isinstance(model, torch.nn.Module):
        if _takes(model, args[-1]):
            args, kwargs = args[:-1], args[-1]
    return with_distinct_tensors(args, dict(kwargs or {}))


def _takes(model: torch.nn.Module, kwargs: dict[Any, Any]) -> bool:
    """Whether these can be keyword arguments of the module."""
    if isinstance(model, SCRIPTS):
        return all(name in script_parameters(model) for name in kwargs)
    parameters = inspect.signature(model.forward).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return all(isinstance(name, str) for name in kwargs)
    named = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL}
    return all(name in named for name in kwargs)
