"""``F.grouped_mm`` of floats that only the CPU multiplies by groups: torch.export knows the shapes of bfloat16 ones."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any

import torch

from ..replaced_functions import replaced_functions

__all__ = ["grouped_products"]

_OF, _NAME = "torch._meta_registrations", "_meta_grouped_mm_common"


def grouped_products() -> contextlib.AbstractContextManager[None]:
    """While it is open, products of groups may be of any floats, as PyTorch's on the CPU."""
    registrations = sys.modules[_OF]
    if not hasattr(registrations, _NAME):  # torch before 2.8
        return contextlib.nullcontext()
    own = getattr(registrations, _NAME)

    @functools.wraps(own)
    def describe(mat_a: torch.Tensor, mat_b: torch.Tensor, scale_a: Any, scale_b: Any, offs: Any = None, bias: Any = None, *args: Any, **kwargs: Any) -> Any:
        of_bytes = scale_a is not None or scale_b is not None
        if of_bytes or bias is not None or mat_a.dtype is torch.bfloat16 or mat_a.dtype is not mat_b.dtype or not mat_a.is_floating_point():
            return own(mat_a, mat_b, scale_a, scale_b, offs, bias, *args, **kwargs)
        groups = 2 in (mat_a.dim(), mat_b.dim())
        torch._check(groups == (offs is not None), lambda: "'offs' says where the groups of a matrix end, and batches have none")
        if mat_a.dim() == mat_b.dim() == 2:
            return mat_a.new_empty(offs.shape[0], mat_a.shape[0], mat_b.shape[1], dtype=kwargs.get("out_dtype"))
        torch._check(mat_a.shape[-1] == mat_b.shape[-2], lambda: "the inner dimensions of 'mat_a' and 'mat_b' differ")
        batch = () if groups else mat_a.shape[:1]
        return mat_a.new_empty(*batch, mat_a.shape[-2], mat_b.shape[-1], dtype=kwargs.get("out_dtype"))

    return replaced_functions({(_OF, _NAME): describe})
