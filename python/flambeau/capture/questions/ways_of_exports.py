"""Models that go another way while they are exported: they ask ``torch.compiler.is_exporting()``, ``torch.onnx.is_in_onnx_export()``
or, of a trace, ``torch.jit.is_tracing()``."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Set
from typing import Any

import torch

from ..folders import OWN, TORCH
from ..replaced_functions import Replacements
from ..results import are_alike, results_of_model

__all__ = ["FLAGS", "OF_ONNX", "gives_something_else", "told_that_it_runs", "ways_of_exports"]

_ROUNDED = (torch.float16, torch.bfloat16)
"""Dtypes in which two orders of the same computation differ visibly."""

_PASSED_ON = tuple(os.path.join(TORCH, *path) for path in (("_dynamo", "external_utils.py"), ("_utils.py",)))
"""Where torch has the same functions by older names."""

_STAND_IN = "_flambeau_flag"


def is_exporting() -> bool:
    return _flambeau_flag("is_exporting")  # type: ignore[name-defined,no-any-return] # noqa: F821


def is_compiling() -> bool:
    return _flambeau_flag("is_compiling")  # type: ignore[name-defined,no-any-return] # noqa: F821


def is_in_onnx_export() -> bool:
    return _flambeau_flag("is_in_onnx_export")  # type: ignore[name-defined,no-any-return] # noqa: F821


def _own_of(owner: types.ModuleType, name: str) -> types.FunctionType | None:
    """torch's own function as it is; None for a release of torch that has no such flag."""
    function = getattr(owner, name, None)
    return function if isinstance(function, types.FunctionType) and function.__globals__ is vars(owner) else None


def is_tracing() -> bool:
    return _flambeau_flag("is_tracing")  # type: ignore[name-defined,no-any-return] # noqa: F821


_STAND_INS = {is_exporting: torch.compiler, is_compiling: torch.compiler, is_in_onnx_export: torch.onnx, is_tracing: torch.jit._trace}
"""What asks in the place of torch's functions, which stay the ones that Dynamo knows, and where they are."""

_FLAGS = {
    stand_in.__name__: (stand_in.__code__, function, types.FunctionType(function.__code__, function.__globals__))
    for stand_in, owner in _STAND_INS.items()
    if (function := _own_of(owner, stand_in.__name__)) is not None
}
"""The code that asks, torch's function, and one that answers as that does."""

FLAGS = tuple(_FLAGS)
OF_ONNX = is_in_onnx_export.__name__


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

    with _answers(answer, only_if_true=True):
        yield


def _told_of_an_export(flags: Set[str]) -> contextlib.AbstractContextManager[None]:
    """While it is open, a model that runs goes the way that it goes while it is exported and these functions say so."""
    return _answers(lambda name, frame: name in flags)


def told_that_it_runs() -> contextlib.AbstractContextManager[None]:
    """While it is open, a model goes the way that it goes where nobody exports it."""
    return _answers(lambda name, frame: False)


@contextlib.contextmanager
def _answers(answer: Callable[[str, types.FrameType], bool], only_if_true: bool = False) -> Iterator[None]:
    """What the functions say to code of the model; torch is told what is.

    Args:
        only_if_true: Whether the model is told what is, too, where that is no.
    """

    def flag(name: str) -> bool:
        is_so = _FLAGS[name][2]()
        frame = _asking_frame() if is_so or not only_if_true else None
        if frame is None or frame.f_code.co_filename.startswith((TORCH, OWN)):
            return is_so
        return answer(name, frame)

    with Replacements() as replaced:
        for asks, function, own in _FLAGS.values():
            replaced.callback(setattr, function, "__code__", function.__code__)
            # Its source is what TorchScript reads of it.
            function.__code__ = asks.replace(co_filename=own.__code__.co_filename, co_firstlineno=own.__code__.co_firstlineno)
        for owner in set(_STAND_INS.values()):
            replaced.set(owner, _STAND_IN, flag)
        yield


def gives_something_else(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    training: bool | None,
    flags: Set[str],
    alike: Callable[[], bool] = lambda: False,
) -> bool:
    """Whether a model gives for the example, while it is exported, more than other rounding or random numbers.

    Args:
        flags: The functions that told it of the export.
        alike: Whether what was captured gives what the model does, of which it is asked while that is told that it runs.
    """
    if any(tensor.dtype in _ROUNDED for tensor in itertools.chain(model.parameters(), model.buffers())):
        return False
    run = functools.partial(results_of_model, model, args, kwargs, training)
    try:
        with told_that_it_runs():
            results = run()
        with _told_of_an_export(flags), contextlib.suppress(Exception):  # the path of the export may not run outside of one
            if are_alike(run(), results):
                return False
        with told_that_it_runs():
            return not alike() and are_alike(run(seed=1), results)
    except Exception:  # it may not run, as one without weights
        return False
