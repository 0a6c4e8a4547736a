"""Flex attention: attention whose scores a function of the places changes, and another masks."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch._higher_order_ops.flex_attention import FlexAttentionHOP

from .replaced_functions import Replacements

__all__ = ["FlexAttentionHOP", "dense_flex_attention"]


def _for_each_place(function: Callable[..., torch.Tensor], before: tuple[int, ...], buffers: int) -> Callable[..., torch.Tensor]:
    """The function, which takes one batch, head, query and key, for all of them.

    Args:
        function: Of tensors without dimensions, and of buffers.
        before: The dimension that goes over the places, of each argument that comes before them.
        buffers: How many there are.
    """
    for axis in reversed(range(4)):
        places = tuple(0 if axis == other else None for other in range(4))
        function = torch.vmap(function, in_dims=(*before, *places, *(None,) * buffers))
    return function


def _dense(
    self: FlexAttentionHOP,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., torch.Tensor],
    block_mask: tuple[Any, ...],
    scale: float,
    kernel_options: dict[str, Any],
    score_mod_other_buffers: tuple[Any, ...] = (),
    mask_mod_other_buffers: tuple[Any, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """As PyTorch defines the operator: (the result, by logarithms of 2 that of the sum and the maximum of each row).

    The blocks of a mask only say where there is nothing to compute; its function, the last of the tuple, says it of each place.
    """
    dtype = torch.float64 if query.dtype is torch.float64 else torch.float32
    batch, heads = query.shape[:2]
    of_heads = [each if each.shape[1] == heads else each.repeat_interleave(heads // each.shape[1], 1) for each in (key, value)]
    key, value = (each.expand(batch, *each.shape[1:]) for each in of_heads)
    scores = query.to(dtype) @ key.to(dtype).mT * scale
    places = [torch.arange(size, device=scores.device) for size in scores.shape]
    with TransformGetItemToIndex():  # functions may read a table at a place
        changed = _for_each_place(score_mod, (0,), len(score_mod_other_buffers))(scores, *places, *score_mod_other_buffers)
        seen = _for_each_place(block_mask[-1], (), len(mask_mod_other_buffers))(*places, *mask_mod_other_buffers)
    changed = torch.where(seen, changed.to(dtype), -math.inf)
    most = changed.amax(-1)
    total = torch.where(most == -math.inf, -math.inf, changed.logsumexp(-1))
    result = torch._safe_softmax(changed, -1).to(query.dtype) @ value.to(query.dtype)
    return result, total / math.log(2), most / math.log(2)


@contextlib.contextmanager
def dense_flex_attention() -> Iterator[None]:
    """While it is open, flex attention computes all scores, by ordinary operators; torch would compile it, and refuses gradients."""
    with Replacements() as replacements:
        replacements.set(FlexAttentionHOP, "__call__", _dense)
        if (module := sys.modules.get("torch.nn.attention.flex_attention")) is not None:
            replacements.set(module, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
            replacements.set(module, "_validate_device", lambda query, key, value: None)
        yield
