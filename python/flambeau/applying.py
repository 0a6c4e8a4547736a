"""Weights that a model gets after its conversion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .converted import Conversion, bytes_of
from .errors import OnnxExporterError, imported, warn

if TYPE_CHECKING:
    import onnx_ir
    import torch

__all__ = ["converted_without_weights", "own_weights", "put_weights", "under_own_names"]


def converted_without_weights(conversion: Conversion) -> tuple[onnx_ir.Model, set[str]]:
    """The model with its weights as inputs, of which nothing is folded; and their names."""
    model = conversion.again(export_params=False).model
    proto = imported("onnx", "ONNXProgram.apply_weights").load_model_from_string(bytes_of(model))
    return imported("onnx_ir", "ONNXProgram.apply_weights").from_proto(proto), conversion.weights_among_inputs(model)


def own_weights(exported: torch.export.ExportedProgram | None, conversion: Conversion | None) -> Mapping[str, torch.Tensor]:
    """What a model was made of, by the names in the state_dict; nothing where that is not known.

    Raises:
        OnnxExporterError: It is in an archive that torch cannot load.
    """
    archive = conversion.archive if conversion is not None and conversion.option("export_params") else None
    if exported is None and archive is not None:
        if archive.is_torchscript:
            from .feed.script_inputs import module_of

            module = module_of(archive.script())
            return {} if module is None else module.state_dict(keep_vars=True)
        exported = archive.exported()
    if exported is not None:
        return {**exported.constants, **exported.state_dict}
    return {} if conversion is None else conversion.weights


def under_own_names(graph: onnx_ir.Graph, state_dict: Mapping[str, torch.Tensor], own: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A state_dict in which weights that are one tensor, as tied ones are, are under all names that the graph has for it.

    Args:
        own: The weights of what the graph was made of.

    Raises:
        OnnxExporterError: They are to be different ones.
    """
    import torch

    held = {value.name for value in (*graph.inputs, *graph.initializers.values())}
    names: dict[object, list[str]] = {}
    for name, tensor in own.items():
        if name in held and isinstance(tensor, torch.Tensor):
            names.setdefault(_place(tensor), []).append(name)
    renamed: dict[str, torch.Tensor] = {}
    first: dict[str, str] = {}
    for name, tensor in state_dict.items():
        for each in names.get(_place(own[name]), [name]) if isinstance(own.get(name), torch.Tensor) else [name]:
            other = renamed.setdefault(each, tensor)
            if other is not tensor and not _are_equal(other, tensor):
                raise OnnxExporterError(f"'{first[each]}' and '{name}' are one weight of the model, and are given different values")
            first.setdefault(each, name)
    return renamed


def _are_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    import torch

    return one.dtype == other.dtype and one.shape == other.shape and bool(torch.isclose(one, other, rtol=0, atol=0, equal_nan=True).all())


def _place(tensor: torch.Tensor) -> object:
    """Where a tensor lies: the same for tensors that are one."""
    import torch
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    if is_traceable_wrapper_subclass(tensor) or tensor.layout is not torch.strided:
        return id(tensor)  # its memory is that of other tensors
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype


def put_weights(graph: onnx_ir.Graph, state_dict: Mapping[str, torch.Tensor]) -> None:
    """Make these the initializers of their names; what the graph lacks is warned about.

    Raises:
        OnnxExporterError: A weight has other sizes or another dtype than the model's. The graph is as it was, then.
    """
    import onnx_ir

    from .session import to_numpy

    inputs = {value.name: value for value in graph.inputs}
    weights = []
    for name, tensor in state_dict.items():
        value = graph.initializers.get(name) or inputs.get(name)
        if value is None:
            warn(f"the model has no weight '{name}'; it is left out")
            continue
        weight = onnx_ir.tensor(to_numpy(tensor, str(tensor.dtype).removeprefix("torch.")), name=name)
        sizes = list(weight.shape)
        if value.shape is not None and value.shape.is_static() and list(value.shape) != sizes:
            raise OnnxExporterError(f"the weight '{name}' has the sizes {sizes}, in the model {list(value.shape)}")
        if value.dtype is not None and value.dtype != weight.dtype:  # what reads it is of the model's type
            types = f"is of {weight.dtype}, in the model of {value.dtype}"
            raise OnnxExporterError(f"the weight '{name}' {types}: convert it, or export the model with such weights")
        weights.append((name, value, weight))
    for name, value, weight in weights:
        value.const_value, value.shape, value.type = weight, onnx_ir.Shape(weight.shape), onnx_ir.TensorType(weight.dtype)
        if name not in graph.initializers:
            graph.inputs.remove(value)
            graph.initializers[name] = value
