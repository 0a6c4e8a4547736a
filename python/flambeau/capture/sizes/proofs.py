"""What is so for every size."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import sympy
import torch
from torch.utils._sympy.functions import (
    CeilToInt,
    CleanDiv,
    FloatPow,
    FloatTrueDiv,
    FloorDiv,
    FloorToInt,
    IntTrueDiv,
    Max,
    Min,
    Mod,
    OpaqueUnaryFn_sqrt,
    PythonMod,
    ToFloat,
    TruncToInt,
)

__all__ = [
    "INEQUALITIES",
    "as_integers",
    "at",
    "divided",
    "equal",
    "even_quotient",
    "expression_of",
    "holds",
    "reduced",
    "rounded",
    "simplified",
    "zeros",
]

INEQUALITIES = (sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge)

_LONGEST_PERIOD = 1024
_LATEST_START = 1 << 15
_LEAST = 2
"""The size from which on torch tells what is so."""


def expression_of(number: Any) -> Any:
    """A size as what it is computed from; other numbers as they are."""
    return number.node.expr if isinstance(number, torch.SymInt) else number


class _Steps(NamedTuple):
    """After so many sizes, an expression is so much larger, whatever the size was, from the first of them on."""

    period: int
    increase: int
    first: int = 0

    def times(self, factor: int) -> _Steps:
        return _Steps(self.period * factor, self.increase * factor, self.first)


def _steps_of_extreme(extreme: sympy.Expr, found: Mapping[Any, _Steps]) -> _Steps | None:
    """Those of a maximum or minimum of two lines, from where the one that grows more has come past the other."""
    one, other = extreme.args
    period = math.lcm(found[one].period, found[other].period)
    parts = [found[part].times(period // found[part].period) for part in (one, other)]
    first, gain = max(part.first for part in parts), parts[0].increase - parts[1].increase
    if period > _LONGEST_PERIOD or first > _LATEST_START:
        return None
    values = [_values(part, range(first, first + period)) for part in (one, other)]
    if values[0] is None or values[1] is None:
        return None
    behind = max(b - a if gain > 0 else a - b for a, b in zip(*values))
    if gain and behind > 0:
        first += -(-behind // abs(gain)) * period
    largest = gain > 0 if isinstance(extreme, Max) else gain < 0
    return _Steps(period, parts[0 if largest else 1].increase, first)


def _steps(expression: sympy.Expr) -> _Steps | None:
    """Those of a line of one symbol, but for rounding and for what is the larger or smaller of two; None of another expression, or if
    they are too long."""
    found: dict[Any, _Steps] = {}
    for node in sympy.postorder_traversal(expression):
        if node.is_Integer:
            steps = _Steps(1, 0)
        elif node.is_Symbol:
            steps = _Steps(1, 1)
        elif isinstance(node, sympy.Add):
            period = math.lcm(*(found[part].period for part in node.args))
            increase = sum(found[part].times(period // found[part].period).increase for part in node.args)
            steps = _Steps(period, increase, max(found[part].first for part in node.args))
        elif isinstance(node, sympy.Mul) and len(node.args) == 2 and node.args[0].is_Integer:
            factor, part = node.args
            steps = found[part]._replace(increase=int(factor) * found[part].increase)
        elif isinstance(node, (FloorDiv, CleanDiv, Mod, PythonMod)) and node.args[1].is_Integer and node.args[1] > 0:
            part, divisor = found[node.args[0]], int(node.args[1])
            part = part.times(divisor // math.gcd(divisor, part.increase))
            steps = part._replace(increase=0 if isinstance(node, (Mod, PythonMod)) else part.increase // divisor)
        elif isinstance(node, (Max, Min)) and len(node.args) == 2:
            of_extreme = _steps_of_extreme(node, found)
            if of_extreme is None:
                return None
            steps = of_extreme
        else:
            return None
        if steps.period > _LONGEST_PERIOD or steps.first > _LATEST_START:
            return None
        found[node] = steps
    return found[expression]


_JOINED: dict[Any, Callable[[tuple[int, ...]], int]] = {sympy.Add: sum, sympy.Mul: math.prod, Max: max, Min: min}


def _values(expression: sympy.Expr, sizes: range) -> list[int] | None:
    """Those of an expression of which ``_steps`` are known, for these sizes; None where one is not defined."""
    found: dict[Any, list[int]] = {}
    for node in sympy.postorder_traversal(expression):
        if node.is_Integer:
            values = [int(node)] * len(sizes)
        elif node.is_Symbol:
            values = list(sizes)
        elif isinstance(node, tuple(_JOINED)):
            join = next(join for kind, join in _JOINED.items() if isinstance(node, kind))
            values = [join(parts) for parts in zip(*(found[part] for part in node.args), strict=True)]
        else:
            part, divisor = found[node.args[0]], int(node.args[1])
            if isinstance(node, Mod) and min(part) < 0:
                return None
            values = [value % divisor if isinstance(node, (Mod, PythonMod)) else value // divisor for value in part]
        found[node] = values
    return found[expression]


def zeros(expression: sympy.Expr, sizes: range) -> Iterator[int]:
    """The sizes of which an expression of one symbol is 0. sympy takes a thousand times as long for a line but for rounding."""
    (symbol,) = expression.free_symbols
    values = None if _steps(expression) is None else _values(expression, sizes)
    if values is None:
        return (size for size in sizes if at(expression, {symbol: size}) == 0)
    return (size for size, value in zip(sizes, values) if value == 0)


def at(condition: Any, sizes: Mapping[sympy.Symbol, int]) -> Any:
    """What a condition is for these sizes; itself where it is about what torch does not define there, as a remainder of a negative number,
    or by 0."""
    try:
        return condition.subs(sizes)
    except (AssertionError, ZeroDivisionError):
        return condition


def holds(condition: Any, least: int = 0) -> bool:
    """Whether an inequality is proven for all sizes from this one on: it is so for a period, and the sides do not near each other after it."""
    if condition == sympy.true:
        return True
    if len(condition.free_symbols) != 1 or not isinstance(condition, INEQUALITIES):
        return False
    (symbol,) = condition.free_symbols
    difference = condition.gts - condition.lts
    steps = _steps(difference)
    if steps is None or steps.increase < 0:
        return False
    values = _values(difference, range(least, max(least, steps.first) + steps.period))
    strict = isinstance(condition, (sympy.Lt, sympy.Gt))
    return values is not None and all(value > 0 if strict else value >= 0 for value in values)


def equal(one: sympy.Expr, other: sympy.Expr) -> bool:
    """Whether two expressions are proven to be the same for all sizes."""
    return one.free_symbols == other.free_symbols and holds(sympy.Le(one, other)) and holds(sympy.Ge(one, other))


def _with_multiples(expression: Any) -> tuple[Any, dict[sympy.Symbol, Any]]:
    """The expression where what is a multiple of a number for every size, as a size that was padded to one, is so many times a symbol's value."""
    quotients: dict[sympy.Symbol, Any] = {}
    multiples: dict[Any, Any] = {}
    for quotient in expression.atoms(FloorDiv):
        whole, divisor = quotient.args
        if whole.is_Add and divisor.is_Integer and divisor > 1 and len(whole.free_symbols) == 1 and holds(sympy.Le(PythonMod(whole, divisor), 0)):
            symbol = sympy.Dummy("quotient", integer=True, nonnegative=True)
            quotients[symbol], multiples[whole] = quotient, divisor * symbol
    return (expression.xreplace(multiples), quotients) if multiples else (expression, {})


