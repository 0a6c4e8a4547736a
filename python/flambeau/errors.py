"""What Flambeau raises. Every error carries the engine's diagnostics.

Once torch is used, :class:`OnnxExporterError` is also a subclass of
``torch.onnx.OnnxExporterError``, so code written for ``torch.onnx`` catches it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from . import _engine

__all__ = [
    "CaptureError",
    "ConversionWarning",
    "OnnxExporterError",
    "UnsupportedOperatorError",
    "UnsupportedOptionError",
    "VerificationError",
]

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
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class CaptureError(OnnxExporterError):
    """``torch.export`` could not capture the model, or what it captured cannot be converted."""


class UnsupportedOperatorError(OnnxExporterError):
    """The model calls operators that have no translation; the message lists all of them."""


class UnsupportedOptionError(OnnxExporterError):
    """An option has a value that Flambeau does not implement; the message names it."""


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
    """Make :class:`OnnxExporterError` a ``torch.onnx.OnnxExporterError``; torch must be importable."""
    import torch.onnx

    if not issubclass(OnnxExporterError, torch.onnx.OnnxExporterError):
        OnnxExporterError.__bases__ = (torch.onnx.OnnxExporterError,)


def error_of(diagnostics: Sequence[_engine.Diagnostic]) -> OnnxExporterError:
    """The exception that a failed call of the engine means."""
    failures = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    unsupported = bool(failures) and all(failure.kind in _UNSUPPORTED for failure in failures)
    kind = UnsupportedOperatorError if unsupported else OnnxExporterError
    return kind(_engine.report_text(list(diagnostics)).rstrip(), diagnostics)


def warn_of(diagnostics: Sequence[_engine.Diagnostic], *, stacklevel: int) -> None:
    """Issue a :class:`ConversionWarning` for each diagnostic that is a warning."""
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            text = _engine.report_text([diagnostic]).rstrip()
            warnings.warn(text, ConversionWarning, stacklevel=stacklevel + 1)
