"""The test of an ``if`` or ``assert`` of the model, in which a frame asks."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import linecache
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import sympy
import torch

from ..source import called, statements
from .expressions import OPERATORS, computed, value_of

__all__ = ["asked_beside", "asks_for_copies", "default_of", "handles", "passing", "raises", "without_consequence"]


def raises(statements: list[ast.stmt]) -> bool:
    """Whether a branch ends by raising."""
    return bool(statements) and isinstance(statements[-1], ast.Raise)


_Place = tuple[int, int]  # line and column


def _asked_place(frame: types.FrameType) -> _Place | None:
    """Where in the file the operand ends whose truth the frame asks for; None if the interpreter does not know."""
    before = None
    for at in dis.get_instructions(frame.f_code):
        if at.offset == frame.f_lasti:
            break
        before = before if at.opname == "COPY" else at
    else:
        return None
    # A jump has the place of its whole statement; what it looks at was made just before.
    made = at if at.opname.startswith("CALL") else before
    positions = made.positions if made is not None else None
    if positions is None or positions.end_lineno is None or positions.end_col_offset is None:
        return None
    return positions.end_lineno, positions.end_col_offset


def _place_in_source(frame: types.FrameType) -> _Place | None:
    """The same in the frame's own source, which is not indented and starts with line 1."""
    place = _asked_place(frame)
    if place is None:
        return None
    first = linecache.getline(frame.f_code.co_filename, frame.f_code.co_firstlineno)
    return place[0] - (frame.f_code.co_firstlineno - 1), place[1] - (len(first) - len(first.lstrip()))


def _holds_place(node: ast.expr, place: _Place) -> bool:
    return (node.lineno, node.col_offset) < place <= (node.end_lineno or 0, node.end_col_offset or 0)


def _same_sign(test: ast.expr, place: _Place | None) -> bool | None:
    """Whether the test is the likelier true if its operand at this place is; None if that is not known.

    `not` turns it; `and` and `or` keep it. Without a place all operands must agree.
    """
    signs: set[bool | None] = set()
    pending = [(test, True)]
    while pending:
        node, sign = pending.pop()
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            pending.append((node.operand, not sign))
        elif isinstance(node, ast.BoolOp):
            pending += [(value, sign) for value in node.values]
        elif place is None or _holds_place(node, place):
            turns = any(isinstance(each, (ast.Not, ast.IfExp, ast.NotIn, ast.IsNot)) for each in ast.walk(node))
            signs.add(None if turns else sign)
    return signs.pop() if len(signs) == 1 else None


def passing(frame: types.FrameType) -> bool | None:
    """The answer by which the ``if`` or ``assert`` that the frame is at does not raise; None if there is none, or it is not known."""
    tree, before = statements(frame.f_code)
    line = frame.f_lineno - before
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, (ast.If, ast.Assert)) or not node.test.lineno <= line <= (node.test.end_lineno or line):
            continue
        passes = isinstance(node, ast.Assert) or raises(node.orelse)
        if isinstance(node, ast.If) and passes == raises(node.body):
            return None
        sign = _same_sign(node.test, _place_in_source(frame))
        return None if sign is None else sign == passes
    return None


def _only_raises(handler: ast.ExceptHandler) -> bool:
    """Whether all that it does is raise, the same or another error."""
    leaves = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
    return raises(handler.body) and not any(isinstance(each, leaves) for each in ast.walk(handler))


def handles(frame: types.FrameType) -> bool:
    """Whether a ``try`` or ``suppress`` of the frame's function takes what is raised at its line, and goes on."""
    tree, before = statements(frame.f_code)
    line = frame.f_lineno - before
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Try) and not all(map(_only_raises, node.handlers)):
            body = node.body
        elif isinstance(node, ast.With) and any(isinstance(item.context_expr, ast.Call) and called(item.context_expr) == "suppress" for item in node.items):
            body = node.body
        else:
            continue
        if body[0].lineno <= line <= (body[-1].end_lineno or line):
            return True
    return False


_COPIES = ("contiguous", "clone")


def _is_copy_of(node: ast.expr, name: ast.expr) -> bool:
    call = node.func if isinstance(node, ast.Call) and not node.args else None
    return isinstance(call, ast.Attribute) and call.attr in _COPIES and isinstance(name, ast.Name) and getattr(call.value, "id", None) == name.id


def _copies_only(node: ast.AST) -> bool:
    """Whether it makes a copy of a tensor or none: ``if rows >= 64: x = x.contiguous()``, ``x.contiguous() if rows >= 64 else x``."""
    if isinstance(node, ast.IfExp):
        return _is_copy_of(node.body, node.orelse) or _is_copy_of(node.orelse, node.body)
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and all(isinstance(each, ast.Assign) and len(each.targets) == 1 and _is_copy_of(each.value, each.targets[0]) for each in node.body)
    )


