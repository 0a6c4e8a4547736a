"""Models that go another way while they are exported: they ask ``torch.compiler.is_exporting()``."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Set

import torch

from ..folders import OWN, TORCH
from ..replaced_functions import Replacements

__all__ = ["FLAGS", "HIDDEN", "told_of_an_export", "ways_of_exports"]

HIDDEN = ", with the model told that it only runs"

_PASSED_ON = tuple(os.path.join(TORCH, *path) for path in (("_dynamo", "external_utils.py"), ("_utils.py",)))
"""Where torch has the same functions by older names."""

_STAND_IN = "_flambeau_flag"


def is_exporting() -> bool:
    return _flambeau_flag("is_exporting")  # type: ignore[name-defined,no-any-return] # noqa: F821


def is_compiling() -> bool:
    return _flambeau_flag("is_compiling")  # type: ignore[name-defined,no-any-return] # noqa: F821


_FLAGS: dict[str, tuple[Callable[[], bool], str]] = {"is_exporting": (is_exporting, "_is_exporting_flag"), "is_compiling": (is_compiling, "_is_compiling_flag")}
"""What asks in the place of torch's functions, which stay the ones that Dynamo knows, and where torch keeps the answers."""

FLAGS = tuple(_FLAGS)


def _asking_frame() -> types.FrameType | None:
    """Of the code that calls torch's function."""
    frame: types.FrameType | None = sys._getframe(3)
    while frame is not None and frame.f_code.co_filename.startswith(_PASSED_ON):
        frame = frame.f_back
    return frame


@contextlib.contextmanager
def ways_of_exports(asked: dict[str, str], line_of: Callable[[traceback.StackSummary], str], hidden: Set[str] = frozenset()) -> Iterator[None]:
    """While it is open, the names of the functions are added by which code of the model asks whether it is exported, with its line.

    Args:
        line_of: The line of the model in a stack.
        hidden: Functions that say no.
    """

    def answer(name: str, frame: types.FrameType) -> bool:
        if name not in asked:
            asked[name] = line_of(traceback.extract_stack(frame))
        return name not in hidden

    with _answers(answer, lambda name: bool(getattr(torch.compiler, _FLAGS[name][1], False))):
        yield


def told_of_an_export() -> contextlib.AbstractContextManager[None]:
    """While it is open, a model that runs goes the way that it goes while it is exported."""
    return _answers(lambda name, frame: True, lambda name: True)


@contextlib.contextmanager
def _answers(answer: Callable[[str, types.FrameType], bool], asks: Callable[[str], bool]) -> Iterator[None]:
    """What the functions say to code of the model, while there is something to ask; torch is told what is."""

    def flag(name: str) -> bool:
        frame = _asking_frame() if asks(name) else None
        if frame is None or frame.f_code.co_filename.startswith((TORCH, OWN)):
            return bool(getattr(torch.compiler, _FLAGS[name][1], False))
        return answer(name, frame)

    with Replacements() as replaced:
        for name, (stand_in, kept) in _FLAGS.items():
            function = getattr(torch.compiler, name, None)
            if isinstance(function, types.FunctionType) and hasattr(torch.compiler, kept):  # else a release of torch that has no such flag
                own = function.__code__
                replaced.callback(setattr, function, "__code__", own)
                # Its source is what TorchScript reads of it.
                function.__code__ = stand_in.__code__.replace(co_filename=own.co_filename, co_firstlineno=own.co_firstlineno)
        replaced.set(torch.compiler, _STAND_IN, flag)
        yield
