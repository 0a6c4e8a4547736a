"""Sizes that are tensors to torch's tracer, and numbers to the model."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import torch

__all__ = ["OF_FLOATS", "is_size", "number_of_sizes"]

_SIZE = "prim::NumToTensor"
OF_FLOATS = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1") + (
    ("lgamma", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh")
)
"""Functions of :mod:`math` that torch has by the same names."""
_ARITHMETIC = {
    f"aten::{name}"
    for name in ("abs", "add", "atan2", "ceil", "copysign", "deg2rad", "div", "floor", "floor_divide", "fmod", "frexp", "gcd", "lcm", "log", "maximum")
    + ("minimum", "mul", "neg", "pow", "rad2deg", "reciprocal", "remainder", "round", "rsub", "sub", "to", "trunc", *OF_FLOATS)
}
_COMPARISONS = {f"aten::{name}" for name in ("eq", "ge", "gt", "le", "lt", "ne")}


def number_of_sizes(tensor: torch.Tensor) -> type | None:
    """The type of Python's that a size has, or what is computed of sizes, which is a tensor to torch's tracer; None for other tensors."""
    if not _is_made_of_sizes(tensor, _ARITHMETIC | _COMPARISONS):
        return None
    return bool if tensor.dtype is torch.bool else float if tensor.is_floating_point() else int


def _is_made_of_sizes(tensor: torch.Tensor, computed: Set[str] = _ARITHMETIC) -> bool:
    if tensor.ndim or torch._C._get_tracing_state() is None:
        return False
    pending, seen, found = [torch._C._get_value_trace(tensor)], set[str](), False
    while pending:
        value = pending.pop()
        if value.debugName() in seen:
            continue
        seen.add(value.debugName())
        node = value.node()
        if node.kind() == _SIZE:
            found = True
        elif node.kind() in computed:
            pending += node.inputs()
        elif node.kind() != "prim::Constant":
            return False
    return found


def is_size(value: Any) -> bool:
    """Whether it is a size, or computed of sizes, as torch's tracer has them."""
    return isinstance(value, torch.Tensor) and _is_made_of_sizes(value)
