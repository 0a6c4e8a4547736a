"""What differs between two ONNX models."""

from __future__ import annotations

import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from .errors import OnnxExporterError

__all__ = ["diff_models"]


def diff_models(a: str | os.PathLike | ir.Model, b: str | os.PathLike | ir.Model) -> list[str]:
    """One line a difference: interface, opsets, operators by module (how many, their attributes and inputs), weights, metadata. Empty if there is none."""
    first, second = _load(a), _load(b)
    return [
        *_of_mappings("opset", dict(first.graph.opset_imports), dict(second.graph.opset_imports)),
        *_of_mappings("input", _types(first.graph.inputs), _types(second.graph.inputs)),
        *_of_mappings("output", _types(first.graph.outputs), _types(second.graph.outputs)),
        *_of_operators(first, second),
        *_of_weights(first, second),
        *_of_mappings("metadata", first.metadata_props, second.metadata_props),
        *_of_mappings("graph metadata", first.graph.metadata_props, second.graph.metadata_props),
    ]


def _load(model: str | os.PathLike | ir.Model) -> ir.Model:
    if isinstance(model, ir.Model):
        return model
    try:
        return ir.load(model)
    except OSError:
        raise
    except Exception as error:
        raise OnnxExporterError(f"{os.fspath(model)} is no ONNX model: {error}") from error


def _types(values: Any) -> dict[str, str]:
    return {value.name: f"{value.dtype}{value.shape if value.shape is not None else '[…]'}" for value in values}


def _of_mappings(what: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*a, *b}):
        name = f"{what} {key!r}"
        if key not in b:
            yield f"{name}: only in the first ({a[key]})"
        elif key not in a:
            yield f"{name}: only in the second ({b[key]})"
        elif a[key] != b[key]:
            yield f"{name}: {a[key]} / {b[key]}"


def _module_of(node: ir.Node) -> str:
    """The innermost module of a node: the last but one part of its namespace."""
    parts = node.metadata_props.get("namespace", "").rsplit("/", 2)
    return parts[-2].strip(": ") if len(parts) > 1 else ""


class _Nodes:
    """The nodes of one operator in one module, each by what sets it apart."""

    def __init__(self) -> None:
        self.count = 0
        self.attributes: Counter[str] = Counter()
        self.inputs: Counter[str] = Counter()


def _operators(model: ir.Model) -> defaultdict[tuple[str, str], _Nodes]:
    found: defaultdict[tuple[str, str], _Nodes] = defaultdict(_Nodes)
    places = [("", model.graph.all_nodes())]
    places += [(f"function {function.domain}::{function.name}", function.all_nodes()) for function in model.functions.values()]
    for place, nodes in places:
        for node in nodes:
            each = found[place or _module_of(node), _name_of(node)]
            each.count += 1
            each.attributes[", ".join(f"{name}={_text_of(value)}" for name, value in sorted(node.attributes.items()))] += 1
            each.inputs[", ".join(map(_origin_of, node.inputs))] += 1
    return found


def _name_of(node: ir.Node) -> str:
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


def _text_of(attribute: ir.Attr) -> str:
    if attribute.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
        return "{…}"  # its nodes are compared themselves
    if attribute.type == ir.AttributeType.TENSOR:
        tensor = attribute.value
        return f"{tensor.dtype}{tensor.shape} #{zlib.crc32(tensor.tobytes()):08x}"
    return str(attribute.value)


def _origin_of(value: ir.Value | None) -> str:
    """What an operand comes from, in words that do not depend on how values are named."""
    if value is None:
        return "nothing"
    if (producer := value.producer()) is not None:
        return _name_of(producer) if len(producer.outputs) == 1 else f"{_name_of(producer)}[{value.index()}]"
    return f"input {value.name}" if value.is_graph_input() and not value.is_initializer() else "a weight"


def _of_operators(first: ir.Model, second: ir.Model) -> Iterator[str]:
    a, b = _operators(first), _operators(second)
    for module, op in sorted({*a, *b}):
        ours, theirs = a[module, op], b[module, op]
        where = f"{op} in module {module or '(model)'!r}"
        if ours.count != theirs.count:
            yield f"nodes {where}: {ours.count} / {theirs.count}"
        elif ours.attributes != theirs.attributes:
            yield f"attributes of {where}: {_apart(ours.attributes, theirs.attributes)}"
        elif ours.inputs != theirs.inputs:
            yield f"inputs of {where}: {_apart(ours.inputs, theirs.inputs)}"


def _apart(a: Counter[str], b: Counter[str]) -> str:
    return " / ".join("; ".join(f"({text})" for text in sorted(one - other)) for one, other in ((a, b), (b, a)))


def _of_weights(first: ir.Model, second: ir.Model) -> Iterator[str]:
    a, b = first.graph.initializers, second.graph.initializers
    for name in sorted({*a, *b}):
        if name not in b or name not in a:
            yield f"weight {name!r}: only in the {'first' if name in a else 'second'}"
            continue
        ours, theirs = a[name].const_value, b[name].const_value
        if ours is None or theirs is None:
            if ours is not theirs:
                yield f"weight {name!r}: without bytes in the {'first' if ours is None else 'second'}"
        elif (ours.dtype, tuple(ours.shape)) != (theirs.dtype, tuple(theirs.shape)):
            yield f"weight {name!r}: {ours.dtype}{ours.shape} / {theirs.dtype}{theirs.shape}"
        elif ours.tobytes() != theirs.tobytes():
            yield f"weight {name!r}: {_distance(ours, theirs)}"


def _distance(a: ir.TensorProtocol, b: ir.TensorProtocol) -> str:
    first, second = a.numpy(), b.numpy()
    if first.dtype.kind in "OSUV":
        return "other bytes"
    apart = np.abs(first.astype(np.float64) - second.astype(np.float64))
    return f"largest difference {np.nanmax(apart):.3g}, in {int((apart != 0).sum())} of {apart.size} elements"
