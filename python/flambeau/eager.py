"""Runs PyTorch's models, to see what they give."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.utils import _pytree

__all__ = ["copied", "deeply_copied", "with_the_gradients_it_asks_for"]

_Results = TypeVar("_Results")


def copied(values: Any) -> Any:
    """Arguments or results with copies of their tensors: a model may write to what it is given, and compute gradients of it."""
    return _pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad), values)


def deeply_copied(values: Any) -> Any:
    """The same with copies of whatever else they hold, of which views of one memory stay such.

    What another network has computed with gradients, which `copy.deepcopy` refuses, is a leaf of its own.
    """
    leaves = _pytree.tree_leaves(values)
    computed = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and not leaf.is_leaf]
    return copy.deepcopy(values, {id(tensor): tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in computed})


def with_the_gradients_it_asks_for(run: Callable[[], _Results], *, asks: bool = False) -> _Results:
    """What a run gives without gradients, which take memory; or with them, if the caller has them on and it fails without.

    Args:
        run: Runs the model. It may run twice, and must leave everything as it was.
        asks: Whether the model is known to compute some. Without any it may give something else.
    """
    if asks and torch.is_grad_enabled():
        return run()
    try:
        with torch.no_grad():
            return run()
    except Exception:  # what comes of it that there are no gradients is said in many ways: by torch, and by the model
        if not torch.is_grad_enabled():
            raise
    return run()
