"""Questions whether a tensor of data-dependent size is empty, or a single row, in a capture: the answer is no, and the user is told.

So it is where a number that data decides is replaced if it is 0 (``n or 1``): it is taken not to be.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.utils._sympy.functions import FloorDiv
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ..sizes.proofs import INEQUALITIES, equal, holds
from ..sizes.slices import slices_by
from .decisions import asks_to_go_on, default_asked_for, passing_answer

__all__ = ["FEW", "MORE", "ONE", "SOME", "SOUND", "left_open", "taken_as_filled", "where_filled"]

FEW, SOME, MORE, ONE = "few", "something", "more than one of something", "one of something"
"""What is taken to be there, where a model asks for much, for anything, or for more than one."""
SOUND = "factors"
"""What matrices are taken to have."""


def where_filled(condition: Any, env: ShapeEnv, sizes: Set[Any], least: int = 1, most: Any = int_oo) -> Any:
    """What a condition is where each of these sizes is at least so much, and at most so much; None if that does not decide it."""
    if not sizes or not isinstance(condition, sympy.logic.boolalg.Boolean):
        return None
    ranges = {symbol: env.var_to_range[symbol] for symbol in condition.free_symbols if symbol in env.var_to_range}
    for size in sizes:
        if ranges[size].upper < least or ranges[size].lower > most:  # a flag is no size
            return None
        ranges[size] &= ValueRanges(least, most)
    for count in condition.atoms(sympy.Add):  # of which torch knows that it is a size: the last graph's number, and 1
        more, symbol = count.as_two_terms()
        if more.is_Integer and ranges.get(symbol) is not None and symbol not in sizes and ranges[symbol].lower == -more:
            ranges[symbol] &= ValueRanges(least - more, most - more)
    # Rows of so many each: there are some, too.
    groups = {each: sympy.Dummy() for each in condition.atoms(FloorDiv) if each.args[0] in sizes and bound_sympy(each.args[1], ranges).lower > 0}
    ranges.update(dict.fromkeys(groups.values(), ValueRanges(least, most)))
    answer = bound_sympy(condition.xreplace(groups), ranges)
    return answer.lower if answer.is_singleton() else None


_SIZES = "_flambeau_sizes"

_SMALL = 256
"""As large as sizes are taken to be that data decides, where the model asks whether a table has room for them."""


def _noting_sizes(infer: Callable[..., torch.Tensor], *args: Any, **kwargs: Any) -> torch.Tensor:
    """torch's slice of fakes, of which it says of a size that data decides only that it is not negative, as it may of other numbers."""
    result = infer(*args, **kwargs)
    for size in result.shape:
        if isinstance(size, torch.SymInt) and size.node.hint is None and size.node.expr.is_Symbol:
            vars(size.node.shape_env).setdefault(_SIZES, set()).add(size.node.expr)
    return result


def _sizes(condition: Any, env: ShapeEnv) -> Set[Any]:
    """The sizes that data decides, among the symbols of a condition."""
    return condition.free_symbols & (env.size_like | vars(env).get(_SIZES, set()))


def _never_negative(condition: Any, env: ShapeEnv) -> Set[Any]:
    """The symbols of a condition that may be sizes of tensors that were made of numbers."""
    ranges = env.var_to_range
    return {symbol for symbol in condition.free_symbols if symbol in ranges and ranges[symbol].lower >= 0}


def _proven(condition: Any, env: ShapeEnv) -> Any:
    """What a condition is of all numbers that are never negative; None if that differs. torch proves no equation of minima and maxima."""
    if not condition.free_symbols or condition.free_symbols != _never_negative(condition, env):
        return None
    if isinstance(condition, (sympy.Eq, sympy.Ne)):
        return sympy.sympify(isinstance(condition, sympy.Eq)) if equal(*condition.args) else None
    if not isinstance(condition, INEQUALITIES):
        return None
    return sympy.true if holds(condition) else sympy.false if holds(~condition) else None


@contextlib.contextmanager
def taken_as_filled(
    line_of: Callable[[traceback.StackSummary], str], sizes: dict[Any, ShapeEnv], small: bool = False, single: bool = False
) -> Iterator[dict[str, str]]:
    """While it is open, such a question does not stop the capture, nor does one that an ``if`` asks in order to raise.

    Gives the lines that asked whether there is anything, and what was taken to be there.

    Args:
        line_of: The line of the model in a stack.
        sizes: Gets the sizes that were asked for.
        small: Whether sizes that data decides are taken to be no larger than most examples'. Whoever asks for that has to compare
            what is captured with the model.
        single: Whether there is one where the model asks whether there is more than one.

    The code for tensors that hold something mostly serves the empty ones as well, and that for rows a single one: that
    there is a question is about speed, or about functions that PyTorch refuses for them.
    """
    asked: dict[str, str] = {}
    evaluate = ShapeEnv._evaluate_expr

    def answered(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return evaluate(self, condition, *args, **kwargs)
        except GuardOnDataDependentSymNode:
            if (proven := _proven(condition, self)) is not None:
                return proven
            asks = isinstance(condition, (sympy.core.relational.Relational, sympy.logic.boolalg.BooleanFunction))
            if asks and (passes := passing_answer()) is not None:
                return sympy.true if passes else sympy.false
            if asks_to_go_on():
                raise
            if isinstance(condition, (sympy.Ne, sympy.Gt, sympy.Lt)) and sympy.S.Zero in condition.args:
                default = default_asked_for()
                if default is not None and not (default == 0 and isinstance(condition, sympy.Ne)):  # 0 is what the number is, too
                    asked.setdefault(line_of(traceback.extract_stack()), SOME)
                if default is not None:
                    return sympy.true
            for taken, least, most in ((SOME, 1, int_oo), (ONE, 1, 1) if single else (MORE, 2, int_oo)):
                answer = where_filled(condition, self, _sizes(condition, self), least, most)
                if answer is not None:
                    sizes.update(dict.fromkeys(_sizes(condition, self), self))
                    line = line_of(traceback.extract_stack())
                    if taken != SOME or asked.get(line, FEW) == FEW:
                        asked[line] = taken
                    return answer
            answer = where_filled(condition, self, _never_negative(condition, self), 2, _SMALL) if small else None
            if answer is not None:
                asked.setdefault(line_of(traceback.extract_stack()), FEW)
                return answer
            raise

    ShapeEnv._evaluate_expr = answered
    try:
        with slices_by(_noting_sizes):
            yield asked
    finally:
        ShapeEnv._evaluate_expr = evaluate


def left_open(exported: ExportedProgram, sizes: Mapping[Any, ShapeEnv]) -> None:
    """Let these sizes be 0 in a run: what torch took for granted of them since, it did because something was taken to be there."""
    for size, env in sizes.items():
        for ranges in (exported.range_constraints, env.var_to_range):
            if size in ranges and 0 < ranges[size].lower < ranges[size].upper:
                ranges[size] = ValueRanges(0, ranges[size].upper)