_ASKING = ("abs", "dim", "element_size", "len", "max", "min", "numel", "pow", "size")


def _may_change(node: ast.AST) -> bool:
    """Whether it may do more than ask."""
    if isinstance(node, ast.Call):
        return (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) not in _ASKING
    return isinstance(node, (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom))


@functools.lru_cache(maxsize=1024)
def _tests_for_copies(code: types.CodeType) -> tuple[list[ast.expr], int]:
    """What is asked for no more than a copy, and the line before the function."""
    tree, before = statements(code)
    tests = [node.test for node in ast.walk(tree) if _copies_only(node)] if tree is not None else []  # type: ignore[attr-defined]
    return [test for test in tests if not any(_may_change(part) for part in ast.walk(test))], before


def asks_for_copies(frame: types.FrameType) -> bool:
    """Whether all that what a frame asks decides is whether a tensor is copied."""
    tests, before = _tests_for_copies(frame.f_code)
    line = frame.f_lineno - before
    around = [test for test in tests if test.lineno <= line <= (test.end_lineno or line)]
    place = _place_in_source(frame) if around else None
    return place is not None and any(_holds_place(test, place) for test in around)


def _condition(operand: ast.expr, frame: types.FrameType) -> Any:
    if not isinstance(operand, ast.Compare):  # a number: whether it is not 0
        number = _known(operand, frame)
        if isinstance(number, torch.SymInt):
            return sympy.Ne(number.node.expr, 0)
        if not isinstance(number, int):
            raise LookupError(ast.dump(operand))
        return sympy.true if number else sympy.false
    if len(operand.ops) != 1 or type(operand.ops[0]) not in OPERATORS:
        raise LookupError(ast.dump(operand))
    for part in (operand.left, operand.comparators[0]):
        _known(part, frame)
    answer = computed(operand.ops[0], operand.left, operand.comparators[0], frame)
    return answer.node.expr if isinstance(answer, torch.SymBool) else sympy.true if answer else sympy.false


def asked_beside(frame: types.FrameType) -> tuple[Any, ...] | None:
    """Conditions that stand behind what a frame asks, in ``and`` and ``or``: by one answer they are not asked; None if they cannot be told."""
    tree, before = statements(frame.f_code)
    line, place = frame.f_lineno - before, _place_in_source(frame)
    behind: list[ast.expr] = []
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.BoolOp) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        if place is None:
            return None
        asked = next((at for at, value in enumerate(node.values) if _holds_place(value, place)), len(node.values))
        behind += node.values[asked + 1 :]
    try:
        return tuple(_condition(operand, frame) for operand in behind)
    except Exception:  # what is not asked may divide by 0, or raise whatever an attribute does
        return None


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _is_above_0(test: ast.expr) -> ast.expr:
    """The number of which ``n > 0`` or ``n != 0`` asks; else what is given."""
    one = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Gt, ast.NotEq))
    return test.left if one and getattr(test.comparators[0], "value", None) == 0 else test  # type: ignore[attr-defined]


def default_of(frame: types.FrameType) -> int | None:
    """The number that stands for the one of which a frame asks whether it is 0, as in ``n or 1`` and ``n if n else 1``; None if none does."""
    tree, before = statements(frame.f_code)
    line, place = frame.f_lineno - before, _place_in_source(frame)
    for node in ast.walk(tree) if tree is not None and place is not None else ():
        if not isinstance(node, (ast.BoolOp, ast.IfExp)) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        if isinstance(node, ast.IfExp):
            asked, other = node.test, node.orelse
            found = ast.dump(_is_above_0(asked)) == ast.dump(node.body)
        else:
            *_, asked, other = node.values
            found = isinstance(node.op, ast.Or)
        if found and (asked.end_lineno, asked.end_col_offset) == place and _is_number(other):
            return other.value  # type: ignore[attr-defined,no-any-return]
    return None


_TRUTH_IS_ALL = {ast.If: "test", ast.While: "test", ast.Assert: "test", ast.IfExp: "test"}
"""Where of ``and`` and ``or`` nothing matters but whether it is true; elsewhere it is a value."""


@functools.lru_cache(maxsize=1024)
def _conjunctions(code: types.CodeType) -> tuple[list[tuple[ast.BoolOp, bool]], int]:
    """Each ``and`` and ``or`` of a function that is no operand of another, and whether only its truth matters; and the line before it."""
    tree, before = statements(code)
    found = []
    for parent in ast.walk(tree) if tree is not None else ():
        for name, part in ast.iter_fields(parent):
            if isinstance(part, ast.BoolOp) and not isinstance(parent, ast.BoolOp):
                negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
                found.append((part, negated or _TRUTH_IS_ALL.get(type(parent)) == name))
            elif isinstance(part, list) and not isinstance(parent, ast.BoolOp):
                found += [(each, isinstance(parent, ast.comprehension)) for each in part if isinstance(each, ast.BoolOp)]
    return found, before


