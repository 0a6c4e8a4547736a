"""Questions that a model asks to save work, in a capture: the answer is that of the general case.

Whether a size is the one that a table was made for, whether something is left to pad, or whether a mask hides anything,
chooses between ways to the same result; the general way serves both cases. That it does is checked for the example,
whose case must be the special one.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator, Sequence, Set
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode

from .assumptions import INEQUALITIES, environment
from .decisions import Decision, Place, asking_place, passing_answer
from .failures import innermost_line

__all__ = ["general_answers", "special_answers", "special_places"]

_ANSWER = "_flambeau_answer"

_SOME = {torch.any: True, torch.Tensor.any: True, torch.all: False, torch.Tensor.all: False}
"""Of a mask in general, some elements are set, and some are not."""

_NOT = (torch.logical_not, torch.Tensor.logical_not, torch.bitwise_not, torch.Tensor.bitwise_not, torch.Tensor.__invert__)
_SAME = (torch.Tensor.bool, torch.Tensor.flatten, torch.Tensor.detach, torch.Tensor.cpu)
_ASKS = (torch.Tensor.__bool__, torch.Tensor.item, torch.is_nonzero, torch.Tensor.is_nonzero)


def _in_general(condition: Any, env: ShapeEnv) -> Any:
    """The answer to a question that tells one number from all others, where it is another; None to other questions.

    Whether what is never negative is above 0 is such a question, too.
    """
    if isinstance(condition, (sympy.Eq, sympy.Ne)):
        return sympy.false if isinstance(condition, sympy.Eq) else sympy.true
    if not isinstance(condition, INEQUALITIES):
        return None
    asked = condition.gts - condition.lts + (0 if isinstance(condition, (sympy.Lt, sympy.Gt)) else 1)  # whether it is above 0
    if not asked.is_integer:
        return None
    for quantity, answer in ((asked, sympy.true), (1 - asked, sympy.false)):
        if env.bound_sympy(quantity).lower == 0:
            return answer
    return None


def special_places(exported: ExportedProgram | None, decisions: Sequence[Decision], *, remainders: bool = False) -> set[Place]:
    """Where the model asked whether a size is a certain one, or anything is left of it, and that of the example is that one.

    Args:
        remainders: Only where it asked whether anything is left.
    """
    return {
        each.place
        for each in decisions
        if each.by_model
        and not each.repeats
        and (isinstance(each.condition, INEQUALITIES) or not remainders)
        and _in_general(each.condition, each.env) is sympy.false
        and (exported is None or each.env is environment(exported))
    }


class _OfMasks(TorchFunctionMode):
    """Gives general answers; or, where a module runs, sees which of them are not its own."""

    def __init__(self, lines: list[str], runs: bool = False) -> None:
        super().__init__()
        self.lines, self.runs = lines, runs

    def _note(self) -> None:
        if (line := innermost_line(traceback.extract_stack())) not in self.lines:
            self.lines.append(line)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        answer = getattr(args[0], _ANSWER, None) if args and isinstance(args[0], torch.Tensor) else None
        if answer is not None and func in _ASKS:
            if self.runs:
                own = func(*args, **(kwargs or {}))
                if own != answer:
                    self._note()
                return own
            if (passes := passing_answer()) is not None:
                return passes
            self._note()
            return answer
        result = func(*args, **(kwargs or {}))
        if func in _SOME and len(args) == 1 and not kwargs:
            answer = _SOME[func]
        elif func in _NOT and answer is not None:
            answer = not answer
        elif func not in _SAME:
            answer = None
        if answer is not None and isinstance(result, torch.Tensor):
            setattr(result, _ANSWER, answer)
        return result


@contextlib.contextmanager
def special_answers() -> Iterator[list[str]]:
    """While it is open, a module runs. Gives the lines that asked about masks whose answer was not the general one."""
    lines: list[str] = []
    with _OfMasks(lines, runs=True):
        yield lines


@contextlib.contextmanager
def general_answers(places: Set[Place] | None) -> Iterator[list[str]]:
    """While it is open, the answer is the general one to questions about masks, and to those about sizes at these places; None leaves both.

    Gives the lines that asked about masks.
    """
    asked: list[str] = []
    if places is None:
        yield asked
        return
    evaluate = ShapeEnv._evaluate_expr

    def answered(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(condition, (sympy.Eq, sympy.Ne, *INEQUALITIES)) and condition.free_symbols and asking_place() in places:
            answer = _in_general(condition, self)
            if answer is not None:
                return answer
        return evaluate(self, condition, *args, **kwargs)

    ShapeEnv._evaluate_expr = answered
    try:
        with _OfMasks(asked):
            yield asked
    finally:
        ShapeEnv._evaluate_expr = evaluate
