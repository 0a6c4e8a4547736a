"""Pieces that follow each other in steps of one length, of which the last may be shorter: ``x[i : i + 16]``, ``x.chunk(4)``."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import sympy
import torch
import torch.nn.functional as F
from torch.utils._sympy.functions import FloorDiv, Max, Min

from ..sizes.proofs import holds

__all__ = ["Stride", "stride_of"]


class Stride(NamedTuple):
    """How the pieces lie: those before the last are of this length, and this is the size of all of them."""

    length: sympy.Expr
    total: sympy.Expr

    def filled(self, piece: torch.Tensor, axis: int, number: Callable[[sympy.Expr], Any]) -> torch.Tensor:
        """The piece at full length."""
        return F.pad(piece, (*(0, 0) * (piece.ndim - 1 - axis), 0, number(self.length) - piece.shape[axis]))

    def joined(self, stacked: torch.Tensor, axis: int, number: Callable[[sympy.Expr], Any]) -> torch.Tensor:
        """The pieces of all rounds, put together along the axis of a piece.

        Args:
            stacked: Filled pieces, with the rounds as the first dimension.
            axis: Of a piece.
            number: The number that an expression is.
        """
        return stacked.movedim(0, axis).flatten(axis, axis + 1).narrow(axis, 0, number(self.total))


def stride_of(size: torch.SymInt, index: torch.SymInt, count: torch.SymInt, first: int = 0) -> Stride | None:
    """The stride of pieces of which one has this size; None if they have none.

    Args:
        size: As an expression of the round's place.
        index: The round's place, a symbol.
        count: How many rounds.
        first: The place of the first round; those before it are no part of the total.
    """
    place, rounds = index.node.expr, count.node.expr
    length = size.node.expr
    if isinstance(length, Min) and len(length.args) == 2:
        for step, left in (length.args, length.args[::-1]):  # what is left, if that is less than a step
            limit = sympy.expand(left + place * step)
            if place not in step.free_symbols | limit.free_symbols:
                whole = rounds == FloorDiv(limit + step - 1, step)
                total = limit if whole else Min(limit, step * rounds)
                return Stride(step, total if first == 0 else Max(0, sympy.expand(total - first * step)))
    if isinstance(length, Max) and sympy.S.Zero in length.args and len(length.args) == 2:
        (length,) = set(length.args) - {sympy.S.Zero}
    terms = sympy.Add.make_args(sympy.expand(length))
    if len(terms) > _MOST_TERMS:
        return None
    for taken in itertools.product((False, True), repeat=len(terms)):
        start = -sympy.Add(*(term for term, take in zip(terms, taken) if take))
        stop = sympy.Add(*(term for term, take in zip(terms, taken) if not take))
        limit, start, stop = _limited(start, stop, place)
        step = sympy.expand(stop - start)
        # Each piece starts where the one before it stops, so that the sizes add up.
        if limit is None or not step.is_Integer or step <= 0 or sympy.expand(start.subs(place, place + 1) - stop) != 0:
            continue
        before, after = start.subs(place, first), sympy.expand(start.subs(place, rounds))
        end = limit if holds(sympy.Le(limit, after)) else Min(limit, after)
        total = sympy.expand(end - before)
        return Stride(step, total if before == 0 else Max(0, total))
    return None


_MOST_TERMS = 6


def _limited(start: sympy.Expr, stop: sympy.Expr, place: sympy.Symbol) -> tuple[sympy.Expr | None, sympy.Expr, sympy.Expr]:
    """What the bounds of a piece do not pass, and the bounds without it."""
    if not isinstance(stop, Min):
        return None, start, stop
    limits = [arg for arg in stop.args if place not in arg.free_symbols]
    rest = [arg for arg in stop.args if place in arg.free_symbols]
    if len(limits) != 1 or len(rest) != 1:
        return None, start, stop
    if isinstance(start, Min) and len(start.args) == 2 and limits[0] in start.args:
        (start,) = set(start.args) - {limits[0]}
    return limits[0], start, rest[0]
