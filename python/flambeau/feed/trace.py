"""Feeds the engine with what torch recorded of a run: a graph whose inputs are the arguments, and then the module's tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .. import _engine
from .script_graph import FROZEN, GraphImport, PythonFunctions, stack_trace

__all__ = ["Place", "Trace", "import_trace", "place_of"]

Place = tuple[Any, ...]


def place_of(tensor: torch.Tensor) -> Place:
    """Where a constant is in memory, and how it lies there: torch's tracer keeps another tensor object."""
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


@dataclasses.dataclass(frozen=True)
class FrozenNumber:
    """A size whose number the trace holds where Python asked for it."""

    size: torch.Tensor
    stack: str
    """The frames of the place, as torch writes a source range."""


@dataclasses.dataclass(frozen=True)
class Trace:
    """What torch records of one run of a module.

    torch.jit.trace would also make a module of it, which takes longer than the run and the record together.
    """

    graph: torch._C.Graph
    """Its inputs are the tensors among the arguments, and then those of the module."""

    model: torch.nn.Module
    state: Sequence[tuple[str, torch.Tensor]]
    """The module's tensors, by their paths."""

    modules: Sequence[tuple[str, str]]
    """(path, class) of each module; a node's scope, as "0.0/3.0/7.1", counts in it: the module, and which call of it."""

    written: Mapping[Place, torch.Tensor]
    """What constants held before the run wrote to them."""

    frozen: Sequence[FrozenNumber] = ()
    """Their sizes are the last of what the graph returns."""

    rebound: Sequence[str] = ()
    """The buffers, by their paths, that the run left with another tensor: these tensors are returned before the sizes."""


class _TraceImport(GraphImport):
    """One walk over a trace, whose graph has the module's tensors as inputs: they become attributes of one object."""

    def __init__(self, trace: Trace, graph: Any, functions: PythonFunctions | None) -> None:
        super().__init__(graph, trace.model, bound=False, functions=functions)
        self.own_run = True
        self.trace = trace
        self.frames: dict[str, list[tuple[str, str]]] = {}  # by scope
        self.steps: dict[str, Mapping[str, str]] = {}  # likewise: path → step, which is the call
        self.scope = ""  # the last one
        self.results = next(graph.outputs()).node()  # their tuple; values are numbered anew within a function that is inlined
        self.module: Any = None  # the object that holds the state

    def state(self, values: Sequence[Any]) -> None:
        """Add the object, and a read of each attribute that the graph uses."""
        name = type(self.trace.model).__qualname__
        self.module = module = self.builder.add_input("self", self.builder.add_type("Class", [], name))
        handle = self.builder.add_object(name, "")
        self.builder.set_self(handle)
        rebound = {*self.trace.rebound}
        used = [(value, *state) for value, state in zip(values, self.trace.state, strict=True) if state[0] in rebound or list(value.uses())]
        for value, path, tensor in sorted(used, key=lambda entry: self.order.get(entry[1], len(self.order))):
            role, persistent = self.roles.get(path, (_engine.InputKind.CONSTANT, False))
            self.builder.add_attribute(handle, path, self.constant(tensor, path), role, persistent)
            read = (value.debugName(), self.type(value.type()))
            (result,) = self.builder.add_node("prim::GetAttr", "", [module], [read], {"name": path}, [], "")
            self.values[value.unique()] = result

    def constant(self, value: Any, name: str) -> Any:
        if self.trace.written and isinstance(value, torch.Tensor) and value.layout is torch.strided:
            value = self.trace.written.get(place_of(value), value)
        return super().constant(value, name)

    def node_attributes(self, node: Any) -> dict[str, Any]:
        attributes = super().node_attributes(node)
        value = node.output().toIValue() if node.kind() == "prim::Constant" and self.trace.written else None
        if isinstance(value, torch.Tensor) and value.layout is torch.strided and place_of(value) in self.trace.written:
            attributes["made_by_run"] = 1
        return attributes

    def node(self, node: Any) -> None:
        if not (self.trace.frozen or self.trace.rebound) or node != self.results:
            super().node(node)
            return
        outputs = list(node.inputs())
        given = len(outputs) - len(self.trace.frozen)
        for value, path in zip(outputs[given - len(self.trace.rebound) : given], self.trace.rebound, strict=True):
            self.builder.add_node("prim::SetAttr", "", [self.module, self.values[value.unique()]], [], {"name": path}, [], "")
        for value, number in zip(outputs[given:], self.trace.frozen, strict=True):
            place = [("", self.root)], stack_trace(number.stack)
            integer = (f"{value.debugName()}.int", self.type(torch._C.IntType.get()))
            added = self.builder.add_node("aten::Int", "Tensor", [self.values[value.unique()]], [integer], {}, *place)
            self.builder.add_node(FROZEN, "", added, [], {"example": int(number.size)}, *place)
        given -= len(self.trace.rebound)
        types = [self.type(value.type()) for value in outputs[:given]]
        result = (node.output().debugName(), self.builder.add_type("Tuple", types, ""))
        values = [self.values[value.unique()] for value in outputs[:given]]
        (self.values[node.output().unique()],) = self.builder.add_node(node.kind(), "", values, [result], {}, self.modules(node), self.stack_trace(node))

    def modules(self, node: Any) -> list[tuple[str, str]]:
        # The nodes of a function that was inlined have none; they follow its constant, which has that of the call.
        self.scope = scope = node.scopeName() or self.scope
        if scope not in self.frames:
            steps = scope.split("/")[1:]
            inner = [self.trace.modules[int(step.partition(".")[0])] for step in steps]
            self.frames[scope] = [("", ""), *inner] if inner else []
            self.steps[scope] = {path: step for (path, _), step in zip(inner, steps)}
        if node.outputsSize():
            self.calls[node.outputsAt(0).debugName()] = self.steps[scope]
        return self.frames[scope]


def import_trace(trace: Trace, graph: Any, functions: PythonFunctions | None) -> _engine.ScriptBuilder:
    walk = _TraceImport(trace, graph, functions)
    inputs = list(graph.inputs())
    given = len(inputs) - len(trace.state)
    walk.state(inputs[given:])
    for value in inputs[:given]:
        walk.input(value)
    return walk.finished()
