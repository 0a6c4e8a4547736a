"""The modules ``symbolic_opset7`` … ``symbolic_opset20``: PyTorch's operators as symbolic functions."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from typing import Any

__all__ = ["OPSETS"]


class _OpsetModule(types.ModuleType):
    """The operators are attributes, made when asked for."""

    def __getattr__(self, name: str) -> Any:
        import torch

        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        theirs = self._of_torch(name)
        if not torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
            if theirs is None:
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            setattr(self, name, theirs)
            return theirs

        def symbolic(g: Any, *args: Any, **kwargs: Any) -> Any:
            from ._builtins import call_builtin

            kwargs.pop("_outputs", None)  # how many tensors a list holds: torch says it to functions that need to know
            if kwargs and theirs is not None:
                args, kwargs = _as_the_schema_has_them(theirs, g, args, kwargs)
            return call_builtin(g, name, *args, **kwargs)

        symbolic.__name__ = symbolic.__qualname__ = name
        symbolic.__doc__ = f"Append what Flambeau makes of aten::{name}, at the opset of the model."
        setattr(self, name, symbolic)
        return symbolic

    def _of_torch(self, name: str) -> Any:
        """What torch's module of the same name has: its helpers build nodes in the same way."""
        try:
            return getattr(importlib.import_module(self.__name__.replace(__package__, "torch.onnx", 1)), name, None)
        except ImportError:
            return None


def _as_the_schema_has_them(theirs: Any, g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by position, where torch's symbolic function has other names for them than the operator."""
    try:
        bound = inspect.signature(theirs).bind(g, *args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    return bound.args[1:], bound.kwargs


def _module(name: str) -> types.ModuleType:
    full = f"{__package__}.{name}"
    module = _OpsetModule(full, "PyTorch's operators as symbolic functions; the opset is the model's.")
    sys.modules[full] = module  # so that it can be imported
    return module


OPSETS = {name: _module(name) for name in (f"symbolic_opset{opset}" for opset in range(7, 21))}
