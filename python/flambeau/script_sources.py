"""Code of which TorchScript takes other code than Python runs."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules import module as _modules
from torch.nn.utils import parametrize

__all__ = ["other_for_scripts"]

_CALLS = (torch.nn.Module.__call__, torch.nn.ParameterList.__call__, torch.nn.ParameterDict.__call__)  # the last two only raise
_CONTAINERS = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
_GLOBAL_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks")
_ASKS = ("is_scripting", "is_tracing")


def other_for_scripts(model: torch.nn.Module) -> str | None:
    """What a script of the model would leave out or do otherwise; None if nothing of that kind is found."""
    if any(getattr(_modules, name, None) for name in _GLOBAL_HOOKS):
        return "there are hooks for all modules"
    for path, module in model.named_modules():
        where = f"module '{path}'" if path else "the module"
        if type(module).__call__ not in _CALLS:
            return f"{where} has a __call__ of its own"
        if "forward" in vars(module):
            return f"{where} has another forward than its class"
        if isinstance(module, _CONTAINERS) and not _is_torchs(type(module).__iter__):
            return f"{where} has an __iter__ of its own"
        if parametrize.is_parametrized(module):
            return f"{where} is parametrized"
    for function in _functions_of(model):
        if hasattr(function, "__wrapped__"):
            return f"{function.__qualname__} is decorated"
        if getattr(function, "_torchscript_modifier", None) is not None:
            return f"{function.__qualname__} is left out of scripts"
        if any(name in function.__code__.co_names for name in _ASKS):
            return f"{function.__qualname__} asks whether it is a script"
    return None


def _is_torchs(value: Any) -> bool:
    """Of a function, a class or a module of Python."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", "")
    return str(name).partition(".")[0] == "torch"


def _functions_of(model: torch.nn.Module) -> Iterator[types.FunctionType]:
    """The functions of the model's classes and attributes, and those that they name, but for torch's own."""
    classes = {each for module in model.modules() for each in type(module).__mro__ if not _is_torchs(each) and each is not object}
    pending: list[Any] = [value for each in classes for value in vars(each).values()]
    pending += [value for module in model.modules() for value in vars(module).values()]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, property):
            pending += [value.fget, value.fset]
        value = getattr(value, "__func__", value)
        if not isinstance(value, types.FunctionType) or id(value) in seen or _is_torchs(value):
            continue
        seen.add(id(value))
        yield value
        named = inspect.getclosurevars(value)
        pending += [*named.globals.values(), *named.nonlocals.values()]
        for holder in named.globals.values():  # functions of modules and classes that it names
            if isinstance(holder, (types.ModuleType, type)) and not _is_torchs(holder):
                pending += [vars(holder)[name] for name in value.__code__.co_names if name in vars(holder)]
