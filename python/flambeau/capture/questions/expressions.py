"""What an expression of the model is in a frame that asks something: found anew, so only of what may be evaluated twice."""

from __future__ import annotations

import ast
import collections
import operator
import types
from typing import Any

import torch

__all__ = ["OPERATORS", "computed", "value_of"]

OPERATORS: dict[type[ast.AST], Any] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip

_NUMBERS = (int, float, torch.SymInt, torch.SymFloat)
_CALLED = (abs, frozenset, int, len, max, min, set, tuple)
_METHODS = {"dim": torch.Tensor, "keys": dict, "numel": torch.Tensor, "size": torch.Tensor}
"""Those that may be called again, and of what."""


def computed(how: ast.AST, one: ast.expr, other: ast.expr, frame: types.FrameType, again: bool = False) -> Any:
    """What arithmetic or a comparison makes of two numbers.

    Raises:
        LookupError: An operand is no number, or has no value (yet).
    """
    values = value_of(one, frame, again), value_of(other, frame, again)
    if not all(isinstance(value, _NUMBERS) for value in values):
        raise LookupError("no numbers")
    return OPERATORS[type(how)](*values)


def value_of(node: ast.expr, frame: types.FrameType, again: bool = False) -> Any:
    """What an expression is, if it is made of names, attributes, arithmetic of numbers, displays and questions about sizes.

    Of a dict display the keys are given. Attributes may be properties, and raise what these do.

    Args:
        again: Whether the frame has evaluated it before: a size that is asked for the first time may become a number.

    Raises:
        LookupError: It is another one, or has no value (yet).
    """

    def value(part: ast.expr | None) -> Any:
        return None if part is None else value_of(part, frame, again)

    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return collections.ChainMap(frame.f_locals, frame.f_globals, frame.f_builtins)[node.id]
        case ast.NamedExpr():
            return value(node.target)
        case ast.Attribute():
            whole = value(node.value)
            try:
                return getattr(whole, node.attr)
            except AttributeError as error:
                raise LookupError(node.attr) from error
        case ast.Subscript():
            whole, place = value(node.value), value(node.slice)
            if isinstance(whole, (dict, list, tuple)) and (again or isinstance(place, int)):
                return whole[place]
        case ast.Slice():
            return slice(value(node.lower), value(node.upper), value(node.step))
        case ast.UnaryOp(op=ast.USub()):
            number = value(node.operand)
            if isinstance(number, _NUMBERS):
                return operator.neg(number)
        case ast.BinOp() if type(node.op) in OPERATORS:
            return computed(node.op, node.left, node.right, frame, again)
        case ast.Tuple():
            return tuple(map(value, node.elts))
        case ast.Set():
            return set(map(value, node.elts))
        case ast.Dict() if None not in node.keys:
            return set(map(value, node.keys))
        case ast.Call(func=ast.Name() as name) if again and not node.keywords:
            function = value(name)
            if any(function is each for each in _CALLED):
                return function(*map(value, node.args))
        case ast.Call(func=ast.Attribute() as method) if again and not node.keywords and method.attr in _METHODS:
            if isinstance(value(method.value), _METHODS[method.attr]):
                return value(method)(*map(value, node.args))
    raise LookupError(ast.dump(node))
