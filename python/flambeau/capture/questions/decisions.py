"""What Python asked of dynamic sizes during a capture, and the lines that asked.

An answer holds for the example; the captured program is right for other sizes
only where it holds, too. torch keeps no trace of most: it narrows the size's
range, or takes the condition for one that some operator asserts anyway.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import linecache
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy
from torch._guards import TracingContext
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv, canonicalize_bool_expr

from ..folders import CAPTURE, OWN, TORCH
from ..source import called, nodes_of_file, repeated_list, spread_rows, statements
from .equality import have_one_shape
from .statements import asked_beside, asks_for_copies, default_of, handles, passing, raises, without_consequence

__all__ = [
    "Decision",
    "NOWHERE",
    "Place",
    "Unrolled",
    "answered_equations",
    "asked_as_number",
    "asking_place",
    "asks_to_go_on",
    "default_asked_for",
    "handled_questions",
    "loops_of",
    "passing_answer",
    "recorded_decisions",
    "unrolled_loops",
]

_STRATEGIES = os.path.join(CAPTURE, "strategies.py")
_SYMBOLS = (os.path.join(TORCH, "fx", "experimental") + os.sep, os.path.join(TORCH, "__init__.py"))
_HANDLERS = (os.path.join(TORCH, "_export", "non_strict_utils.py"), os.path.join(TORCH, "_ops.py"))
"""What calls of tensors' methods pass through, such as that of ``bool``."""

_SAMPLERS = os.path.join(TORCH, "distributions") + os.sep
"""Where torch itself draws until what it drew is accepted."""

_DYNAMO = os.path.join(TORCH, "_dynamo") + os.sep
"""What runs the model where torch.export takes its bytecode apart: its frames stand in the place of the model's."""

_CHECKS = ("_check", "_assert", "assert_")


Place = tuple[types.CodeType, int]
"""A function, and a line in its file."""
NOWHERE: Place = (compile("", "", "exec"), 0)
"""Of what nobody is known to have asked."""


@dataclasses.dataclass(frozen=True)
class Decision:
    """An answer that the capture took for granted."""

    env: ShapeEnv
    condition: Any  # sympy
    line: str
    by_model: bool
    """Whether Python code of the model asked, not PyTorch's."""
    place: Place
    repeats: bool
    """Whether the line says how often a loop goes around."""
    beside: tuple[Any, ...] | None
    """Conditions that the test would ask next, had it not been answered; None if they are not known."""
    copies: bool = False
    """Whether all that it decides is whether a tensor is copied."""
    needless: bool = False
    """Whether the program was seen to agree with the module for the other answer, too."""
    traced: bool = False
    """Whether code of the model asked that Dynamo ran: nobody is known to have asked before."""


def _described(filename: str, number: int) -> str:
    text = linecache.getline(filename, number).strip()
    return f"{os.path.basename(filename)}:{number}{': ' + text if text else ''}"


def _traced_line() -> str:
    """The model's line that Dynamo is at, which runs the model in no frames of its own; nothing if it runs none."""
    for each in reversed(TracingContext.extract_stack()):
        if not each.filename.startswith((TORCH, OWN, "<")):
            return _described(each.filename, each.lineno or 0)
    return ""


def _traced_question(asked: types.FrameType) -> Place | None:
    """Where the model asks whose code Dynamo runs; None if it is torch's code that asks, or an operator that is called."""
    stack = TracingContext.extract_stack()
    if not asked.f_code.co_filename.startswith(_DYNAMO) or not stack or stack[-1].filename.startswith((TORCH, OWN, "<")):
        return None
    frame: types.FrameType | None = asked
    while frame is not None and frame.f_code.co_filename.startswith(_DYNAMO):
        # Of an InstructionTranslator; an attribute that a lazy variable lacks would ask once more.
        code = getattr(frame.f_locals.get("self"), "__dict__", {}).get("f_code")
        if isinstance(code, types.CodeType):
            return code, stack[-1].lineno or 0
        frame = frame.f_back
    return None


_PARTED = ("list", "range", "tuple", "split", "chunk", "unbind", "tolist", "product")
"""Functions that make as many items as sizes say."""


@functools.lru_cache(maxsize=1024)
def _checks(code: types.CodeType, line: int) -> bool:
    """Whether the line asks in order to fail: PyTorch then fails itself where the answer is another."""
    tree, before = statements(code)
    line -= before
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.If):
            if node.test.lineno <= line <= (node.test.end_lineno or line):
                return raises(node.body) or raises(node.orelse)
        elif isinstance(node, (ast.Assert, ast.Call)) and node.lineno <= line <= (node.end_lineno or line):
            if isinstance(node, ast.Assert) or called(node).startswith(_CHECKS):
                return True
    return False