def _times(whole: Any, size: Any, least: int) -> Any:
    """How often a size, of at least 1 or 2, is in about so many times itself, as in ``(3 * n - 1) // n``, the parts of which ``chunk``
    makes two; None of others."""
    if not size.is_Symbol or not whole.is_Add:
        return None
    factor = whole.coeff(size)
    rest = whole - factor * size
    if not factor.is_Integer or not rest.is_Integer or not -least <= rest < least:
        return None
    return factor if rest >= 0 else factor - 1


@functools.lru_cache(maxsize=4096)
def reduced(expression: Any, least: int = 0) -> Any:
    """The expression without the minima and maxima of which is known, for sizes from the least on, which side they are, and without ``n / n`` and its like."""
    found: dict[Any, Any] = {}
    for node in sympy.postorder_traversal(expression):
        parts = [found[part] for part in node.args]
        new = node.func(*parts) if parts else node
        if isinstance(new, (Min, Max)) and len(new.args) == 2:
            one, other = new.args
            if holds(sympy.Le(one, other), least):
                new = one if isinstance(new, Min) else other
            elif holds(sympy.Le(other, one), least):
                new = other if isinstance(new, Min) else one
        elif isinstance(new, IntTrueDiv) and new.args[0] == new.args[1]:
            new = sympy.Float(1)
        elif isinstance(new, FloorDiv) and least:
            new = _times(*new.args, least) or new
        found[node] = new
    return found[expression]


