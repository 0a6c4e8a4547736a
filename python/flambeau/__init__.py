"""PyTorch models to ONNX.

>>> import flambeau
>>> program = flambeau.export(model, (x,), "model.onnx", dynamic_shapes=({0: "batch"},))
>>> program(x)                                   # runs it in onnxruntime

:func:`convert`, :func:`inspect` and :func:`operators` need neither torch nor
onnx; :func:`export` and :func:`save` import torch when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors
from ._engine import __version__
from .conversion import convert, inspect, operators
from .program import ONNXProgram

if TYPE_CHECKING:
    from . import onnx
    from .archive import save
    from .exporter import export
    from .installation import install, installed, uninstall
    from .verification import find_mismatch, verify

__all__ = [
    "ONNXProgram",
    "__version__",
    "convert",
    "errors",
    "export",
    "find_mismatch",
    "inspect",
    "install",
    "installed",
    "onnx",
    "operators",
    "save",
    "uninstall",
    "verify",
]

_NEED_TORCH = {
    "export": ".exporter",
    "find_mismatch": ".verification",
    "install": ".installation",
    "installed": ".installation",
    "onnx": ".onnx",
    "save": ".archive",
    "uninstall": ".installation",
    "verify": ".verification",
}


def __getattr__(name: str) -> Any:
    if name not in _NEED_TORCH:
        raise AttributeError(f"module 'flambeau' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_NEED_TORCH[name], __name__)
    value = module if name == "onnx" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
