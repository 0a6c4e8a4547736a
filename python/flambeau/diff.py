"""What differs between two ONNX models."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from .errors import OnnxExporterError

__all__ = ["diff_models"]


def diff_models(a: str | os.PathLike | ir.Model, b: str | os.PathLike | ir.Model) -> list[str]:
    """One line a difference: interface, opsets, operators by module, weights, metadata. Empty if there is none."""
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


def _operators(model: ir.Model) -> Counter[tuple[str, str]]:
    return Counter((_module_of(node), f"{node.domain}::{node.op_type}" if node.domain else node.op_type) for node in model.graph.all_nodes())


def _of_operators(first: ir.Model, second: ir.Model) -> Iterator[str]:
    a, b = _operators(first), _operators(second)
    for module, op in sorted({*a, *b}):
        counts = a[module, op], b[module, op]
        if counts[0] != counts[1]:
            yield f"nodes {op} in module {module or '(model)'!r}: {counts[0]} / {counts[1]}"


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
