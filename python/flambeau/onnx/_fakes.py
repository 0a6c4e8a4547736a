"""Types of an operator's results where nothing recorded them, by the fake implementation that PyTorch has of it."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.utils import _pytree

from .. import _engine
from ..feed.exported_program import dtype_of_code

__all__ = ["fake_results"]

_UNKNOWN_SIZE = 5  # none that is special


def fake_results(call: _engine.OperatorCall) -> list[tuple[torch.dtype, list[int | None]]]:
    """Dtype and sizes of each result, in order; none if the operator has no fake, or an operand no type.

    Sizes are known where those of all operands are.
    """
    name, _, overload = call.op.partition(".")
    space, _, word = name.partition("::")
    if not word or any(not value.ranked or getattr(torch, value.dtype, None) is None for value in call.operands):
        return []
    try:
        operator = getattr(getattr(getattr(torch.ops, space), word), overload or "default")
        with FakeTensorMode():
            operands = [_fake(value) for value in call.operands]
            results = operator(**{key: _argument(given, operands) for key, given in call.arguments})
    except Exception:  # of whatever the operator does, and of what is no operator
        return []
    leaves = _pytree.tree_leaves(results)
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        return []
    static = all(size.isdecimal() for value in call.operands for size in value.sizes)
    return [(leaf.dtype, [size if static else None for size in leaf.shape]) for leaf in leaves]


def _fake(value: _engine.OperatorCallValue) -> torch.Tensor:
    return torch.empty([int(size) if size.isdecimal() else _UNKNOWN_SIZE for size in value.sizes], dtype=getattr(torch, value.dtype))


def _argument(given: Any, operands: list[torch.Tensor]) -> Any:
    if isinstance(given, _engine.Operand):
        return operands[given.index]
    if isinstance(given, _engine.DtypeCode):
        return dtype_of_code(given.code)
    return [_argument(element, operands) for element in given] if isinstance(given, list) else given
