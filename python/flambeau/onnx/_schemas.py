"""What PyTorch's schemas say of an operator."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["result_types"]


def result_types(op: str) -> list[Any] | None:
    """The types of the results of ``domain::name.overload``; None if only its program knows the operator."""
    name, _, overload = op.partition(".")
    try:
        return [each.type for each in torch._C._get_schema(name, overload).returns]
    except (RuntimeError, ValueError):
        return None
