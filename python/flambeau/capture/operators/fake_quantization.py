"""Operators of quantization-aware training over dynamic sizes: torch knows them for tensors of known sizes only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_impls import op_implementations_dict

__all__ = ["sized_fake_quantization"]

_WITH_MASK = (
    torch.ops.aten.fake_quantize_per_tensor_affine_cachemask.default,
    torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default,
    torch.ops.aten.fake_quantize_per_channel_affine_cachemask.default,
)
_LEARNABLE = (
    torch.ops.aten._fake_quantize_learnable_per_tensor_affine.default,
    torch.ops.aten._fake_quantize_learnable_per_channel_affine.default,
)


def _like_first(mode: Any, func: Any, input: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    with mode:
        return torch.empty_like(input)


def _with_mask(mode: Any, func: Any, input: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
    with mode:
        return torch.empty_like(input), torch.empty_like(input, dtype=torch.bool)


@contextlib.contextmanager
def sized_fake_quantization() -> Iterator[None]:
    """While it is open, what comes out has the sizes of what goes in."""
    added = {**dict.fromkeys(_WITH_MASK, _with_mask), **dict.fromkeys(_LEARNABLE, _like_first)}
    added = {op: infer for op, infer in added.items() if op not in op_implementations_dict}
    op_implementations_dict.update(added)
    try:
        yield
    finally:
        for op in added:
            del op_implementations_dict[op]
