"""What PyTorch's schemas say of an operator."""

from __future__ import annotations

import math
from typing import Any

import torch

__all__ = ["most_results", "result_types"]


def result_types(op: str) -> list[Any] | None:
    """The types of the results of ``domain::name.overload``; None if only its program knows the operator."""
    schema = _schema_of(op)
    return None if schema is None else [each.type for each in schema.returns]


def most_results(op: str) -> float:
    """How many values a translation may give: the results, and what becomes of each argument that the operator writes."""
    schema = _schema_of(op)
    if schema is None or any(isinstance(each.type, torch._C.ListType) for each in schema.returns):
        return math.inf
    return len(schema.returns) + sum(each.alias_info is not None and each.alias_info.is_write for each in schema.arguments)


def _schema_of(op: str) -> Any:
    name, _, overload = op.partition(".")
    try:
        return torch._C._get_schema(name, overload)
    except (RuntimeError, ValueError):
        return None
