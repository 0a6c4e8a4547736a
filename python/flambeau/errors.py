"""What Flambeau raises. Every error carries the engine's diagnostics.

Once torch is used, :class:`OnnxExporterError` is also a subclass of
``torch.onnx.OnnxExporterError``, so code written for ``torch.onnx`` catches it.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from . import _engine

__all__ = [
    "CaptureError",
    "CheckerError",
    "ConversionWarning",
    "OnnxExporterError",
    "UnsupportedOperatorError",
    "UnsupportedOptionError",
    "VerificationError",
    "imported",
]

_PACKAGE = os.path.dirname(__file__) + os.sep
_UNSUPPORTED = frozenset({"unsupported-operator", "unsupported-form", "unsupported-opset", "unsupported-dtype"})


class _WithoutTorch(RuntimeError):
    """Stands where ``torch.onnx.OnnxExporterError`` is put once torch is there."""


class OnnxExporterError(_WithoutTorch):
    """A model could not be converted.

    Attributes:
        diagnostics: What the engine said, in order; empty where Python failed.
    """

    diagnostics: tuple[_engine.Diagnostic, ...]

    def __init__(self, message: str, diagnostics: Sequence[_engine.Diagnostic] = ()) -> None:
        # Not super's: torch's classes, which come in later, make up messages of their own.
        RuntimeError.__init__(self, message)
        self.diagnostics = tuple(diagnostics)


class CheckerError(OnnxExporterError):
    """The converted model breaks ONNX's rules."""


class CaptureError(OnnxExporterError):
    """``torch.export`` could not capture the model, or what it captured cannot be converted."""


class UnsupportedOperatorError(OnnxExporterError):
    """The model calls operators that have no translation; the message lists all of them.

    Symbolic functions raise it as torch's: ``UnsupportedOperatorError(name, version, supported_version)``.
    """

    def __init__(
        self, message: str, diagnostics: Sequence[_engine.Diagnostic] | int = (), supported_version: int | None = None
    ) -> None:
        if isinstance(diagnostics, int):
            since = f"; opset {supported_version} has it" if supported_version is not None else ""
            message, diagnostics = f"{message} cannot be converted at opset {diagnostics}{since}", ()
        super().__init__(message, diagnostics)


class UnsupportedOptionError(OnnxExporterError):
    """An option has a value that cannot be had together with the others; the message names it."""


class VerificationError(OnnxExporterError):
    """The converted model gives other numbers than the PyTorch model.

    Attributes:
        comparisons: Each tensor that was compared, also those that agree.
    """

    comparisons: list[_engine.Comparison]

    def __init__(self, message: str, comparisons: Sequence[_engine.Comparison] = ()) -> None:
        super().__init__(message)
        self.comparisons = list(comparisons)


class ConversionWarning(UserWarning):
    """Something about a converted model that its user should know."""


def adopt_torch_errors() -> None:
    """Make our exceptions subclasses of torch's of the same names; torch must be importable."""
    import torch.onnx

    from .onnx.errors import SymbolicValueError

    if not issubclass(OnnxExporterError, torch.onnx.OnnxExporterError):
        OnnxExporterError.__bases__ = (torch.onnx.OnnxExporterError,)
    for ours in (CheckerError, UnsupportedOperatorError, SymbolicValueError):
        theirs = getattr(torch.onnx.errors, ours.__name__, None)
        if theirs is not None and not issubclass(ours, theirs):
            ours.__bases__ = (OnnxExporterError, theirs)


def imported(name: str, purpose: str) -> Any:
    """A package that Flambeau needs for some things only.

    Raises:
        ModuleNotFoundError: It is not installed; the message says for what it is needed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if (error.name or package).partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(f"{purpose} needs {package}, which is not installed: pip install {package}", name=package) from None


def error_of(diagnostics: Sequence[_engine.Diagnostic]) -> OnnxExporterError:
    """The exception that a failed call of the engine means."""
    failures = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    unsupported = bool(failures) and all(failure.kind in _UNSUPPORTED for failure in failures)
    invalid = any(failure.kind == "invalid-model" for failure in failures)
    kind = CheckerError if invalid else UnsupportedOperatorError if unsupported else OnnxExporterError
    return kind(_engine.report_text(list(diagnostics)).rstrip(), diagnostics)


def warn(text: str) -> None:
    """Issue a :class:`ConversionWarning` at the line that called Flambeau."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, ConversionWarning, stacklevel=level)


def warn_of(diagnostics: Sequence[_engine.Diagnostic]) -> None:
    """Warn of each diagnostic that is a warning."""
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            warn(_engine.report_text([diagnostic]).rstrip())
