"""Sizes of 1 in the example that the model squeezes, and the captured program does not: they are of dynamic dimensions."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram

from ..assumptions import sizes_of
from .proofs import at

__all__ = ["kept_ones"]

_SQUEEZES = (torch.ops.aten.squeeze, torch.ops.aten.squeeze_, torch.ops.aten.squeeze_copy)


def kept_ones(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.fx.Node]:
    """The nodes that give more dimensions than PyTorch does for the example."""
    sizes = sizes_of(exported, args, kwargs)
    if not sizes:
        return []
    graphs = [module.graph for module in exported.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    called = (node for graph in graphs for node in graph.nodes if getattr(node.target, "overloadpacket", None) in _SQUEEZES)
    return [node for node in called if _keeps(node, sizes)]


def _keeps(node: torch.fx.Node, sizes: Any) -> bool:
    operand, *dims = node.args
    before, after = (each.meta.get("val") if isinstance(each, torch.fx.Node) else None for each in (operand, node))
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        return False
    named = range(before.ndim) if not dims else dims[0] if isinstance(dims[0], (list, tuple)) else [dims[0]]
    ones = {dim % before.ndim for dim in named if before.ndim and _number(before.shape[dim], sizes) == 1}
    return after.ndim > before.ndim - len(ones)


def _number(size: Any, sizes: Any) -> Any:
    return at(size.node.expr, sizes) if isinstance(size, torch.SymInt) else size
