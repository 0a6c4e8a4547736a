"""What is so for every size."""

from __future__ import annotations

import math
from typing import Any

import sympy
from torch.utils._sympy.functions import CleanDiv, FloorDiv, Mod, PythonMod

__all__ = ["INEQUALITIES", "holds"]

INEQUALITIES = (sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge)

_LONGEST_PERIOD = 256


def _period(expression: sympy.Expr) -> int | None:
    """After how many sizes the rounding of quotients repeats; None for what is no line but for rounding."""
    periods: dict[Any, int] = {}
    for node in sympy.postorder_traversal(expression):
        period = math.lcm(*(periods[part] for part in node.args))
        if isinstance(node, (FloorDiv, CleanDiv, Mod, PythonMod)):
            divisor = node.args[1]
            if not divisor.is_Integer or divisor <= 0:
                return None
            period *= int(divisor)
        elif isinstance(node, sympy.Mul):
            if sum(bool(factor.free_symbols) for factor in node.args) > 1:
                return None
        elif not isinstance(node, (sympy.Add, sympy.Symbol, sympy.Integer)):
            return None
        if period > _LONGEST_PERIOD:
            return None
        periods[node] = period
    return periods[expression]


def holds(condition: Any, least: int = 0) -> bool:
    """Whether an inequality is proven for all sizes from this one on: it is so for a period, and the sides do not near each other after it."""
    if condition == sympy.true:
        return True
    if len(condition.free_symbols) != 1 or not isinstance(condition, INEQUALITIES):
        return False
    (symbol,) = condition.free_symbols
    less, more = (condition.lts, condition.gts)
    period = _period(more - less)
    if period is None:
        return False

    def excess(size: int) -> Any:
        return (more - less).subs(symbol, size)

    return all(condition.subs(symbol, size) == sympy.true for size in range(least, least + period)) and bool(excess(least + period) >= excess(least))
