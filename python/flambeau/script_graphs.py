"""TorchScript programs as graphs that stand by themselves."""

from __future__ import annotations

from typing import Any

import torch

from .errors import OnnxExporterError

__all__ = ["inlined", "without_module"]


def inlined(script: torch.jit.ScriptModule | torch.jit.ScriptFunction | torch._C.ScriptMethod) -> tuple[Any, Any]:
    """A copy of the graph with all calls inlined, and the module that is its first input; None for a function."""
    module = None
    if isinstance(script, torch.jit.ScriptModule):
        module, script = script, script.forward
    elif isinstance(script, torch._C.ScriptMethod):
        module = torch.jit._recursive.wrap_cpp_module(script.owner)
    graph = script.graph.copy()
    torch._C._jit_pass_inline(graph)
    return graph, module


def without_module(graph: Any, module: Any) -> list[torch.Tensor]:
    """Make inputs of the module's tensors, in place of itself, and constants of its other attributes; returns the tensors.

    ``_jit_pass_lower_graph`` refuses what are no tensors.

    Raises:
        OnnxExporterError: The graph changes the module, or needs it as a whole.
    """
    weights: dict[str, torch.Tensor] = {}
    inputs: dict[str, Any] = {}
    objects = {next(iter(graph.inputs())).unique(): ("", module)}
    taken, pending = [], [graph]
    while pending:
        block = pending.pop()
        for node in block.nodes():
            pending.extend(node.blocks())
            found = objects.get(next((value.unique() for value in node.inputs()), -1))
            if found is None:
                continue
            if node.kind() != "prim::GetAttr":
                raise OnnxExporterError(f"operators cannot be told apart in a module that {node.kind()} changes or hands on")
            path, owner = found
            path, value = f"{path}.{node.s('name')}", getattr(owner, node.s("name"))
            taken.append(node)
            if isinstance(value, torch.Tensor):
                if path not in weights:
                    weights[path] = value
                    inputs[path] = graph.addInput()
                    inputs[path].setType(node.output().type())
                node.output().replaceAllUsesWith(inputs[path])
            elif isinstance(node.output().type(), torch._C.ClassType):
                objects[node.output().unique()] = (path, value)
            else:
                with graph.insert_point_guard(node):
                    try:
                        constant = graph.insertConstant(value)
                    except RuntimeError as error:
                        raise OnnxExporterError(f"operators cannot be told apart: the attribute '{path[1:]}' is no constant") from error
                    node.output().replaceAllUsesWith(constant)
    for node in reversed(taken):
        node.destroy()
    graph.eraseInput(0)
    return list(weights.values())