def _of_quotient(quotient: Any) -> Any:
    """The quotient of a quotient by numbers, and a number beside it, as one: ``(n // 4 + 1) // 2`` is ``(n + 4) // 8``. Layers that each
    halve what the last one gave are told within each other otherwise."""
    whole, divisor = quotient.args
    inner = [term for term in whole.args if isinstance(term, FloorDiv)] if whole.is_Add and len(whole.args) == 2 else []
    if len(inner) != 1 or not divisor.is_Integer or divisor < 1:
        return quotient
    (size, by), more = inner[0].args, whole - inner[0]
    return FloorDiv(size + by * more, by * divisor) if by.is_Integer and by > 0 and more.is_Integer else quotient


@functools.lru_cache(maxsize=4096)
def divided(quotient: Any) -> Any:
    """The quotient where parts of it are multiples of a number: ``padded * batch // padded`` is ``batch`` however the padding is told;
    or of so many times what it is divided by, or of a quotient."""
    replaced, quotients = _with_multiples(quotient)
    if quotients:
        return replaced.xreplace(quotients)
    if not isinstance(quotient, FloorDiv):
        return quotient
    times = _times(*quotient.args, 1)
    return _of_quotient(quotient) if times is None else times


def _even(whole: Any, divisor: Any) -> Any:
    """The quotient of products, if it comes out even for every size, by such multiples too; else None."""
    replaced, quotients = _with_multiples(sympy.Tuple(whole, divisor))
    ratio = replaced[0] / replaced[1]
    return ratio.xreplace(quotients) if ratio.is_integer else None


@functools.lru_cache(maxsize=4096)
def even_quotient(whole: Any, divisor: Any) -> Any:
    """The quotient of products where it comes out even by such multiples; else None. torch simplifies them at length first."""
    if divisor.is_Integer or not whole.is_Mul:
        return None
    return _even(whole, divisor) if whole.atoms(FloorDiv) | divisor.atoms(FloorDiv) else None


def _is_integer(number: Any) -> bool:
    """torch says so of each remainder, of floats too."""
    return bool(number.is_integer) and all(part.is_integer for rest in number.atoms(Mod, PythonMod) for part in rest.args)


def _whole(number: Any) -> Any:
    """The integer that floats make, each quotient of which comes out even, as ``windows / (height * width / 7 / 7)`` does; None of others."""
    if _is_integer(number):
        return number
    if number.is_Float:
        return sympy.Integer(int(number)) if float(number).is_integer() else None
    if isinstance(number, OpaqueUnaryFn_sqrt) or (isinstance(number, FloatPow) and number.args[1] == 0.5):
        square = _whole(number.args[0])
        return None if square is None else _root(square)
    parts = [_whole(part) for part in number.args] if isinstance(number, (ToFloat, IntTrueDiv, FloatTrueDiv, sympy.Mul)) else [None]
    if any(part is None for part in parts):
        return None
    return _even(*parts) if isinstance(number, (IntTrueDiv, FloatTrueDiv)) else math.prod(parts)