def _known(node: ast.expr, frame: types.FrameType) -> Any:
    """What an expression is, found without a call of what the model wrote."""
    for part in reversed(list(ast.walk(node))):
        if isinstance(part, ast.Attribute):
            static = inspect.getattr_static(type(value_of(part.value, frame)), part.attr, None)
            if isinstance(static, (property, functools.cached_property)):
                raise LookupError(part.attr)
    return value_of(node, frame)


def _truth(node: ast.expr, frame: types.FrameType, exact: bool) -> bool | None:
    """Whether an operand is true; None if sizes decide it.

    Args:
        exact: Whether it has to be ``True`` or ``False`` itself.

    Raises:
        LookupError: It is not known.
    """
    answer: Any
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        of_other = _truth(node.operand, frame, exact=False)
        return None if of_other is None else not of_other
    if isinstance(node, ast.BoolOp):
        return _joined(node, node.values, frame, exact)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        how, one, other = node.ops[0], _known(node.left, frame), _known(node.comparators[0], frame)
        if isinstance(how, (ast.Is, ast.IsNot)):
            return (one is other) == isinstance(how, ast.Is)
        numbers = all(isinstance(each, (int, float, torch.SymInt, torch.SymFloat)) for each in (one, other))
        if type(how) not in OPERATORS or not (numbers or isinstance(one, str) and isinstance(other, str)):
            raise LookupError(ast.dump(node))
        answer = OPERATORS[type(how)](one, other)
    else:
        answer = _known(node, frame)
    if isinstance(answer, torch.SymBool) or (isinstance(answer, torch.SymInt) and not exact):
        return None
    if not (isinstance(answer, bool) if exact else answer is None or isinstance(answer, (bool, int, float, str, tuple, list))):
        raise LookupError(ast.dump(node))
    return bool(answer)


def _joined(conjunction: ast.BoolOp, operands: Sequence[ast.expr], frame: types.FrameType, exact: bool) -> bool | None:
    """What these operands of it decide, the last ones."""
    decisive, known = isinstance(conjunction.op, ast.Or), True
    for operand in operands:
        answer = _truth(operand, frame, exact)
        if answer is decisive:
            return decisive
        known = known and answer is not None
    return not decisive if known else None


class _Step(NamedTuple):
    """An ``and`` or ``or`` around a question."""

    conjunction: ast.BoolOp
    behind: list[ast.expr]
    """Its operands behind that of the question."""
    turned: bool
    """Whether ``not`` turns that operand."""


def _way_to(place: _Place, conjunction: ast.BoolOp) -> tuple[list[_Step], ast.expr]:
    """Through which ``and`` and ``or`` one comes to the operand at a place, and that operand, or what it is a part of."""
    way: list[_Step] = []
    node: ast.expr = conjunction
    while True:
        if isinstance(node, ast.BoolOp):
            index = next((at for at, value in enumerate(node.values) if _holds_place(value, place)), None)
            if index is None:
                return way, node
            way.append(_Step(node, node.values[index + 1 :], False))
            node = node.values[index]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            way[-1] = way[-1]._replace(turned=not way[-1].turned)
            node = node.operand
        else:
            return way, node


def _going_on(way: Sequence[_Step]) -> bool:
    """The answer by which what stands behind is asked."""
    turned = False
    for step in reversed(way):
        turned = turned != step.turned
        if step.behind:
            break
    return isinstance(step.conjunction.op, ast.And) != turned


def without_consequence(frame: types.FrameType) -> bool | None:
    """The answer to what a frame asks by which ``and`` and ``or`` go on to what stands behind it, where that alone decides: as
    ``rows > 1 and mask is None`` is false where there is a mask. None where the answer matters, or that is not known.
    """
    conjunctions, before = _conjunctions(frame.f_code)
    line = frame.f_lineno - before
    around = [each for each in conjunctions if each[0].lineno <= line <= (each[0].end_lineno or line)]
    place = _place_in_source(frame) if around else None
    try:
        for conjunction, truth_is_all in around if place is not None else ():
            way, asked = _way_to(place, conjunction)
            if (asked.end_lineno, asked.end_col_offset) != place or isinstance(asked, ast.BoolOp):
                continue
            if not (truth_is_all or way[-1].turned or isinstance(asked, ast.Compare) or isinstance(_known(asked, frame), torch.SymBool)):
                return None
            # Of what is not decided within, what is around it says more; all that is passed by is known.
            decided = any(_joined(step.conjunction, step.behind, frame, not truth_is_all) is isinstance(step.conjunction.op, ast.Or) for step in reversed(way))
            return _going_on(way) if decided else None
    except Exception:  # what is not asked may divide by 0, or raise whatever an attribute does
        return None
    return None
