"""Whether values, and types of tensors, are the same whatever the sizes are."""

from __future__ import annotations

from typing import Any

import sympy
import torch

from ..sizes.proofs import expression_of

__all__ = ["fixed", "memory_of", "same_type"]


def fixed(first: Any, second: Any) -> bool:
    """Whether two values that are no tensors are the same in any case."""
    if any(isinstance(each, (torch.SymInt, sympy.Expr)) for each in (first, second)):
        return bool(expression_of(first) == expression_of(second))
    if first is second:
        return True
    return type(first) is type(second) and isinstance(first, (int, float, str, bool, torch.dtype, torch.device)) and repr(first) == repr(second)


def same_type(first: torch.Tensor, second: torch.Tensor) -> bool:
    return (
        first.dtype == second.dtype
        and first.ndim == second.ndim
        and all(fixed(a, b) for a, b in zip(first.shape, second.shape))
    )


def memory_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
