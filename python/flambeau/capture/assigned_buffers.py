"""Buffers to which a model assigns another tensor: ``torch.export`` makes a write of that at the end of the program."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

__all__ = ["with_assigned_buffers"]


def with_assigned_buffers(exported: ExportedProgram) -> ExportedProgram:
    """Have the program give the tensors as the new buffers, without a write: the old ones may be results, and of other sizes."""
    signature = exported.graph_signature
    buffers = {spec.arg.name: spec.target for spec in signature.input_specs if spec.kind is InputKind.BUFFER}
    output = exported.graph.output_node()
    assigned = list(_assignments(exported.graph, buffers.keys()))
    if not assigned:
        return exported
    new = [write.args[1] for write in assigned]
    specs = [
        OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(value.name), buffers[write.args[0].name]) for write, value in zip(assigned, new, strict=True)
    ]
    signature.output_specs[:0] = specs
    output.update_arg(0, (*new, *output.args[0]))
    for write in assigned:
        exported.graph.erase_node(write)
    exported.graph_module.recompile()
    return exported


def _assignments(graph: torch.fx.Graph, buffers: object) -> Iterator[torch.fx.Node]:
    """The writes that torch.export added; it calls what a model writes itself ``copy_``, ``copy__1`` and so on."""
    for node in graph.nodes:
        if node.target is torch.ops.aten.copy_.default and node.name.startswith("copy__default") and node.args[0].name in buffers and not node.users:
            yield node
