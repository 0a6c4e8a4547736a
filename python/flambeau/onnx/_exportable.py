"""``ExportableModule``, which Flambeau converts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch.onnx

if TYPE_CHECKING:
    from ..program import ONNXProgram

__all__ = ["ExportableModule"]


class ExportableModule(torch.onnx.ExportableModule):
    """A module that brings its example arguments, and the names of its inputs, outputs and dimensions."""

    def to_onnx(self, **kwargs: Any) -> ONNXProgram:
        """The converted module.

        Args:
            kwargs: Options of :func:`flambeau.export`.
        """
        from ..exporter import export

        program = export(self, **kwargs)
        assert program is not None
        return program