def _root(square: Any) -> Any:
    """The root of a product of squares of what is not negative; None of others."""
    roots = []
    for base, times in square.as_powers_dict().items():
        if base.is_Integer and not times.is_Integer:
            return None
        if base.is_Integer:
            root, exact = sympy.integer_nthroot(int(base**times), 2) if base > 0 else (0, base == 0)
            roots.append((sympy.Integer(root), exact))
        else:
            roots.append((base ** (times / 2), times.is_even and (base.is_nonnegative or times % 4 == 0)))
    return math.prod(root for root, _ in roots) if all(exact for _, exact in roots) else None


def _remainder(term: Any) -> tuple[Any, int] | None:
    """``(x, m)`` of what is the remainder of ``x`` by a number ``m``."""
    is_one = isinstance(term, (Mod, PythonMod)) and term.args[1].is_Integer and term.args[1] > 1
    return (term.args[0], int(term.args[1])) if is_one else None


def _lacking(term: Any) -> tuple[Any, int, int] | None:
    """``(x, m, k)`` of what ``x`` lacks to the next number that leaves ``k`` by ``m``: ``(m - x % m) % m``, ``-x % m``; None of what is no remainder."""
    found = _remainder(term)
    if found is None:
        return None
    inside, modulus = found
    for part in sympy.Add.make_args(inside):
        inner, rest = _remainder(-part), inside - part
        if inner is not None and inner[1] == modulus and rest.is_Integer:
            return inner[0], modulus, int(rest) % modulus
    return -inside, modulus, 0


@functools.lru_cache(maxsize=4096)
def rounded(size: Any) -> Any:
    """A size with what it lacks to a multiple of a number, or without its rest, told with the size in it once.

    ``n + (7 - n % 7) % 7`` is ``7 * ((n + 6) // 7)``: layers that each pad what the last one gave told it twice as often each.
    """
    for term in size.args if size.is_Add else ():
        lacking, rest = _lacking(term), _remainder(-term)
        if lacking is not None:
            whole, modulus, left = lacking
            if modulus == 2 and not (size - term - whole).is_Integer:  # what is lacking to an even number is what is odd, too
                whole, left = -whole, -left % 2
            multiple = modulus * divided(FloorDiv(whole - left + modulus - 1, modulus)) + left
        elif rest is not None:
            whole, modulus = rest
            multiple = modulus * divided(FloorDiv(whole, modulus))
        else:
            continue
        more = size - term - whole
        if more.is_Integer:
            return multiple + more
    return size


@functools.lru_cache(maxsize=4096)
def as_integers(number: Any) -> Any:
    """What ``math.ceil``, ``math.floor`` or ``int`` makes of quotients that come out even, and the first two of one by a number, and
    whole numbers beside it, without floats."""
    if isinstance(number, (CeilToInt, FloorToInt, TruncToInt)) and (even := _whole(number.args[0])) is not None:
        return even
    if not isinstance(number, (CeilToInt, FloorToInt)):
        return number
    quotient, more = None, sympy.S.Zero
    for term in sympy.Add.make_args(number.args[0]):
        if isinstance(term, IntTrueDiv) and quotient is None and term.args[1].is_Integer and term.args[1] > 0:
            quotient = term.args
        elif (term.is_Float or term.is_Integer) and float(term).is_integer():
            more += int(term)
        else:
            return number
    if quotient is None:
        return number
    size, divisor = quotient
    return divided(FloorDiv(size + divisor - 1 if isinstance(number, CeilToInt) else size, divisor)) + more


def simplified(expression: Any) -> Any:
    """The expression without what needs no telling: minima and maxima that are known to be one of their sides, and quotients of what is divisible."""
    # A size beside its own multiple, ``min(s, 16 * ((s + pad) // 16))``, is compared before the multiple is a symbol of its own.
    expression, quotients = _with_multiples(reduced(expression, _LEAST))
    return reduced(expression, _LEAST).xreplace(quotients)