@functools.lru_cache(maxsize=1024)
def _repeats(code: types.CodeType, line: int) -> bool:
    tree, before = statements(code)
    line -= before
    for node in ast.walk(tree) if tree is not None else ():
        over: ast.AST | None = None
        if isinstance(node, ast.While):
            over = node.test
        elif isinstance(node, (ast.For, ast.comprehension)):
            over = node.iter
        elif (isinstance(node, ast.Call) and called(node) in _PARTED) or spread_rows(node) is not None or repeated_list(node) is not None:
            over = node
        if over is not None and over.lineno <= line <= (over.end_lineno or line):
            return True
    return False


@functools.lru_cache(maxsize=64)
def _tests_of_whiles(filename: str) -> frozenset[int]:
    """The lines of a file with what its ``while`` statements ask, and each ``if`` that leaves one."""
    whiles = [node for node in nodes_of_file(filename) if isinstance(node, ast.While)]
    leaving = (each for node in whiles for each in ast.walk(node) if isinstance(each, ast.If) and any(isinstance(inner, ast.Break) for inner in ast.walk(each)))
    tests = (node.test for node in (*whiles, *leaving))
    return frozenset(line for test in tests for line in range(test.lineno, (test.end_lineno or test.lineno) + 1))


def asks_to_go_on() -> bool:
    """Whether what is asked decides on another round of a ``while`` of the model: one answer for all rounds would have no end."""
    places = [(each.filename, each.lineno) for each in TracingContext.extract_stack()]  # Dynamo's
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != _STRATEGIES:
        places.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    of_models = (each for each in places if each[0].startswith(_SAMPLERS) or not each[0].startswith((TORCH, OWN, "<")))
    return any(line in _tests_of_whiles(name) for name, line in of_models)


def _asking(between: tuple[str, ...] = _SYMBOLS) -> tuple[types.FrameType | None, types.FrameType | None]:
    """The frame that asked, and the innermost one of the model's code; None where none is inside the capture."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith((*between, OWN)):
        frame = frame.f_back
    asked = frame
    while frame is not None and frame.f_code.co_filename.startswith((TORCH, OWN, "<")):
        frame = None if frame.f_code.co_filename == _STRATEGIES else frame.f_back
    return asked, frame


def _differ_for_the_model(condition: Any, model: types.FrameType) -> bool:
    """Whether tensors that the model compares were found to have other sizes, by what stands in the place of the function that it calls."""
    frame: types.FrameType | None = sys._getframe(2) if isinstance(condition, sympy.Ne) else None
    while frame is not None and frame is not model and frame.f_code is not have_one_shape.__code__:
        frame = frame.f_back
    return frame is not None and frame is not model


def _place_of(frame: types.FrameType, line: int | None = None) -> Place:
    """Where the frame is, in the outermost function that runs and whose source has the code in it: a comprehension's own, too."""
    code, line = frame.f_code, frame.f_lineno if line is None else line
    while (outer := frame.f_back) is not None and "<locals>" in code.co_qualname:
        frame = outer
        if code in frame.f_code.co_consts:
            code = frame.f_code
    return code, line


def passing_answer() -> bool | None:
    """The answer to the question being asked by which an ``if`` or ``assert`` of the model does not raise; None if none asks."""
    asked, frame = _asking((*_SYMBOLS, *_HANDLERS))
    return passing(frame) if frame is not None and asked is frame and not _is_handled(frame) else None


def _is_handled(frame: types.FrameType | None) -> bool:
    """Whether the model may go on after what is raised there."""
    while frame is not None and frame.f_code.co_filename != _STRATEGIES:
        if not frame.f_code.co_filename.startswith((TORCH, OWN, "<")) and handles(frame):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def handled_questions() -> Iterator[list[Exception]]:
    """While it is open, notes the errors of questions about data that code of the model may take for its own (``except RuntimeError``)."""
    handled: list[Exception] = []
    evaluate = ShapeEnv._evaluate_expr

    def noted(*args: Any, **kwargs: Any) -> Any:
        try:
            return evaluate(*args, **kwargs)
        except GuardOnDataDependentSymNode as error:
            if _is_handled(sys._getframe(1)):
                handled.append(error)
            raise

    ShapeEnv._evaluate_expr = noted
    try:
        yield handled
    finally:
        ShapeEnv._evaluate_expr = evaluate


def default_asked_for() -> int | None:
    """What the model puts in the place of the number of which it asks whether it is 0; None if it does something else there."""
    asked, frame = _asking()
    return default_of(frame) if frame is not None and asked is frame else None


def asking_place() -> Place | None:
    """Where code of the model asks; None if other code does."""
    asked, frame = _asking()
    return _place_of(frame) if frame is not None and asked is frame else None


def unrolled_loops(decisions: Sequence[Decision]) -> list[str]:
    """The lines of loops whose number of rounds was decided."""
    return list(dict.fromkeys(each.line for each in decisions if each.repeats))


