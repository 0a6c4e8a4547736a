"""Calls of functions that remember their results, as those of ``functools.cache`` do."""

from __future__ import annotations

import ast
import functools
import types

from ...places import MEMO
from ..questions.expressions import value_of
from ..source import Place, nodes_of_file, place_of, place_that_runs

__all__ = ["calls_memo"]


@functools.lru_cache(maxsize=64)
def _functions(filename: str) -> dict[Place | None, ast.expr]:
    """What a file calls, by the places of the calls."""
    return {place_of(node): node.func for node in nodes_of_file(filename) if isinstance(node, ast.Call)}


def calls_memo(frame: types.FrameType) -> bool:
    """Whether what a frame calls looks among the results that it remembers for one of the same arguments."""
    function = _functions(frame.f_code.co_filename).get(place_that_runs(frame))
    try:
        callee = value_of(function, frame, again=True) if function is not None else None
    except Exception:  # whatever an attribute raises, which was evaluated before
        return False
    return isinstance(getattr(callee, "__func__", callee), MEMO)
