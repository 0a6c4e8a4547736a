"""The source of functions that run."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import types

__all__ = ["called", "repeated_list", "spread_rows", "statements"]


def statements(code: types.CodeType) -> tuple[ast.Module | None, int]:
    """The source of a function, and the line before it."""
    before = code.co_firstlineno - 1
    try:
        block = inspect.getblock(linecache.getlines(code.co_filename)[before:])
        return ast.parse(textwrap.dedent("".join(block))), before
    except (SyntaxError, ValueError):
        return None, before


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
