"""Buffers to which a model assigns another tensor.

``torch.export`` makes writes of those of the outermost module at the end of the program, to whatever input stands where it expects the
buffer, and leaves out the rest. So the program is told by an operator.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.nn.modules.module import register_module_buffer_registration_hook

from .buffer_tables import watched_buffers
from .proxies import node_of

__all__ = ["UNRECORDED", "noted_assignments", "recorded_assignments", "with_assigned_buffers"]

UNRECORDED = "flambeau_unrecorded_buffers"
"""Where the graph of an ExportedProgram keeps the paths of buffers whose new values it lacks."""


@functools.cache
def _library() -> torch.library.Library:
    """An operator that says what a buffer has been assigned, for :func:`with_assigned_buffers`; made once, it lives as long as this object."""
    library = torch.library.Library("flambeau", "FRAGMENT")
    library.define("assigned(Tensor value, str path) -> ()")
    library.impl("assigned", lambda value, path: None, "CompositeExplicitAutograd")
    torch.fx.node.has_side_effect(torch.ops.flambeau.assigned.default)  # or it is dropped, as nothing takes its result
    return library


@contextlib.contextmanager
def noted_assignments(model: torch.nn.Module) -> Iterator[Collection[str]]:
    """Gives the paths of the buffers to which another tensor is assigned while it is open, or that a call left as another one."""
    found: dict[str, None] = {}

    def note(module: torch.nn.Module, name: str, buffer: Any) -> None:
        # What is recorded below autograd may have been undone when the call ends.
        if (path := tables.path_of(module, name)) is not None and buffer is not module._buffers[name]:
            found[path] = None

    with watched_buffers(model) as tables, register_module_buffer_registration_hook(note):
        hook = model.register_forward_hook(lambda *_: found.update(dict.fromkeys(tables.assigned())))
        try:
            yield found.keys()
        finally:
            hook.remove()


@contextlib.contextmanager
def recorded_assignments(model: torch.nn.Module) -> Iterator[Collection[str]]:
    """Has the program that is captured while it is open say what its run leaves in buffers, for :func:`with_assigned_buffers`.

    Gives the paths of the buffers of which the program cannot say it.
    """
    _library()
    unrecorded: dict[str, None] = {}
    aliases: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def say(*_: Any) -> None:
        unrecorded.clear()
        for path, (before, now) in tables.assigned().items():
            if (id(now) in aliases and aliases[id(now)][1] is before) or not tables.is_last_name(path):
                continue
            if isinstance(now, torch.Tensor) and node_of(now) is not None:
                torch.ops.flambeau.assigned(now, path)
            else:
                unrecorded[path] = None

    def note(module: torch.nn.Module, name: str, buffer: Any) -> Any:
        # Else torch.export makes a write of the assignment that it then does not know the place of.
        if tables.path_of(module, name) is None or not _is_given(buffer):
            return None
        alias = torch.ops.aten.alias.default(buffer)
        aliases[id(alias)] = alias, buffer
        return alias

    with watched_buffers(model) as tables, register_module_buffer_registration_hook(note):
        hook = model.register_forward_hook(say)
        try:
            yield unrecorded
        finally:
            hook.remove()


def _is_given(buffer: Any) -> bool:
    """Whether nothing in the graph that is being captured computes the tensor: it is an input or a constant."""
    if not isinstance(buffer, torch.Tensor) or get_proxy_mode() is None:
        return False
    node = node_of(buffer)
    return node is None or node.op == "placeholder"


def with_assigned_buffers(exported: ExportedProgram) -> ExportedProgram:
    """Have the program give the tensors as the new buffers, without a write: the new ones may be of other sizes, and the old ones results."""
    signature, graph = exported.graph_signature, exported.graph
    buffers = {spec.arg.name: spec.target for spec in signature.input_specs if spec.kind is InputKind.BUFFER}
    inputs = {buffers[node.name]: node for node in graph.find_nodes(op="placeholder") if node.name in buffers}
    for write in _added_writes(graph):
        graph.erase_node(write)
    assigned: dict[torch.fx.Node, Any] = {}
    for said in _said(graph):
        value, path = said.args
        graph.erase_node(said)
        if path in inputs:
            assigned[inputs[path]] = value
        else:  # one tensor is the buffer of two modules
            exported.graph_module.meta.setdefault(UNRECORDED, {})[path] = None
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


def _added_writes(graph: torch.fx.Graph) -> list[Any]:
    """Those that torch.export added; it calls what a model writes itself ``copy_``, ``copy__1`` and so on."""
    writes = graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default)
    return [node for node in writes if node.name.startswith("copy__default") and not node.users]


def _said(graph: torch.fx.Graph) -> list[Any]:
    return graph.find_nodes(op="call_function", target=torch.ops.flambeau.assigned.default) if hasattr(torch.ops.flambeau, "assigned") else []


def _base_of(value: Any) -> Any:
    """The tensor of which it is a view, or that it is after writes."""
    while isinstance(value, torch.fx.Node) and isinstance(value.target, torch._ops.OpOverload):
        schema = value.target._schema
        if not schema.arguments or schema.arguments[0].alias_info is None or not any(result.alias_info for result in schema.returns):
            break
        value = value.args[0]
    return value
