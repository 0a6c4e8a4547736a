"""``torch.nn.attention.bias``: tensors that stand for causal masks, which torch.export cannot make of dynamic sizes."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from ..replaced_functions import replaced_functions

__all__ = ["dense_biases"]

_OF = "torch.nn.attention.bias"


def _from_upper_left(*size: Any) -> torch.Tensor:
    return torch.ones(*size, dtype=torch.bool).tril()


def _from_lower_right(*size: Any) -> torch.Tensor:
    queries, keys = size
    return torch.ones(*size, dtype=torch.bool).tril(keys - queries)


def dense_biases() -> contextlib.AbstractContextManager[None]:
    """While it is open, ``causal_upper_left`` and ``causal_lower_right`` give the masks themselves."""
    return replaced_functions({(_OF, "causal_upper_left"): _from_upper_left, (_OF, "causal_lower_right"): _from_lower_right})
