"""Puts Flambeau behind ``torch.onnx``, for code that calls it: libraries, old scripts."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from . import errors
from .onnx import utils as mirror_of_utils
from .onnx import verification
from .program import ONNXProgram

__all__ = ["install", "installed", "is_installed", "uninstall"]

# Names that torch.onnx had, or has; those that it lost come back.
_OF_UTILS = (
    "disable_log",
    "enable_log",
    "export_to_pretty_string",
    "is_onnx_log_enabled",
    "register_custom_op_symbolic",
    "select_model_mode_for_export",
    "set_training",
    "unconvertible_ops",
    "unregister_custom_op_symbolic",
)
_OF_VERIFICATION = ("GraphInfo", "OnnxBackend", "VerificationOptions", "find_mismatch", "verify", "verify_onnx_program")

_MISSING = object()
_replaced: list[tuple[ModuleType, str, Any]] = []


def _export_by_default(dynamo: bool) -> Callable[..., ONNXProgram]:
    from .exporter import export

    @functools.wraps(export)
    def wrapper(model: Any, args: Any = (), f: Any = None, *former: Any, **options: Any) -> ONNXProgram:
        options.setdefault("dynamo", dynamo)
        return export(model, args, f, *former, **mirror_of_utils.without_nones(options))

    return wrapper


def _replacements() -> dict[str, dict[str, Any]]:
    from .onnx import _dynamo_export

    utils = {name: getattr(mirror_of_utils, name) for name in _OF_UTILS}
    checks = {name: getattr(verification, name) for name in _OF_VERIFICATION}
    by_trace = {**utils, "export": mirror_of_utils.export, "_export": mirror_of_utils._export, "is_in_onnx_export": mirror_of_utils.is_in_onnx_export}
    by_default = {"export": _export_by_default(dynamo=True), "ONNXProgram": ONNXProgram, "CheckerError": errors.CheckerError}
    former = {"_export": mirror_of_utils._export, "ExportOptions": _dynamo_export.ExportOptions, "dynamo_export": _dynamo_export.dynamo_export}
    return {
        "torch.onnx": {**utils, **former, **by_default},
        "torch.onnx.errors": {"CheckerError": errors.CheckerError},
        "torch.onnx.utils": by_trace,
        "torch.onnx._internal.torchscript_exporter.utils": by_trace,
        "torch.onnx.verification": checks,
        "torch.onnx._internal.torchscript_exporter.verification": {"verify": verification.verify},
    }


def install() -> None:
    """From now on, ``torch.onnx.export`` and its helpers are Flambeau's.

    A name that a module took before (``from torch.onnx import export``) stays torch's.
    Symbolic functions count whichever way they are registered.
    """
    if _replaced:
        return
    for module_name, names in _replacements().items():
        with contextlib.suppress(ImportError):
            __import__(module_name)
        module = sys.modules.get(module_name)
        if module is None:
            continue
        for name, ours in names.items():
            _replaced.append((module, name, module.__dict__.get(name, _MISSING)))
            setattr(module, name, ours)


def uninstall() -> None:
    """Give torch its own functions back."""
    while _replaced:
        module, name, theirs = _replaced.pop()
        if theirs is _MISSING:
            delattr(module, name)
        else:
            setattr(module, name, theirs)


def is_installed() -> bool:
    """Whether Flambeau is behind ``torch.onnx``."""
    return bool(_replaced)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Flambeau is behind ``torch.onnx`` while it is open."""
    before = is_installed()
    install()
    try:
        yield
    finally:
        if not before:
            uninstall()
