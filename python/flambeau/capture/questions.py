"""The test of an ``if`` or ``assert`` of the model, in which a frame asks."""

from __future__ import annotations

import ast
import dis
import linecache
import operator
import types
from typing import Any

import sympy
import torch

from .source import statements

__all__ = ["asked_beside", "passing", "raises"]


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
        before = at
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


_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


def _value(node: ast.expr, frame: types.FrameType) -> Any:
    """What an expression is that names, attributes and arithmetic make of numbers.

    Raises:
        LookupError: It is another one, or has no value (yet).
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return {**frame.f_globals, **frame.f_locals}[node.id]
    if isinstance(node, ast.Attribute):
        whole = _value(node.value, frame)
        try:
            return getattr(whole, node.attr)
        except AttributeError as error:
            raise LookupError(node.attr) from error
    if isinstance(node, ast.Subscript):
        whole, place = _value(node.value, frame), _value(node.slice, frame)
        if isinstance(whole, (tuple, list)) and isinstance(place, int):
            return whole[place]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value  # type: ignore[operator]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _computed(node.op, node.left, node.right, frame)
    raise LookupError(ast.dump(node))


def _computed(how: ast.AST, one: ast.expr, other: ast.expr, frame: types.FrameType) -> Any:
    values = _value(one, frame), _value(other, frame)
    if not all(isinstance(value, (int, float, torch.SymInt, torch.SymFloat)) for value in values):
        raise LookupError("no numbers")
    return _OPERATORS[type(how)](*values)


def _condition(operand: ast.expr, frame: types.FrameType) -> Any:
    if not isinstance(operand, ast.Compare):  # a number: whether it is not 0
        number = _value(operand, frame)
        if isinstance(number, torch.SymInt):
            return sympy.Ne(number.node.expr, 0)
        if not isinstance(number, int):
            raise LookupError(ast.dump(operand))
        return sympy.true if number else sympy.false
    if len(operand.ops) != 1 or type(operand.ops[0]) not in _OPERATORS:
        raise LookupError(ast.dump(operand))
    answer = _computed(operand.ops[0], operand.left, operand.comparators[0], frame)
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
