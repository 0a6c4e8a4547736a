"""Runs the bodies of a file's ``If``, ``Loop`` and ``Scan`` nodes by themselves, one run after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import onnx
import torch

from ..saving import with_outputs
from ..session import Session, cpu_session

__all__ = ["HOLDERS", "Bodies", "Run"]

HOLDERS = frozenset({"If", "Loop", "Scan"})
"""The operators of ONNX that have bodies."""

Compute = Callable[[list[str]], Sequence[Any]]
"""Gives values of a graph by their names."""

_ELEMENTS = {"float32": "FLOAT", "float64": "DOUBLE"}  # others are called as in torch


class Bodies:
    """The bodies of a model's nodes."""

    def __init__(self, model: onnx.ModelProto, folder: str | os.PathLike = "") -> None:
        """
        Args:
            model: The model.
            folder: Where it has its external data.
        """
        self._model, self._folder = model, folder
        self._sessions: dict[tuple[Any, ...], Session] = {}

    def runs(self, node: onnx.NodeProto, compute: Compute) -> Iterator[Run]:
        """Each run of a body of the node, in order.

        Args:
            node: The node.
            compute: Gives values of the graph that the node is in.

        Raises:
            TypeError: A value that a body reads is a list or an optional.
            Exception: Of onnxruntime.
        """
        attributes = {attribute.name: attribute for attribute in node.attribute}
        graphs = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
        wanted = sorted({name for name in node.input if name}.union(*map(_outer_names, graphs)))
        known = dict(zip(wanted, compute(wanted), strict=True))
        if node.op_type == "If":
            taken = bool(known[node.input[0]])
            yield self._run(attributes["then_branch" if taken else "else_branch"].g, known, {}, taken=taken)
        elif node.op_type == "Loop":
            yield from self._loop(attributes["body"].g, node.input, known)
        else:
            yield from self._scan(attributes, node.input, known)

    def _loop(self, body: onnx.GraphProto, inputs: Sequence[str], known: dict[str, Any]) -> Iterator[Run]:
        limit = int(known[inputs[0]]) if inputs[0] else None
        again = bool(known[inputs[1]]) if len(inputs) > 1 and inputs[1] else True
        carried = [known[name] for name in inputs[2:]]
        trip = 0
        while again and (limit is None or trip < limit):
            given = [_like(body.input[0], trip, torch.int64), _like(body.input[1], True, torch.bool), *carried]
            run = self._run(body, known, dict(zip((each.name for each in body.input), given, strict=True)))
            yield run
            again, *carried = run.compute([output.name for output in body.output[: 1 + len(carried)]])
            again, trip = bool(again), trip + 1

    def _scan(self, attributes: dict[str, onnx.AttributeProto], inputs: Sequence[str], known: dict[str, Any]) -> Iterator[Run]:
        body, count = attributes["body"].g, attributes["num_scan_inputs"].i

        def of_each(name: str) -> Sequence[int]:
            return attributes[name].ints if name in attributes else [0] * count

        carried = [known[name] for name in inputs[: len(inputs) - count]]
        rows = [known[name].unbind(axis) for name, axis in zip(inputs[len(inputs) - count :], of_each("scan_input_axes"))]
        rows = [each[::-1] if backwards else each for each, backwards in zip(rows, of_each("scan_input_directions"))]
        for given in zip(*rows):
            run = self._run(body, known, dict(zip((each.name for each in body.input), [*carried, *given], strict=True)))
            yield run
            carried = list(run.compute([output.name for output in body.output[: len(carried)]]))

    def _run(self, body: onnx.GraphProto, known: dict[str, Any], inputs: dict[str, Any], *, taken: bool | None = None) -> Run:
        values = {**{name: known[name] for name in sorted(_outer_names(body))}, **inputs}
        if odd := [name for name, value in values.items() if not isinstance(value, torch.Tensor)]:
            raise TypeError(f"'{odd[0]}' is no tensor")
        return Run(self, body, values, taken)

    def session(self, graph: onnx.GraphProto, values: dict[str, Any], outputs: Sequence[str]) -> Session:
        """A session of the body, with what it reads of the graphs around it as further inputs."""
        types = tuple((name, _word(value)) for name, value in values.items())
        key = id(graph), types, tuple(outputs)
        if key not in self._sessions:
            alone = onnx.ModelProto(ir_version=self._model.ir_version, opset_import=self._model.opset_import)
            alone.functions.extend(self._model.functions)
            alone.graph.CopyFrom(graph)
            del alone.graph.input[:]
            alone.graph.input.extend(_declared(name, value) for name, value in values.items())
            self._sessions[key] = Session(cpu_session(with_outputs(alone, outputs), self._folder), types)
        return self._sessions[key]


class Run:
    """One run of a body.

    Attributes:
        graph: The body.
        taken: Of a branch, whether the condition held.
    """

    def __init__(self, bodies: Bodies, graph: onnx.GraphProto, values: dict[str, Any], taken: bool | None) -> None:
        self.graph, self.taken = graph, taken
        self._bodies, self._values = bodies, values

    def compute(self, names: Sequence[str]) -> tuple[Any, ...]:
        """Values of the body by their names, also those that it only reads."""
        made = list(dict.fromkeys(name for name in names if name not in self._values))
        results = dict(self._values)
        if made:
            results |= zip(made, self._bodies.session(self.graph, self._values, made).run(list(self._values.values())), strict=True)
        return tuple(results[name] for name in names)


def _outer_names(graph: onnx.GraphProto) -> set[str]:
    """Values of the graphs around a body that it reads."""
    read = {output.name for output in graph.output}
    for node in graph.node:
        read.update(node.input)
        for attribute in node.attribute:
            for inner in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                read |= _outer_names(inner)
    own = {name for node in graph.node for name in node.output}
    own.update(value.name for value in (*graph.input, *graph.initializer))
    return read - own - {""}


def _like(declared: onnx.ValueInfoProto, value: Any, dtype: torch.dtype) -> torch.Tensor:
    """A number as the tensor of no dimension, or of one, that an input is declared as."""
    return torch.full([1] * len(declared.type.tensor_type.shape.dim), value, dtype=dtype)


def _word(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _declared(name: str, value: Any) -> onnx.ValueInfoProto:
    word = _word(value)
    element = onnx.TensorProto.DataType.Value(_ELEMENTS.get(word, word.upper().replace("_", "")))
    return onnx.helper.make_tensor_value_info(name, element, None)
