"""The modules ``symbolic_opset7`` … ``symbolic_opset20``: PyTorch's operators as symbolic functions."""

from __future__ import annotations

import sys
import types
from typing import Any

__all__ = ["OPSETS"]


class _OpsetModule(types.ModuleType):
    """The operators are attributes, made when asked for."""

    def __getattr__(self, name: str) -> Any:
        import torch

        if name.startswith("__") or not torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

        def symbolic(g: Any, *args: Any, **kwargs: Any) -> Any:
            from ._builtins import call_builtin

            return call_builtin(g, name, *args, **kwargs)

        symbolic.__name__ = symbolic.__qualname__ = name
        symbolic.__doc__ = f"Append what Flambeau makes of aten::{name}, at the opset of the model."
        setattr(self, name, symbolic)
        return symbolic


def _module(name: str) -> types.ModuleType:
    full = f"{__package__}.{name}"
    module = _OpsetModule(full, "PyTorch's operators as symbolic functions; the opset is the model's.")
    sys.modules[full] = module  # so that it can be imported
    return module


OPSETS = {name: _module(name) for name in (f"symbolic_opset{opset}" for opset in range(7, 21))}
