"""Names of dynamic dimensions in an ``onnx_ir`` model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import onnx_ir as ir

__all__ = ["rename_axes"]


def rename_axes(model: ir.Model, names: Mapping[str | ir.SymbolicDim, str]) -> None:
    """Rename dimensions of every value, also inside expressions; all at once, so names may be swapped.

    Raises:
        ValueError: A key is neither a name nor a dimension that has one.
    """
    renamed: dict[str, str] = {}
    for key, name in names.items():
        old = key.value if isinstance(key, ir.SymbolicDim) else key
        if not isinstance(old, str):
            raise ValueError(f"{key!r} is no name of a dimension, and no dimension that has one")
        renamed[old] = name
    if not renamed:
        return
    # A whole expression may be a key, too: the longest fits first.
    words = "|".join(re.escape(old) for old in sorted(renamed, key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)")
    for value in _values(model):
        if value.shape is None or not any(isinstance(dim, ir.SymbolicDim) for dim in value.shape):
            continue
        value.shape = ir.Shape([_renamed(dim, renamed, pattern) for dim in value.shape])


def _renamed(dim: Any, renamed: Mapping[str, str], pattern: re.Pattern[str]) -> Any:
    if not isinstance(dim, ir.SymbolicDim) or dim.value is None:
        return dim
    return pattern.sub(lambda match: renamed[match.group()], dim.value)


def _values(model: ir.Model) -> Iterator[ir.Value]:
    graphs = [model.graph, *(graph for graph in model.graph.subgraphs())]
    for graph in graphs:
        yield from graph.inputs
        yield from graph.initializers.values()
        for node in graph:
            yield from node.outputs
