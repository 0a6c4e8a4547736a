"""Conditions on sizes, told as the bound of a size that they are: ``4 * min(32, n) // n = 4`` is ``n ≤ 32``."""

from __future__ import annotations

from typing import Any

import sympy
from torch.utils._sympy.functions import FloorDiv, Max, Min

from .proofs import INEQUALITIES, holds

__all__ = ["as_bound"]

_OF_EQUATIONS = {(sympy.Eq, Min): sympy.Ge, (sympy.Eq, Max): sympy.Le, (sympy.Ne, Min): sympy.Lt, (sympy.Ne, Max): sympy.Gt}


def as_bound(condition: Any) -> Any:
    """The condition as a bound, if it is one; true where it always holds, of sizes from 2 on."""
    bound = condition
    for told in (_without_factor, _of_quotient_by_itself, _of_equation, _of_extreme, _of_quotient):
        bound = told(bound)
    turned = bound != condition and isinstance(bound, INEQUALITIES) and bound.lhs.is_number
    return bound.reversed if turned else bound


def _without_factor(condition: Any) -> Any:
    """Without a number by which both sides are multiplied."""
    if len(condition.args) != 2 or not all(isinstance(side, sympy.Expr) for side in condition.args):
        return condition
    (factor, one), (other_factor, other) = (side.as_coeff_Mul() for side in condition.args)
    same = factor == other_factor and factor.is_Integer and factor > 1
    return condition.func(one, other) if same and not (one.is_number or other.is_number) else condition


def _of_quotient_by_itself(condition: Any) -> Any:
    """``4 * min(32, n) // n``, which is no more than 4, and 4 where the minimum is n."""
    for quotient, number in (condition.args, condition.args[::-1]) if isinstance(condition, (sympy.Eq, sympy.Ne, *INEQUALITIES)) else ():
        if not isinstance(quotient, FloorDiv) or not number.is_Integer or number < 1:
            continue
        factor, least = quotient.args[0].as_coeff_Mul()
        size = quotient.args[1]
        if factor != number or not isinstance(least, Min) or len(least.args) != 2 or size not in least.args:
            continue
        (other,) = set(least.args) - {size}
        if isinstance(condition, sympy.Eq) or (isinstance(condition, (sympy.Ge, sympy.Le)) and condition.gts == quotient):
            return sympy.Le(size, other)
        if isinstance(condition, sympy.Ne) or (isinstance(condition, (sympy.Gt, sympy.Lt)) and condition.lts == quotient):
            return sympy.Gt(size, other)
    return condition


def _of_equation(condition: Any) -> Any:
    """Whether a minimum or maximum is one of its sides: ``min(3, rows) = 3`` is ``rows ≥ 3``, ``min(3, rows) ≠ 3`` is ``rows < 3``."""
    for extreme, side in (condition.args, condition.args[::-1]) if isinstance(condition, (sympy.Eq, sympy.Ne)) else ():
        if isinstance(extreme, (Min, Max)) and len(extreme.args) == 2 and side in extreme.args:
            (other,) = set(extreme.args) - {side}
            return _OF_EQUATIONS[type(condition), type(extreme)](other, side)
    return condition


def _of_extreme(condition: Any) -> Any:
    """``min(32, n) ≥ n``, and its like, without the sides of which it is so anyway, or never."""
    if not isinstance(condition, INEQUALITIES):
        return condition
    greater, less = condition.gts, condition.lts
    relation = sympy.Gt if isinstance(condition, (sympy.Lt, sympy.Gt)) else sympy.Ge
    if isinstance(greater, (Min, Max)):
        parts, all_hold = [relation(part, less) for part in greater.args], isinstance(greater, Min)
    elif isinstance(less, (Min, Max)):
        parts, all_hold = [relation(greater, part) for part in less.args], isinstance(less, Max)
    else:
        return condition
    proven = [part == sympy.true or holds(part, 2) for part in parts]
    open_parts = [part for part, known in zip(parts, proven) if not known and part != sympy.false]
    if all(proven) or (any(proven) and not all_hold):
        return sympy.true
    if len(open_parts) != 1 or (all_hold and sympy.false in parts):
        return condition
    return open_parts[0]


def _of_quotient(condition: Any) -> Any:
    """``(n + 7) // 8 > 1`` is ``n ≥ 9``."""
    if not isinstance(condition, INEQUALITIES):
        return condition
    at_least = condition.lts.is_Integer
    quotient, number = (condition.gts, condition.lts) if at_least else (condition.lts, condition.gts)
    if not number.is_Integer or not isinstance(quotient, FloorDiv):
        return condition
    strict = isinstance(condition, (sympy.Lt, sympy.Gt))
    bound = int(number) + (1 if at_least else -1) * strict
    size = quotient
    while not size.is_Symbol:
        if isinstance(size, FloorDiv) and size.args[1].is_Integer and size.args[1] > 0:
            size, divisor = size.args[0], int(size.args[1])
            bound = bound * divisor if at_least else bound * divisor + divisor - 1
            continue
        more, rest = size.as_coeff_Add()
        factor, part = rest.as_coeff_Mul()
        if not (more.is_Integer and factor.is_Integer and factor > 0) or part == size:
            return condition
        bound -= int(more)
        size, bound = part, -(-bound // int(factor)) if at_least else bound // int(factor)
    return sympy.Ge(size, bound) if at_least else sympy.Le(size, bound)
