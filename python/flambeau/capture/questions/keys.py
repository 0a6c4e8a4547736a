"""What a model looks up by a size, in a set or dict: Python asks only of keys with the same hash whether they are equal."""

from __future__ import annotations

import ast
import collections
import functools
import types
from collections.abc import KeysView
from typing import Any, NamedTuple

import torch

from ..folders import OWN
from ..source import Place, called, nodes_of_file, place_of, place_that_runs
from .expressions import value_of
from .unasked import note, number_of

__all__ = ["equal_key"]


class _Lookup(NamedTuple):
    key: ast.expr
    table: ast.expr


_ASKING = ("__contains__", "__getitem__", "get", "pop")
_PUTTING = ("add", "setdefault", "update")


def _lookup(node: ast.AST) -> _Lookup | None:
    """``key in table``, ``table[key]``, ``table.get(key)``."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return _Lookup(node.left, node.comparators[0])
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return _Lookup(node.slice, node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKING and node.args:
        return _Lookup(node.args[0], node.func.value)
    return None


@functools.lru_cache(maxsize=64)
def _lookups(filename: str) -> dict[Place | None, _Lookup]:
    """Those of a file, by where they begin and end."""
    found: dict[Place | None, _Lookup] = {}
    for node in nodes_of_file(filename):
        lookup = _lookup(node)
        if lookup is not None and isinstance(node, ast.expr):
            found[place_of(node)] = lookup
    return found


def _name(node: ast.AST) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


@functools.lru_cache(maxsize=64)
def _filled(filename: str) -> dict[str | None, set[str]]:
    """The names of what the functions of a file put something into, and these functions."""
    names: dict[str | None, set[str]] = {}
    functions = (node for node in nodes_of_file(filename) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    for function, node in ((function, node) for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            names.setdefault(_name(node.value), set()).add(function.name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PUTTING:
            names.setdefault(_name(node.func.value), set()).add(function.name)
    return names


def _is_cache(table: ast.expr, frame: types.FrameType) -> bool:
    """Whether a table is filled while the model runs: a local one by its function, another one by any but ``__init__``."""
    name = _name(table)
    by = _filled(frame.f_code.co_filename).get(name, set()) if name is not None else set()
    if isinstance(table, ast.Name) and name in frame.f_locals:
        return frame.f_code.co_name in by
    return bool(by - {"__init__"})


def _numbers_of(key: Any) -> tuple[Any, ...]:
    """What may be equal to a part of a key; a tuple of sizes is compared with the key itself."""
    if not isinstance(key, tuple):
        return (key,)
    return () if any(isinstance(each, torch.SymInt) for each in key) else key


class _Unknown:
    """Where something is looked up that cannot be asked for again."""


def _looked_up(size: torch.SymInt, frame: types.FrameType) -> tuple[Any, Any] | type[_Unknown] | None:
    """The key that a frame looks up, and where, if that is no cache: there a size is looked up to be found where it was put."""
    lookup = _lookups(frame.f_code.co_filename).get(place_that_runs(frame))
    if lookup is None or _is_cache(lookup.table, frame):
        return None
    try:
        table = value_of(lookup.table, frame, again=True)
    except Exception:  # whatever an attribute raises, which was evaluated before, or a call that is not made again
        return _Unknown
    if not isinstance(table, (dict, set, frozenset, KeysView)):
        return None
    try:
        return value_of(lookup.key, frame, again=True), table
    except Exception:  # what is hashed is the key then, or a part of it
        return size, [part for each in table for part in _numbers_of(each)]


@functools.lru_cache(maxsize=64)
def _displays(filename: str) -> dict[Place | None, list[ast.expr]]:
    """The sets and dicts that a file writes out, or makes of one value, and what they are made of."""
    found: dict[Place | None, list[ast.expr]] = {}
    for node in nodes_of_file(filename):
        if isinstance(node, ast.Set):
            found[place_of(node)] = node.elts
        elif isinstance(node, ast.Dict) and len(node.keys) > 1:
            found[place_of(node)] = [each for each in node.keys if each is not None]
        elif isinstance(node, ast.Call) and called(node) in ("frozenset", "set") and len(node.args) == 1 and not isinstance(node.args[0], ast.GeneratorExp):
            found[place_of(node)] = [node.args[0]]
    return found


@functools.lru_cache(maxsize=64)
def _gatherings(filename: str) -> dict[Place | None, str]:
    """What a file makes of hashes of values that cannot be evaluated anew, by where it takes them."""
    found: dict[Place | None, str] = {}
    for node in nodes_of_file(filename):
        if isinstance(node, (ast.SetComp, ast.DictComp)):
            key, end = (node.elt, node.elt) if isinstance(node, ast.SetComp) else (node.key, node.value)
            within = (key.lineno, end.end_lineno, key.col_offset, end.end_col_offset)  # which of the two depends on Python's version
            found |= dict.fromkeys((place_of(node), place_of(key), within), "makes a set or dict of dynamic sizes")
        elif isinstance(node, ast.Call) and called(node) == "hash":
            found[place_of(node)] = "takes the hash of a dynamic size"
        elif isinstance(node, ast.Call) and called(node) in ("frozenset", "set", "dict") and node.args and isinstance(node.args[0], ast.GeneratorExp):
            found[place_of(node)] = "makes a set or dict of dynamic sizes"
        elif isinstance(node, ast.Call) and called(node) in ("Counter", "fromkeys"):
            found[place_of(node)] = "makes a set or dict of dynamic sizes"
    return found


def _is_gathered(frame: types.FrameType) -> bool:
    """Whether a frame makes one of those of a size's hash, of which the export then warns; a ``collections.Counter`` counts for who made it."""
    while frame.f_back is not None and frame.f_code.co_filename == collections.__file__:
        frame = frame.f_back
    what = _gatherings(frame.f_code.co_filename).get(place_that_runs(frame))
    if what is not None:
        note(frame, what)
    return what is not None


