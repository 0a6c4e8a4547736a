"""Runs PyTorch's models, to see what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

__all__ = ["with_the_gradients_it_asks_for"]

_Results = TypeVar("_Results")


def with_the_gradients_it_asks_for(run: Callable[[], _Results], *, asks: bool = False) -> _Results:
    """What a run gives without gradients, which take memory; or with them, if the caller has them on and the model computes some itself.

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
