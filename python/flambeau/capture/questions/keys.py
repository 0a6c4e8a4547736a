"""What a model looks up by a size, in a set or dict: Python asks only of keys with the same hash whether they are equal."""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ..source import nodes_of_file, statements

__all__ = ["equal_key"]


class _Lookup(NamedTuple):
    key: ast.expr
    table: ast.expr


_ASKING = ("__contains__", "__getitem__", "get")


def _lookup(node: ast.AST) -> _Lookup | None:
    """``key in table``, ``table[key]``, ``table.get(key)``."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return _Lookup(node.left, node.comparators[0])
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return _Lookup(node.slice, node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKING and node.args:
        return _Lookup(node.args[0], node.func.value)
    return None


@functools.lru_cache(maxsize=1024)
def _lookups(code: types.CodeType) -> dict[tuple[int, int, int, int], _Lookup]:
    """Those of a function, by where they begin and end in the file."""
    tree, before = statements(code)
    first = linecache.getline(code.co_filename, code.co_firstlineno)
    indent = len(first) - len(first.lstrip())
    found = {}
    for node in ast.walk(tree) if tree is not None else ():
        lookup = _lookup(node)
        if lookup is not None and isinstance(node, ast.expr):
            end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
            found[node.lineno + before, end_line + before, node.col_offset + indent, end_column + indent] = lookup
    return found


def _name(node: ast.AST) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


@functools.lru_cache(maxsize=64)
def _filled(filename: str) -> frozenset[str]:
    """The names of what the functions of a file put something into: caches."""
    names: set[str | None] = set()
    for node in nodes_of_file(filename):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            names.add(_name(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("add", "setdefault", "update"):
            names.add(_name(node.func.value))
    return frozenset(names - {None})  # type: ignore[arg-type]


def _value(node: ast.expr, frame: types.FrameType) -> Any:
    """What an expression is that can be evaluated twice.

    Raises:
        LookupError: It is another one.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return (frame.f_locals if node.id in frame.f_locals else frame.f_globals)[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript):
        return _value(node.value, frame)[_value(node.slice, frame)]
    if isinstance(node, (ast.Tuple, ast.Set)):
        items = [_value(each, frame) for each in node.elts]
        return tuple(items) if isinstance(node, ast.Tuple) else set(items)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {_value(each, frame) for each in node.keys if each is not None}
    if isinstance(node, ast.Call) and not node.keywords:
        if isinstance(node.func, ast.Name) and node.func.id == "tuple" and len(node.args) == 1:
            return tuple(_value(node.args[0], frame))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "size":
            return _value(node.func.value, frame).size(*(_value(each, frame) for each in node.args))
    raise LookupError(ast.dump(node))


def _tables(frame: types.FrameType) -> Iterator[tuple[Any, Any]]:
    """The key that a frame looks up, and where, if that is not a cache: a size is looked up there to be found where it was put."""
    at = next((each for each in dis.get_instructions(frame.f_code) if each.offset == frame.f_lasti), None)
    place = at.positions if at is not None else None
    lookup = _lookups(frame.f_code).get((place.lineno, place.end_lineno, place.col_offset, place.end_col_offset)) if place is not None else None  # type: ignore[arg-type]
    if lookup is None or _name(lookup.table) in _filled(frame.f_code.co_filename):
        return
    try:
        table = _value(lookup.table, frame)
        if isinstance(table, (dict, set, frozenset)):
            yield _value(lookup.key, frame), table
    except Exception:  # whatever an attribute raises, which was evaluated before
        return


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, torch.SymInt):
        return isinstance(other, (int, float)) and bool(one == other)
    return one is other or not isinstance(one, torch.Tensor) and not isinstance(other, (torch.SymInt, torch.Tensor)) and bool(one == other)


def equal_key(size: torch.SymInt, frame: types.FrameType) -> int | None:
    """The number that the size is in the example, where what a frame looks up by it is a key of numbers then; None if there is none.

    Asks of each such key whether it is the one, as Python does of the items of a list.
    """
    for key, table in _tables(frame):
        for each in table:
            if not isinstance(each, torch.SymInt) and _equal(key, each):
                return _number_in(key, each, size)
    return None


def _number_in(key: Any, equal: Any, size: torch.SymInt) -> int | None:
    if isinstance(key, tuple):
        return next((number for one, other in zip(key, equal) if (number := _number_in(one, other, size)) is not None), None)
    return equal if isinstance(key, torch.SymInt) and key.node.expr == size.node.expr else None
