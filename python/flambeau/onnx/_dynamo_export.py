"""``torch.onnx.dynamo_export``, which torch had from 2.1 to 2.8."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.export import Dim
from torch.utils import _pytree

from ..errors import UnsupportedOptionError
from ..exporter import export
from ..program import ONNXProgram

__all__ = ["ExportOptions", "dynamo_export"]


class ExportOptions:
    """The options of :func:`dynamo_export`.

    Args:
        dynamic_shapes: Whether every dimension of every input is dynamic, unless the model fixes it.
        op_level_debug, diagnostic_options: Accepted, and change nothing.
        fake_context, onnx_registry: Of torch's own exporter; only None.

    Raises:
        UnsupportedOptionError: One of these is something else.
    """

    def __init__(
        self,
        *,
        dynamic_shapes: bool | None = None,
        op_level_debug: bool | None = None,
        fake_context: Any = None,
        onnx_registry: Any = None,
        diagnostic_options: Any = None,
    ) -> None:
        if fake_context is not None:
            raise UnsupportedOptionError("fake_context is torch's own: make the model with torch.device('meta'), and call export")
        if onnx_registry is not None:
            raise UnsupportedOptionError("onnx_registry is torch's own: call export with custom_translation_table")
        self.dynamic_shapes = dynamic_shapes


def dynamo_export(model: Any, /, *model_args: Any, export_options: ExportOptions | None = None, **model_kwargs: Any) -> ONNXProgram:
    """:func:`flambeau.export` of the arguments as ``forward`` takes them."""
    shapes = None
    if export_options is not None and export_options.dynamic_shapes:
        shapes = {name: _pytree.tree_map(_all_dynamic, value) for name, value in _by_name(model, model_args, model_kwargs).items()}
    return export(model, model_args, kwargs=model_kwargs, dynamic_shapes=shapes)


def _by_name(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model).bind(*args, **kwargs)
    rest = {each.name for each in bound.signature.parameters.values() if each.kind is each.VAR_KEYWORD}
    named = {name: value for name, value in bound.arguments.items() if name not in rest}
    return named | {key: value for name in rest for key, value in bound.arguments.get(name, {}).items()}


def _all_dynamic(leaf: Any) -> dict[int, Any] | None:
    return dict.fromkeys(range(leaf.ndim), Dim.AUTO) if isinstance(leaf, torch.Tensor) else None
