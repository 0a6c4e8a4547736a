"""What a model makes of a dynamic size that nobody can ask about afterwards: text, and keys among others that are not known here."""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import sys
import sysconfig
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from ..failures import innermost_line
from ..folders import OWN, TORCH
from ..source import called, nodes_of_file

__all__ = ["note", "number_of", "text_methods", "unasked_lines"]

_STANDARD = sysconfig.get_path("stdlib")
_RECKONING = ("sympy", "mpmath")
_SHOWING = frozenset(
    {"_check", "_check_value", "add_event", "critical", "debug", "error", "exception", "fatal", "info", "log", "print", "record_function", "set_description", "warn",
     "warn_once", "warning", "warning_once", "write"}
)  # fmt: skip
"""Functions that only show text."""

_noted: dict[str, str] | None = None


def note(frame: types.FrameType, what: str) -> None:
    """Have the export warn of the line that a frame runs."""
    if _noted is not None:
        _noted.setdefault(innermost_line(traceback.extract_stack(frame)), what)


@contextlib.contextmanager
def unasked_lines() -> Iterator[Mapping[str, str]]:
    """The model's lines, and what each does with a size, while it is open."""
    global _noted
    before, _noted = _noted, {}
    try:
        yield _noted
    finally:
        _noted = before


def number_of(size: torch.SymInt) -> int | None:
    """What a dynamic size is in the example; None of another one, and of one that data decides."""
    node = size.node
    return int(node.hint) if node.has_hint() and not node.expr.is_number else None


@functools.lru_cache(maxsize=256)
def _is_of_models(filename: str) -> bool:
    if filename.startswith((TORCH, OWN, "<")) or any(f"{os.sep}{each}{os.sep}" in filename for each in _RECKONING):
        return False
    return "site-packages" in filename or not filename.startswith(_STANDARD)


def _is_shown(node: ast.AST) -> bool:
    return isinstance(node, (ast.Raise, ast.Assert)) or (isinstance(node, ast.Call) and (called(node) in _SHOWING or called(node).endswith(("Error", "Warning"))))


@functools.lru_cache(maxsize=64)
def _shown_lines(filename: str) -> frozenset[int]:
    """The lines of a file whose text is only shown: that of errors, and what variables hold that go nowhere else."""
    lines = set[int]()
    functions = []
    for node in nodes_of_file(filename):
        if _is_shown(node):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))  # type: ignore[attr-defined]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.append(node)
            if node.name in ("__repr__", "__str__", "extra_repr"):
                lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for function in functions:
        used: dict[str, bool] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                used[node.id] = used.get(node.id, True) and node.lineno in lines
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if all(isinstance(each, ast.Name) and used.get(each.id, True) for each in targets):
                    lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)


@functools.lru_cache(maxsize=64)
def _reading_lines(filename: str) -> frozenset[int]:
    """The lines of a file that make numbers of text: of what stands for a size these fail, and it becomes a number."""
    calls = (node for node in nodes_of_file(filename) if isinstance(node, ast.Call) and called(node) in ("complex", "float", "int"))
    of_text = (node for node in calls if any(isinstance(each, (ast.Call, ast.JoinedStr)) for each in node.args))
    return frozenset(line for node in of_text for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _as_text(own: Callable[..., str], of_number: Callable[..., str]) -> Callable[..., str]:
    """The method for code of models: text that may decide something is that of the example's number."""

    def method(size: torch.SymInt, *spec: str) -> str:
        frame = sys._getframe(1)
        filename = frame.f_code.co_filename
        number = number_of(size) if _noted is not None and _is_of_models(filename) else None
        if number is None:
            return own(size, *spec)
        if frame.f_lineno not in _shown_lines(filename) and frame.f_lineno not in _reading_lines(filename):
            note(frame, "makes text of a dynamic size")
            return of_number(number, *spec)
        return of_number(number, *spec) if any(spec) else own(size, *spec)

    return method


def text_methods() -> Iterator[tuple[type, str, Any]]:
    """For sizes, while a model is captured."""
    for name, of_number in (("__str__", str), ("__repr__", repr), ("__format__", format)):
        yield torch.SymInt, name, _as_text(getattr(torch.SymInt, name), of_number)
