"""The source of functions that run."""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import inspect
import linecache
import textwrap
import types
from collections.abc import Iterator

__all__ = ["Place", "called", "nodes_of_file", "place_of", "place_that_runs", "repeated_list", "spread_rows", "statements"]

Place = tuple[int | None, ...]
"""Where an expression of a file begins and ends."""


def nodes_of_file(filename: str) -> Iterator[ast.AST]:
    """All that the source of a file is made of; nothing, where there is none."""
    with contextlib.suppress(SyntaxError, ValueError):
        yield from ast.walk(ast.parse("".join(linecache.getlines(filename))))


def statements(code: types.CodeType) -> tuple[ast.Module | None, int]:
    """The source of a function, or of the loop whose rounds it is made of, and the line before it."""
    before = code.co_firstlineno - 1
    lines = linecache.getlines(code.co_filename)
    with contextlib.suppress(SyntaxError, ValueError):
        return ast.parse(textwrap.dedent("".join(inspect.getblock(lines[before:])))), before
    with contextlib.suppress(SyntaxError, ValueError):
        return ast.parse(textwrap.dedent("".join(lines[before : _loop_ends(code.co_filename, before + 1)]))), before
    return None, before


@functools.lru_cache(maxsize=64)
def _loop_ends(filename: str, line: int) -> int:
    """The last line of the loop that begins at a line; that line, if none does."""
    return max((node.end_lineno or line for node in nodes_of_file(filename) if isinstance(node, (ast.For, ast.While)) and node.lineno == line), default=line)


def place_of(node: ast.expr) -> Place:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def place_that_runs(frame: types.FrameType) -> Place | None:
    """The place of the expression that a frame evaluates; None if the interpreter does not know."""
    at = next((each for each in dis.get_instructions(frame.f_code) if each.offset == frame.f_lasti), None)
    positions = at.positions if at is not None else None
    return (positions.lineno, positions.end_lineno, positions.col_offset, positions.end_col_offset) if positions is not None else None


def called(call: ast.Call) -> str:
    """The name of the function or method."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return str(name)


def repeated_list(node: ast.AST) -> tuple[ast.List, ast.expr] | None:
    """The list and the number of ``[row] * count``, in either order."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    for items, count in ((node.left, node.right), (node.right, node.left)):
        if isinstance(items, ast.List):
            return items, count
    return None


def spread_rows(node: ast.AST) -> ast.expr | None:
    """The rows of ``[*rows]``."""
    single = isinstance(node, ast.List) and isinstance(node.ctx, ast.Load) and len(node.elts) == 1
    return node.elts[0].value if single and isinstance(node.elts[0], ast.Starred) else None  # type: ignore[attr-defined]
