"""Pieces of a tensor in a trace: as many as there were of the example."""

from __future__ import annotations

from typing import Any

__all__ = ["has_pieces_of_example"]

_CUT = {f"aten::{name}" for name in ("split", "split_copy", "tensor_split", "unbind", "unbind_copy", "unsafe_split")}
_CHUNKS = {"aten::chunk", "aten::unsafe_chunk"}


def has_pieces_of_example(node: Any) -> bool:
    """Whether a prim::ListUnpack takes as many tensors out of a list as operators that cut made of the example.

    One chunk or two that were asked for are what any size gives; of more, a size may give fewer.
    """
    cut = node.inputsAt(0).node()
    return cut.kind() in _CUT or (cut.kind() in _CHUNKS and (node.outputsSize() > 2 or cut.inputsAt(1).toIValue() != node.outputsSize()))
