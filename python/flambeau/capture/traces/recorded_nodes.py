"""Nodes of a trace that torch's own passes over it find no operator for, and stop: it takes no bool for a number, and no dtype for a ``view``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

__all__ = ["admit", "restore"]

_UNKNOWN = "(no schema)"
_VIEW, _ADMITTED = "aten::view", "aten::unsqueeze"  # of the same types, and its result is the same memory, too
_OF_BITS = ("aten::__", "aten::bitwise_")
_BOOLS = (torch.tensor(False), torch.tensor(True))
_MARK = "flambeau_view_"


def _kind(value: Any) -> str:
    return value.type().kind()


def _integers_for_bools(node: Any, bools: Sequence[Any]) -> bool:
    """Make integers of as few of these as let the node be an operator."""
    for count in range(1, len(bools) + 1):
        for chosen in itertools.combinations(bools, count):
            for value in chosen:
                value.setType(torch._C.IntType.get())
            if node.schema() != _UNKNOWN:
                return True
            for value in chosen:
                value.setType(torch._C.BoolType.get())
    return False


def _is_bool(value: Any) -> bool:
    return _kind(value) == "TensorType" and value.type().scalarType() == "Bool"


def _tensor_for_bool(graph: Any, node: Any) -> None:
    """What is written in place has to be bools, too."""
    (at,) = (i for i, value in enumerate(node.inputs()) if _kind(value) == "IntType")
    constant = graph.create("prim::Constant", 1)
    constant.t_("value", _BOOLS[node.inputsAt(at).toIValue()])
    constant.output().inferTypeFrom(_BOOLS[0])
    constant.insertBefore(node)
    node.replaceInput(at, constant.output())


def _as_bool(graph: Any, node: Any) -> Any:
    """What the node gives, as the bools that it gave in the run."""
    result = node.output()
    zero = graph.create("prim::Constant", 1)
    zero.i_("value", 0)
    zero.output().setType(torch._C.IntType.get())
    cast = graph.create("aten::ne", [result, zero.output()], 1)
    cast.output().setType(result.type())
    zero.insertAfter(node)
    cast.insertAfter(zero)
    cast.copyMetadata(node)
    result.replaceAllUsesAfterNodeWith(cast, cast.output())
    return cast.output()


def _other(graph: Any, node: Any, kind: str) -> Any:
    """Another node in the place of this one, which is left without uses."""
    other = graph.create(kind, list(node.inputs()), 1)
    other.insertBefore(node)
    other.copyMetadata(node)
    other.output().setType(node.output().type())
    node.output().replaceAllUsesWith(other.output())
    return other.output()


def admit(graph: Any, results: Sequence[Any]) -> bool:
    """Have torch's passes take what was recorded until now.

    Args:
        results: What the trace is to give; tensors among these.

    Returns:
        Whether something is to be restored after the passes.
    """
    replaced: dict[str, Any] = {}
    fits = set[tuple[Any, ...]]()
    for constant in graph.findAllNodes("prim::Constant"):
        if _kind(constant.output()) != "BoolType":
            continue
        for use in constant.output().uses():
            node = use.user
            place = (node.kind(), use.offset, node.inputsSize())
            if place in fits or not node.kind().startswith("aten::"):
                continue
            if node.schema() != _UNKNOWN:
                fits.add(place)
                continue
            bools = [each for each in node.inputs() if _kind(each) == "BoolType"]
            if not _integers_for_bools(node, bools) or node.outputsSize() != 1 or not _is_bool(node.output()):
                continue
            if node.kind().startswith(_OF_BITS):
                _tensor_for_bool(graph, node)
            elif not node.kind().endswith("_"):
                replaced[node.output().debugName()] = _as_bool(graph, node)
    views = [node for node in graph.findAllNodes(_VIEW) if node.inputsSize() == 2 and _kind(node.inputsAt(1)) == "IntType"]
    for node in views:
        replaced[node.output().debugName()] = _other(graph, node, _ADMITTED)
        replaced[node.output().debugName()].setDebugName(f"{_MARK}{node.output().unique()}")
    if replaced:
        for tensor in results:
            if isinstance(tensor, torch.Tensor) and (value := replaced.get(torch._C._get_value_trace(tensor).debugName())) is not None:
                torch._C._set_value_trace(tensor, value)
    for node in views:
        node.destroy()
    return bool(views)


def restore(graph: Any) -> None:
    """The views as they were recorded."""
    for node in graph.findAllNodes(_ADMITTED):
        if node.output().debugName().startswith(_MARK):
            _other(graph, node, _VIEW)
            node.destroy()
