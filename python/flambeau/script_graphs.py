"""TorchScript programs as graphs that stand by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .errors import OnnxExporterError
from .feed.forward_hooks import called_graph
from .feed.script_inputs import module_of
from .state import kept_state

__all__ = ["infer_types", "inlined", "recorded_within", "without_module"]


def inlined(script: torch.jit.ScriptModule | torch.jit.ScriptFunction | torch._C.ScriptMethod) -> tuple[Any, Any]:
    """A copy of the graph with all calls inlined, and the module that is its first input; None for a function."""
    graph = called_graph(script, packed=False).copy()
    torch._C._jit_pass_inline(graph)
    return graph, module_of(script)


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


def recorded_within(graph: Any, values: Sequence[Any], args: Sequence[Any], operator: str = "clone") -> list[list[torch.Tensor]]:
    """What tensors of a graph are, right after each is made, each time that it is: in loops several times, in branches perhaps never.

    The graph's outputs are not computed any more.

    Args:
        graph: With ``args`` as its arguments; it is changed.
        values: Tensors of it, also of nested blocks.
        args: What it is run with; tensors are copied.
        operator: What is made of each: "clone", or "empty_like" where its type is enough.

    Raises:
        RuntimeError: torch cannot run it.
    """
    for _ in list(graph.outputs()):
        graph.eraseOutput(0)
    tensor = torch._C.TensorType.get()
    none = graph.prependNode(graph.create("prim::Constant")).output()
    none.setType(torch._C.NoneType.get())
    missing = [none] * (len(torch._C._get_schema(f"aten::{operator}", "").arguments) - 1)
    for value in values:
        kept = graph.prependNode(graph.create("prim::ListConstruct", [], 1)).output()
        kept.setType(torch._C.ListType(tensor))
        copy = graph.create(f"aten::{operator}", [value, *missing], 1)
        copy.insertAfter(value.node())
        copy.output().setType(tensor)
        added = graph.create("aten::append", [kept, copy.output()], 1)
        added.insertAfter(copy)
        added.output().setType(kept.type())
        graph.registerOutput(kept)
    graph.makeMultiOutputIntoTuple()
    function = torch._C._create_function_from_graph("recorded", graph)
    with torch.no_grad():
        results = function(*(each.clone() if isinstance(each, torch.Tensor) else each for each in args))
    return [results] if len(values) == 1 else list(results)


def infer_types(graph: Any, wanted: Callable[[Any], bool], module: torch.nn.Module | None, args: Sequence[Any]) -> None:
    """Give the tensors that some nodes of the main block make the types that they have for example arguments.

    Where torch cannot run the graph, nothing becomes known.
    """

    def values_of(each: Any) -> list[Any]:
        tensor = torch._C.TensorType.get()
        return [value for node in each.nodes() if wanted(node) for value in node.outputs() if value.type().isSubtypeOf(tensor)]

    values = values_of(graph)
    if not values:
        return
    copy = graph.copy()
    given = args if module is None else [module, *args]
    with contextlib.suppress(RuntimeError, TypeError), kept_state(module) if module is not None else contextlib.nullcontext():
        results = recorded_within(copy, values_of(copy), given, "empty_like")
        for value, (result,) in zip(values, results, strict=True):
            value.inferTypeFrom(result)
