"""Questions of a script about how an argument lies in memory, which no input of an ONNX model tells: its elements lie in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree

from ..errors import warn

__all__ = ["warn_of_memory_questions"]

_ASKING = ("aten::is_contiguous", "aten::is_non_overlapping_and_dense", "aten::storage_offset", "aten::stride")

_PLACE = re.compile(r'File "(?:[^"]*[/\\])?([^"/\\]+)", line (\d+)')


def _lines(graph: Any) -> Iterator[str]:
    for kind in _ASKING:
        for node in graph.findAllNodes(kind):
            found = _PLACE.findall(node.sourceRange())
            yield ":".join(found[-1]) if found else ""


def warn_of_memory_questions(graph: Any, examples: Any) -> None:
    """Warn of each line that asks, where a tensor of the example lies otherwise."""
    tensors = (each for each in _pytree.tree_leaves(examples) if isinstance(each, torch.Tensor) and each.layout is torch.strided)
    if all(each.is_contiguous() for each in tensors):
        return
    for line in dict.fromkeys(_lines(graph)):
        warn(
            f"the model asks how a tensor lies in memory{f' ({line})' if line else ''}, and an example is not contiguous: the ONNX model's inputs are,"
            " so that it may take another path than PyTorch does for the example"
        )
