"""``ExportableModule``, which Flambeau converts."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..torch_names import found

if TYPE_CHECKING:
    from ..program import ONNXProgram

__all__ = ["ExportableModule", "Interface"]


class _Interface(torch.nn.Module, abc.ABC):
    """For a torch that has none: the methods of its ``ExportableModule``."""

    @abc.abstractmethod
    def example_arguments(self) -> tuple[tuple[Any, ...], dict[str, Any] | None]:
        """Positional and keyword arguments of ``forward``."""

    def dynamic_shapes(self) -> Any:
        """As ``torch.export.export`` takes them."""

    def input_names(self) -> Sequence[str] | None:
        """In order; None gives the names of the arguments."""

    def output_names(self) -> Sequence[str] | None:
        """In order; None leaves them to Flambeau."""


Interface: Any = found("torch.onnx.ExportableModule") or _Interface


class ExportableModule(Interface):
    """A module that brings its example arguments, and the names of its inputs, outputs and dimensions."""

    def to_onnx(self, **kwargs: Any) -> ONNXProgram:
        """The converted module.

        Args:
            kwargs: Options of :func:`flambeau.export`.
        """
        from ..exporter import export

        return export(self, **kwargs)
