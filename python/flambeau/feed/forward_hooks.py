"""What a call of a scripted module runs besides its forward: hooks that were scripted with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .script_inputs import Script, method_of

__all__ = ["called_graph"]


def called_graph(model: Script, packed: bool) -> Any:
    """The graph of a call: of a module, its pre-hooks, its forward and its hooks, in order. Copy it before you change it."""
    graph = method_of(model, packed).graph
    if not isinstance(model, torch.jit.ScriptModule):
        return graph
    pre_hooks, hooks = model._c._get_forward_pre_hooks(), model._c._get_forward_hooks()
    return _hooked(graph, [hook.graph for hook in pre_hooks], [hook.graph for hook in hooks]) if pre_hooks or hooks else graph


def _hooked(forward: Any, pre_hooks: Sequence[Any], hooks: Sequence[Any]) -> Any:
    graph = torch._C.Graph()
    self_, *arguments = (_input(graph, value) for value in forward.inputs())
    for hook in pre_hooks:
        (result,) = graph.insertGraph(hook, [self_, _tuple(graph, arguments)])
        kind = result.type().kind()
        if kind == "TupleType":
            types = result.type().elements()
            unpacked = graph.insertNode(graph.create("prim::TupleUnpack", [result], len(types)))
            arguments = [_typed(value, type_) for value, type_ in zip(unpacked.outputs(), types, strict=True)]
        elif kind != "NoneType":  # of which the arguments stay
            arguments = [result]
    (output,) = graph.insertGraph(forward, [self_, *arguments])
    for hook in hooks:
        (result,) = graph.insertGraph(hook, [self_, _tuple(graph, arguments), output])
        output = _chosen(graph, result, output)
    graph.registerOutput(output)
    return graph


def _chosen(graph: Any, result: Any, output: Any) -> Any:
    """What a hook gives, or the output as it was where that is None."""
    type_ = result.type()
    if type_.kind() == "NoneType":
        return output
    if not torch._C.NoneType.get().isSubtypeOf(type_):
        return result
    present = type_.getElementType() if type_.kind() == "OptionalType" else type_
    given = _added(graph, "aten::__isnot__", [result, graph.insertConstant(None)], torch._C.BoolType.get())
    branch = graph.insertNode(graph.create("prim::If", [given], 1))
    for value in (result, output):
        block = branch.addBlock()
        with graph.insert_point_guard(block.returnNode()):
            block.registerOutput(_added(graph, "prim::unchecked_cast", [value], present) if value is result else value)
    return _typed(branch.output(), present)


def _input(graph: Any, like: Any) -> Any:
    return _typed(graph.addInput(like.debugName()), like.type())


def _tuple(graph: Any, values: Sequence[Any]) -> Any:
    return _added(graph, "prim::TupleConstruct", values, torch._C.TupleType([value.type() for value in values]))


def _added(graph: Any, kind: str, operands: Sequence[Any], type_: Any) -> Any:
    return _typed(graph.insertNode(graph.create(kind, list(operands), 1)).output(), type_)


def _typed(value: Any, type_: Any) -> Any:
    value.setType(type_)
    return value
