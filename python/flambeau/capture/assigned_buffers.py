"""Buffers to which a model assigns another tensor: ``torch.export`` makes a write of that at the end of the program."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram

__all__ = ["read_before_they_are_written"]


def read_before_they_are_written(exported: ExportedProgram) -> ExportedProgram:
    """Have results, and what other buffers get, hold what was in the buffers before: there nobody writes a tensor that the model reads."""
    writes = list(_writes_at_the_end(exported.graph))
    if not writes:
        return exported
    written = {write.args[0] for write in writes}
    output = exported.graph.output_node()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}

    def copy_of(node: torch.fx.Node) -> torch.fx.Node:
        if not isinstance(node, torch.fx.Node) or _memory_of(node) not in written:
            return node
        if node not in copies:
            with exported.graph.inserting_before(writes[0]):
                copies[node] = exported.graph.call_function(torch.ops.aten.clone.default, (node,))
            copies[node].meta = dict(node.meta)
        return copies[node]

    for write in writes:
        write.update_arg(1, copy_of(write.args[1]))  # type: ignore[arg-type]
    results = [copy_of(result) for result in output.args[0]]
    for spec, result in zip(exported.graph_signature.output_specs, results, strict=True):
        if result in copies.values():
            spec.arg.name = result.name
    output.update_arg(0, tuple(results))
    exported.graph_module.recompile()
    return exported


def _writes_at_the_end(graph: torch.fx.Graph) -> Iterator[torch.fx.Node]:
    """Those that torch.export added; it calls what a model writes itself ``copy_``, ``copy__1`` and so on."""
    for node in graph.nodes:
        if node.target is torch.ops.aten.copy_.default and node.name.startswith("copy__default") and node.args[0].op == "placeholder":
            yield node


def _memory_of(node: torch.fx.Node) -> torch.fx.Node:
    """The node of which it is a view, or a part of the same tensor after a write."""
    while isinstance(node.target, torch._ops.OpOverload) and isinstance(node.args[0], torch.fx.Node):
        schema = node.target._schema
        if schema.arguments[0].alias_info is None or not any(result.alias_info for result in schema.returns):
            break
        node = node.args[0]
    return node
