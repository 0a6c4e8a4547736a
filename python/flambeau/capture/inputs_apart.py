"""Inputs of which a model changes the shape in place: ``x.unsqueeze_(1)``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree

__all__ = ["inputs_apart"]


def _view(leaf: Any) -> Any:
    return torch.ops.aten.alias.default(leaf) if isinstance(leaf, torch.Tensor) else leaf


@contextlib.contextmanager
def inputs_apart(model: torch.nn.Module) -> Iterator[None]:
    """While it is open, the model gets views of its inputs: the inputs keep the shapes that they have, and what is written reaches them."""
    hook = model.register_forward_pre_hook(lambda _, args, kwargs: _pytree.tree_map(_view, (args, kwargs)), with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()
