"""The source of functions that run."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import types

__all__ = ["statements"]


def statements(code: types.CodeType) -> tuple[ast.Module | None, int]:
    """The source of a function, and the line before it."""
    before = code.co_firstlineno - 1
    try:
        block = inspect.getblock(linecache.getlines(code.co_filename)[before:])
        return ast.parse(textwrap.dedent("".join(block))), before
    except (SyntaxError, ValueError):
        return None, before
