"""What an ONNX file says of where its nodes come from, and which of its values are those of captured calls."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..saving import reads

if TYPE_CHECKING:
    import onnx

__all__ = ["Call", "all_nodes", "calls_of", "graphs_of", "values_of_calls"]

_SCOPES, _CLASSES, _MERGED = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy", "pkg.flambeau.merged_namespaces"


class Call(NamedTuple):
    """A captured call, as a node names it."""

    module: str
    """The path of its module."""
    operator: str
    """"aten::relu", without overload; in-place forms are not told apart."""
    name: str
    """Its own, in the captured graph."""


def pure(operator: str) -> str:
    """"aten::relu" of "aten::relu_", "aten.relu.default" and "aten::relu.out"."""
    namespace, _, name = operator.replace("::", ".").partition(".")
    name = name.partition(".")[0]
    return f"{namespace}::{name if name.startswith('__') else name.rstrip('_')}"


def calls_of(node: onnx.NodeProto) -> list[Call]:
    """The call that a node comes from, then those that were merged into it."""
    properties = {entry.key: entry.value for entry in node.metadata_props}
    try:
        scopes, classes, merged = (ast.literal_eval(properties.get(key, "[]")) for key in (_SCOPES, _CLASSES, _MERGED))
    except (ValueError, SyntaxError):
        return []
    calls = []
    if scopes and classes:
        calls.append(Call(scopes[-2] if len(scopes) > 1 else "", pure(classes[-1]), scopes[-1]))
    for namespace in merged:
        *modules, call = namespace.split("/")
        name, separator, operator = call.partition(": ")
        if separator:
            calls.append(Call(modules[-1].partition(": ")[0] if modules else "", pure(operator), name))
    return calls


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes in the order in which they would run; those in bodies come behind the one that holds them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                yield from all_nodes(body)


def graphs_of(model: onnx.ModelProto) -> list[onnx.GraphProto]:
    """The main graph and all bodies."""
    return [model.graph, *(attribute.g for node in all_nodes(model.graph) for attribute in node.attribute if attribute.HasField("g"))]


def values_of_calls(graph: onnx.GraphProto, place: Callable[[Call], int | None]) -> dict[str, int]:
    """Values of a graph by name, in its order, each with the place of the call that gives it.

    Args:
        graph: The main graph of a file, or a body.
        place: Where in the program a call is; None if that is not known.
    """
    origins = [calls_of(node) for node in graph.node]
    readers: defaultdict[str, list[list[Call]]] = defaultdict(list)
    for node, calls in zip(graph.node, origins):
        for name in reads(node):
            readers[name].append(calls)
    for output in graph.output:
        readers[output.name].append([])
    found: defaultdict[int, list[str]] = defaultdict(list)
    for node, calls in zip(graph.node, origins):
        places = [place(call) for call in calls]
        if not places or None in places:
            continue
        last = max(each for each in places if each is not None)  # what several became gives what the last of them does
        found[last].extend(name for name in node.output if any(reader != calls for reader in readers[name]))
    # Of a call that became several nodes, the value is what others read.
    return {names[0]: at for at, names in found.items() if len(names) == 1}
