"""What stands for a tensor in the graph that torch.export is capturing."""

from __future__ import annotations

import torch
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot

__all__ = ["node_of"]


def node_of(tensor: torch.Tensor) -> torch.fx.Node | None:
    """The node that gives it; None where nothing is captured, or none gives it."""
    mode = get_proxy_mode()
    if mode is None:
        return None
    traced = tensor.from_functional() if isinstance(tensor, FunctionalTensor) else tensor
    node = get_proxy_slot(traced, mode.tracer, None, lambda made: made.proxy.node)  # type: ignore[arg-type]
    return node if isinstance(node, torch.fx.Node) else None