class Unrolled(Exception):
    """A loop of many rounds is about to be written out, which takes long, where it may be kept."""


_FEW_ROUNDS = 16


def _many_rounds(condition: Any) -> bool:
    number = condition.args[1] if isinstance(condition, sympy.Eq) else None
    return isinstance(number, sympy.Integer) and number > _FEW_ROUNDS


def loops_of(decisions: Sequence[Decision], error: BaseException | None) -> set[Place]:
    """Where the loops are whose number of rounds was decided, or could not be."""
    found = {each.place for each in decisions if each.repeats}
    while error is not None:
        frames = [_place_of(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        models = [each for each in frames if not each[0].co_filename.startswith((TORCH, OWN, "<"))]
        found.update(each for each in models[-1:] if _repeats(*each))
        error = error.__cause__ or error.__context__
    return found


_NUMBERS = "_flambeau_numbers"
_EQUATIONS = "_flambeau_equations"


def asked_as_number(env: ShapeEnv, condition: Any) -> bool:
    """Whether an equation was decided because a quantity had to be a number: nobody asked whether it is this one."""
    return canonicalize_bool_expr(condition) in vars(env).get(_NUMBERS, ())


def answered_equations(env: ShapeEnv) -> list[sympy.Eq]:
    """Equations that were found to hold. torch may have narrowed a size's range to where they do, and keep them no longer."""
    return list(vars(env).get(_EQUATIONS, ()))


@contextlib.contextmanager
def recorded_decisions(found: list[Decision], unkept: Callable[[Place], bool] = lambda place: False) -> Iterator[None]:
    """While it is open, what captures decide is added to the list.

    Args:
        unkept: Whether a loop at a place is left to a further capture to keep: at one of many rounds this one goes no further.

    Raises:
        Unrolled: There is such a loop.
    """
    log, evaluate, anew = ShapeEnv._log_guard, ShapeEnv._evaluate_expr, ShapeEnv.evaluate_expr

    def answered(self: ShapeEnv, quantity: Any, *args: Any, **kwargs: Any) -> Any:
        """What decides nothing is no guard, and its answer is not kept: what is asked alike elsewhere may decide something."""
        if isinstance(quantity, sympy.logic.boolalg.Boolean) and quantity.free_symbols:
            frame, model = _asking()
            answer = without_consequence(model) if model is not None and frame is model else None
            if answer is not None:
                return sympy.true if answer else sympy.false
            hint = args[0] if args else kwargs.get("hint")
            if model is not None and frame is model and hint is not None and asks_for_copies(model):
                line = _described(model.f_code.co_filename, model.f_lineno)
                condition = quantity if hint else sympy.Not(quantity)
                found.append(Decision(self, condition, line, by_model=True, place=_place_of(model), repeats=False, beside=(), copies=True))
                return sympy.true if hint else sympy.false
        return anew(self, quantity, *args, **kwargs)

    def evaluated(self: ShapeEnv, quantity: Any, *args: Any, **kwargs: Any) -> Any:
        value = evaluate(self, quantity, *args, **kwargs)
        if not isinstance(quantity, sympy.logic.boolalg.Boolean) and quantity.free_symbols:
            vars(self).setdefault(_NUMBERS, set()).add(canonicalize_bool_expr(sympy.Eq(quantity, value)))
        return value

    def logged(self: ShapeEnv, prefix: str, condition: Any, *args: Any, **kwargs: Any) -> None:
        log(self, prefix, condition, *args, **kwargs)
        if prefix != "eval":
            return
        asked, frame = _asking()
        if asked is None or _checks(asked.f_code, asked.f_lineno):
            return
        if isinstance(condition, sympy.Eq):
            vars(self).setdefault(_EQUATIONS, []).append(condition)
        if frame is None:
            question = _traced_question(asked)
            if question is None or not _checks(*question):
                place = _place_of(asked)
                found.append(Decision(self, condition, _traced_line(), by_model=False, place=place, repeats=False, beside=(), traced=question is not None))
            return
        place = _place_of(frame)
        line = _described(frame.f_code.co_filename, frame.f_lineno)
        by_model = asked is frame or _differ_for_the_model(condition, frame)
        beside = asked_beside(frame) if by_model else ()
        found.append(Decision(self, condition, line, by_model=by_model, place=place, repeats=_repeats(*place), beside=beside))
        if found[-1].repeats and _many_rounds(condition) and unkept(place):
            raise Unrolled(f"the loop at {line} has as many rounds as the example says")

    ShapeEnv._log_guard, ShapeEnv._evaluate_expr, ShapeEnv.evaluate_expr = logged, evaluated, answered
    try:
        yield
    finally:
        ShapeEnv._log_guard, ShapeEnv._evaluate_expr, ShapeEnv.evaluate_expr = log, evaluate, anew
