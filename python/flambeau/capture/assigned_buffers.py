"""Buffers to which a model assigns another tensor: ``torch.export`` makes a write of that at the end of the program, or leaves it out."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument
from torch.nn.modules.module import register_module_buffer_registration_hook

__all__ = ["UNRECORDED", "noted_assignments", "with_assigned_buffers"]

UNRECORDED = "flambeau_unrecorded_buffers"
"""Where the graph of an ExportedProgram keeps the paths of buffers whose new values it lacks."""


@contextlib.contextmanager
def noted_assignments(model: torch.nn.Module, but_of: Collection[torch.nn.Module] = ()) -> Iterator[list[str]]:
    """Gives the paths of buffers to which another tensor is assigned while it is open, but to those of these modules."""
    paths = {id(module): path for path, module in model.named_modules() if not any(module is each for each in but_of)}
    found: list[str] = []

    def note(module: torch.nn.Module, name: str, buffer: Any) -> None:
        before = module._buffers.get(name)
        if id(module) in paths and before is not None and buffer is not before:
            path = f"{paths[id(module)]}.{name}".removeprefix(".")
            if path not in found:
                found.append(path)

    with register_module_buffer_registration_hook(note):
        yield found


def with_assigned_buffers(exported: ExportedProgram) -> ExportedProgram:
    """Have the program give the tensors as the new buffers, without a write: the new ones may be of other sizes, and the old ones results."""
    signature, graph = exported.graph_signature, exported.graph
    buffers = {spec.arg.name: spec.target for spec in signature.input_specs if spec.kind is InputKind.BUFFER}
    assigned: dict[torch.fx.Node, Any] = {}
    for write in list(_assignments(graph, buffers)):
        old, new = write.args[:2]
        graph.erase_node(write)
        if _base_of(new, written=True) is not old:  # as by `self.n += 1`, which has written it already
            assigned[old] = new
    if not assigned:
        return exported
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    output = graph.output_node()

    def apart(value: Any) -> Any:
        """A copy of what is memory of such a buffer: what torch makes of the program may write there."""
        if not isinstance(value, torch.fx.Node) or _base_of(value) not in assigned:
            return value
        if value not in copies:
            with graph.inserting_before(output):
                copies[value] = graph.call_function(torch.ops.aten.clone.default, (value,))
            copies[value].meta = dict(value.meta)
        return copies[value]

    values = [apart(value) for value in assigned.values()]
    results = [apart(value) for value in output.args[0]]
    for spec, result in zip(signature.output_specs, results, strict=True):
        if result in copies.values():
            spec.arg.name = result.name
    states = zip(assigned, values, strict=True)
    signature.output_specs[:0] = [OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(value.name), buffers[old.name]) for old, value in states]
    output.update_arg(0, (*values, *results))
    exported.graph_module.recompile()
    return exported


def _assignments(graph: torch.fx.Graph, buffers: Collection[str]) -> Iterator[Any]:
    """The writes that torch.export added; it calls what a model writes itself ``copy_``, ``copy__1`` and so on."""
    for node in graph.nodes:
        if node.target is torch.ops.aten.copy_.default and node.name.startswith("copy__default") and not node.users and node.args[0].name in buffers:
            yield node


def _base_of(value: Any, written: bool = False) -> Any:
    """The tensor that it is after writes; or is also a view of, if these do not have to be writes."""
    while isinstance(value, torch.fx.Node) and isinstance(value.target, torch._ops.OpOverload):
        taken = value.target._schema.arguments[0].alias_info if value.target._schema.arguments else None
        if taken is None or (written and not taken.is_write) or not any(result.alias_info for result in value.target._schema.returns):
            break
        value = value.args[0]
    return value
