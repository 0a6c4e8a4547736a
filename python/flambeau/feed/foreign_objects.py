"""What objects hold whose classes only an archive defines.

torch makes no Python objects of those: small programs read them, step by step from a module that has them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["Place"]

_Step = Callable[[Any, Any], Any]
"""Of a graph and a value of it: what is made of the value there."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Something that a module holds, inside of lists, dicts and objects of its own."""

    owner: torch._C.ScriptModule
    steps: tuple[_Step, ...] = ()

    def attribute(self, name: str, type_: Any) -> Place:
        def step(graph: Any, value: Any) -> Any:
            node = graph.insertNode(graph.create("prim::GetAttr", [value], 1))
            node.s_("name", name)
            return _typed(node, type_)

        return self._with(step)

    def entry(self, key: Any, type_: Any) -> Place:
        """Of a dict, or of a list."""
        return self._with(lambda graph, value: _typed(_call(graph, "aten::__getitem__", value, key), type_))

    def field(self, position: int, type_: Any) -> Place:
        """Of a tuple."""
        return self._with(lambda graph, value: _typed(_call(graph, "prim::TupleIndex", value, position), type_))

    def present(self, type_: Any) -> Place:
        """Of an Optional that is something."""
        return self._with(lambda graph, value: _typed(graph.insertNode(graph.create("prim::unchecked_cast", [value], 1)), type_))

    def is_none(self) -> bool:
        return self._with(lambda graph, value: _typed(_call(graph, "aten::__is__", value, None), torch._C.BoolType.get())).value()

    def keys(self, type_: Any) -> list[Any]:
        return self._with(lambda graph, value: _typed(_call(graph, "aten::keys", value), torch._C.ListType(type_))).value()

    def length(self) -> int:
        return self._with(lambda graph, value: _typed(_call(graph, "aten::len", value), torch._C.IntType.get())).value()

    def value(self) -> Any:
        """As Python has it.

        Raises:
            RuntimeError: It holds objects.
        """
        graph = torch._C.Graph()
        value = graph.addInput("owner")
        value.setType(self.owner._type())
        for step in self.steps:
            value = step(graph, value)
        graph.registerOutput(value)
        return torch._C._create_function_from_graph("value", graph)(self.owner)

    def _with(self, step: _Step) -> Place:
        return Place(self.owner, (*self.steps, step))


def _call(graph: Any, kind: str, value: Any, *constants: Any) -> Any:
    return graph.insertNode(graph.create(kind, [value, *(graph.insertConstant(each) for each in constants)], 1))


def _typed(node: Any, type_: Any) -> Any:
    node.output().setType(type_)
    return node.output()
