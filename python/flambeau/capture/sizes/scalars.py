"""Numbers that sizes went into, in tensors of no dimensions: what they are as expressions of the sizes, and how far PyTorch's differ.

PyTorch rounds to float32 what it divides, and an expression of sizes is not rounded. Only such numbers are followed with which that makes
no difference where they are used, as long as numerators and denominators are below 2**22:

- fractions over small powers of 2, which float32 has;
- a quotient of two of these, to which at most two such numbers are added. Rounding moves it by less than the reciprocal of its
  denominator, so it does not come to the other side of an integer, nor of a fraction of the first kind: `ceil`, `floor`, a
  cast to integers and a comparison give what they give for the quotient itself.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Mapping, Set
from typing import Any

import torch

__all__ = ["CASTS", "DTYPES", "RULES", "Number", "constant", "converted"]

_MOST_PLACES = 8
_MOST_ROUNDINGS = 3
_MOST_OPERATIONS = 32
_LARGEST = 2**22

_Value = Any  # int, float or bool, or a symbol for one


@dataclasses.dataclass(frozen=True)
class Number:
    value: _Value
    names: Set[str] = frozenset()
    """Of the buffers behind it."""
    places: int = 0
    """Binary ones: what is added to the quotient, or the number itself, is a multiple of ``2**-places``."""
    roundings: int = 0
    """How often PyTorch rounds to get it, at most; 0 for what it has exactly."""
    operations: int = 0
    """In the expression, where those of a number that is used twice count twice: expressions do not share parts."""


_Rule = Callable[..., "Number | None"]


def constant(value: bool | int | float, names: Set[str] = frozenset()) -> Number | None:
    """A number of the model; None for one that is no fraction over a small power of 2."""
    for places in range(_MOST_PLACES + 1):
        numerator = value * 2**places
        if abs(numerator) < _LARGEST and numerator == int(numerator):
            return Number(value, names, places)
    return None


def _number(value: _Value, *operands: Number, places: int = 0, roundings: int = 0) -> Number | None:
    operations = 1 + sum(each.operations for each in operands)
    if places > _MOST_PLACES or roundings > _MOST_ROUNDINGS or operations > _MOST_OPERATIONS:
        return None
    return Number(value, frozenset().union(*(each.names for each in operands)), places, roundings, operations)


def _again(roundings: int) -> int:
    """Of a number that is rounded once more if it was."""
    return roundings and roundings + 1


def _sum(compute: Callable[..., _Value]) -> _Rule:
    def rule(a: Number, b: Number) -> Number | None:
        if a.roundings and b.roundings:
            return None
        return _number(
            compute(a.value, b.value), a, b, places=max(a.places, b.places), roundings=_again(a.roundings + b.roundings)
        )

    return rule


def _product(a: Number, b: Number) -> Number | None:
    return None if a.roundings or b.roundings else _number(a.value * b.value, a, b, places=a.places + b.places)


def _quotient(a: Number, b: Number, *, rounding_mode: str | None = None) -> Number | None:
    if a.roundings or b.roundings:
        return None
    if rounding_mode is not None:
        return _number(a.value // b.value if rounding_mode == "floor" else math.trunc(a.value / b.value), a, b)
    if isinstance(b.value, (int, float)) and abs(math.frexp(b.value)[0]) == 0.5:  # a power of 2
        places = max(0, a.places + math.frexp(b.value)[1] - 1)
        if places <= _MOST_PLACES:
            return _number(a.value / b.value, a, b, places=places)
    return _number(a.value / b.value, a, b, places=max(a.places, b.places), roundings=1)


def _whole_quotient(a: Number, b: Number) -> Number | None:
    return _quotient(a, b, rounding_mode="floor")


def _extreme(choose: Callable[..., _Value]) -> _Rule:
    def rule(a: Number, b: Number) -> Number | None:
        places, roundings = max(a.places, b.places), max(a.roundings, b.roundings)
        return _number(choose(a.value, b.value), a, b, places=places, roundings=roundings)

    return rule


def _negated(a: Number) -> Number | None:
    return _number(-a.value, a, places=a.places, roundings=a.roundings)


def _rounded(whole: Callable[..., _Value]) -> _Rule:
    return lambda a: _number(whole(a.value), a)


def _cast(a: Number) -> Number | None:
    return _number(a.value, a, places=a.places, roundings=_again(a.roundings))


def _compared(compare: Callable[..., _Value]) -> _Rule:
    return lambda a, b: None if a.roundings and b.roundings else _number(compare(a.value, b.value), a, b)


def _reversed(rule: _Rule) -> _Rule:
    return lambda a, b: rule(b, a)


def _forms(name: str, *, reverse: bool = False) -> list[Callable[..., Any]]:
    """The functions of tensors of a name: ``torch.add``, ``Tensor.add``, ``Tensor.__add__``, and with `reverse` ``Tensor.__radd__``."""
    owners = [(torch, name), (torch.Tensor, name), (torch.Tensor, f"__{name}__")] + [(torch.Tensor, f"__r{name}__")] * reverse
    return [getattr(owner, each) for owner, each in owners if hasattr(owner, each)]


CASTS = {torch.Tensor.to, torch.Tensor.long, torch.Tensor.int, torch.Tensor.float, torch.Tensor.double}
"""Their further arguments are dtypes and the like; the result tells what became of them."""

RULES: Mapping[Callable[..., Any], _Rule] = {
    **dict.fromkeys(_forms("add", reverse=True), _sum(operator.add)),
    **dict.fromkeys(_forms("sub"), _sum(operator.sub)),
    **dict.fromkeys((torch.Tensor.__rsub__, torch.rsub), _reversed(_sum(operator.sub))),
    **dict.fromkeys(_forms("mul", reverse=True), _product),
    **dict.fromkeys((*_forms("div"), *_forms("truediv"), torch.true_divide), _quotient),
    **dict.fromkeys((torch.Tensor.__rdiv__, torch.Tensor.__rtruediv__), _reversed(_quotient)),
    **dict.fromkeys((*_forms("floordiv"), *_forms("floor_divide")), _whole_quotient),
    torch.Tensor.__rfloordiv__: _reversed(_whole_quotient),
    **dict.fromkeys(_forms("maximum"), _extreme(torch.sym_max)),
    **dict.fromkeys(_forms("minimum"), _extreme(torch.sym_min)),
    **dict.fromkeys(_forms("neg"), _negated),
    **dict.fromkeys(_forms("ceil"), _rounded(math.ceil)),
    **dict.fromkeys(_forms("floor"), _rounded(math.floor)),
    **dict.fromkeys(CASTS, _cast),
    **{form: _compared(compare) for compare in (operator.gt, operator.ge, operator.lt, operator.le, operator.eq, operator.ne)
       for form in _forms(compare.__name__)},
}  # fmt: skip
"""What functions of tensors of no dimensions give; None where PyTorch's result may differ where it is used."""

DTYPES: Mapping[torch.dtype, Callable[[_Value], _Value]] = {
    torch.int64: torch.sym_int, torch.int32: torch.sym_int, torch.float64: torch.sym_float, torch.float32: torch.sym_float,
    torch.bool: lambda a: a if isinstance(a, (bool, torch.SymBool)) else a != 0}  # fmt: skip
"""Those in which numbers are followed."""


def converted(number: Number, dtype: torch.dtype) -> Number:
    """What a tensor of the dtype has of a number."""
    value = DTYPES[dtype](number.value)
    if dtype.is_floating_point:
        return dataclasses.replace(number, value=value)
    return Number(value, number.names, operations=number.operations)
