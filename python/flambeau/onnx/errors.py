"""The exceptions of ``torch.onnx.errors``. ``except`` clauses for torch's catch these too."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

from ..errors import CheckerError, ConversionWarning, OnnxExporterError, UnsupportedOperatorError, adopt_torch_errors

if TYPE_CHECKING:
    import torch

__all__ = ["CheckerError", "OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]

OnnxExporterWarning = ConversionWarning


class SymbolicValueError(OnnxExporterError):
    """A symbolic function got a value with which it can do nothing."""

    def __init__(self, msg: str, value: torch._C.Value) -> None:
        node = value.node()
        lines = [f"{msg} (the value '%{value.debugName()}' of type '{value.type()}', made by {node.kind()})"]
        if source := node.sourceRange():
            lines.append(f"at {source}")
        for title, values in (("inputs", node.inputs()), ("outputs", node.outputs())):
            listed = [f"#{i}: %{each.debugName()} : {each.type()}" for i, each in enumerate(values)]
            lines.append(f"{title}:")
            lines.append(textwrap.indent("\n".join(listed or ["none"]), "  "))
        super().__init__("\n".join(lines))


if "torch" in sys.modules:  # else nobody has torch's to catch
    adopt_torch_errors()