def _is_among_others(size: torch.SymInt, frame: types.FrameType) -> bool:
    """Whether a frame makes a set or dict of the size and of what may be equal to it in another run."""
    filename = frame.f_code.co_filename
    if filename.startswith(OWN):  # what evaluates the model's expressions anew
        return False
    made_of = _displays(filename).get(place_that_runs(frame))
    if made_of is None:
        return False
    try:
        values = [value_of(each, frame, again=True) for each in made_of]
    except Exception:  # as above
        return True
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = list(values[0])
    return any(not isinstance(each, torch.SymInt) or each.node.expr != size.node.expr for each in values) or len(values) == 1


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
    hashed: Any = None
    while frame.f_code.co_name == "__hash__" and frame.f_back is not None:  # of an object that holds the size
        hashed, frame = frame.f_locals.get(frame.f_code.co_varnames[0]), frame.f_back
    looked_up = _looked_up(size, frame)
    if isinstance(looked_up, type):
        note(frame, "looks up a dynamic size in a table that a call makes")
        return number_of(size)
    if looked_up is None and _is_gathered(frame):
        return number_of(size)  # of those with the same hash, Python asks whether they are equal
    if looked_up is None and hashed is None and _is_among_others(size, frame):
        note(frame, "makes a set or dict of a dynamic size and others")
    key, table = looked_up or (None, ())
    if hashed is not None:
        return int(size.node.hint) if any(type(each) is type(hashed) and bool(hashed == each) for each in table) else None
    for each in table:
        if not isinstance(each, torch.SymInt) and _equal(key, each):
            return _number_in(key, each, size)
    return None


def _number_in(key: Any, equal: Any, size: torch.SymInt) -> int | None:
    if isinstance(key, tuple):
        return next((number for one, other in zip(key, equal) if (number := _number_in(one, other, size)) is not None), None)
    return equal if isinstance(key, torch.SymInt) and key.node.expr == size.node.expr else None
