"""What to say where a module cannot be captured, and where a capture holds only under conditions."""

from __future__ import annotations

import contextlib
import os
import re
import reprlib
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from ..errors import CaptureError, warn
from ..misuse import failure_of_the_model, without_boilerplate
from .assumptions import assumptions
from .attempt import Attempt
from .folders import OWN, TORCH
from .helps import Help
from .questions.decisions import Decision
from .questions.emptiness import FEW, MORE, ONE, SOME, SOUND
from .surroundings import mode

__all__ = [
    "failure",
    "failure_of_trace",
    "failure_without_export",
    "innermost_line",
    "is_by_data",
    "user_line",
    "warn_of_another_way",
    "warn_of_assumptions",
    "warn_of_emptiness",
    "warn_of_numbers",
    "warn_of_presence",
    "warn_of_seeds",
    "warn_of_squeezes",
    "warn_of_unasked",
    "warn_of_unrecorded_buffers",
]

_MOST_ELEMENTS = 8
_NESTED = os.path.dirname(torch.nested.__file__) + os.sep
_NOT_THE_USERS = (TORCH, OWN, "<", contextlib.__file__)


def failure(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None, attempts: Sequence[Attempt]
) -> CaptureError:
    """Why nothing that was tried captured the module: for one that does not even run, what it raises."""
    if (failure := failure_without_export(model, args, kwargs, training)) is not None:
        return failure
    failed = [attempt for attempt in attempts if attempt.error is not None]
    telling = [attempt.error for attempt in failed if Help.BELOW_AUTOGRAD in attempt.helps]  # the one before is there to find that it is needed
    first = next(iter(telling or [attempt.error for attempt in failed]), None)
    name = type(model).__qualname__
    where, words = user_line(first), without_boilerplate(str(first))
    failure = CaptureError(
        f"torch.export cannot capture {name}{f' (at {where})' if where else ''}: {words}\n"
        f"  tried: {'; '.join(attempt.strategy for attempt in attempts)}\n"
        f"  hint: {_hint(first, any(attempt.gradients for attempt in attempts))}"
    )
    failure.__cause__ = first
    return failure


_UNKNOWN = re.compile(r"We don't have an op for (\S+) but")
_OF_ELEMENTS = re.compile(r"\nTensor:\n.*", re.DOTALL)  # all of them, of a constant that the tracer refuses


def failure_of_trace(model: torch.nn.Module, error: Exception, gradients: bool) -> CaptureError:
    """Why a module could not be traced."""
    hint, words = _PAD if _makes_nested(error) else "", _OF_ELEMENTS.sub("", str(error))
    if unknown := _UNKNOWN.search(words):
        words = f"torch's own passes over the trace stop, for torch finds no operator for the {unknown[1]} that it recorded"
        hint = (
            "beside parts that are TorchScript its tracer takes no bool for a number, and no dtype for a view:"
            " give 1 for True, and 0 for False, or script that part as well"
        )
    if gradients:
        hint = 'a trace has no gradients that the model computes; torch.export has them: export with capture="export"'
    where = user_line(error)
    at, advice = f" (at {where})" if where else "", f"\n  hint: {hint}" if hint else ""
    return CaptureError(f"torch.jit.trace cannot capture {type(model).__qualname__}{at}: {words}{advice}")


def failure_without_export(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None
) -> CaptureError | None:
    """What to say where the module itself does not run on these arguments; None if it does."""
    with mode(model, training):
        own = failure_of_the_model(model, args, kwargs)
    if own is None:
        return None
    where = user_line(own)
    failure = CaptureError(
        f"{type(model).__qualname__} does not run on these arguments{f' (at {where})' if where else ''}: {type(own).__name__}: {own}\n"
        f"  given: {_described(args, kwargs)}\n"
        "  hint: it is PyTorch that refuses them: model(*args, **kwargs) has to run before the model can be converted"
    )
    failure.__cause__ = own
    return failure


def _described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The arguments by their types: "float32[3, 5], mask=bool[3]"."""

    def described(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        if isinstance(value, (list, tuple)) and len(value) <= _MOST_ELEMENTS:
            return f"({', '.join(map(described, value))})"
        if isinstance(value, dict) and len(value) <= _MOST_ELEMENTS:
            return f"{{{', '.join(f'{key!r}: {described(each)}' for key, each in value.items())}}}"
        return reprlib.repr(value)

    return ", ".join([*map(described, args), *(f"{name}={described(value)}" for name, value in kwargs.items())]) or "none"


_PAD = "ONNX has no tensor of rows of several lengths (torch.nested): pad them (torch.nn.utils.rnn.pad_sequence) and pass a mask"


def _makes_nested(error: BaseException) -> bool:
    return any(frame.filename.startswith(_NESTED) for frame in traceback.extract_tb(error.__traceback__))


def _hint(error: Exception | None, gradients: bool) -> str:
    if "Unsupported input type" in str(error):
        return "arguments are tensors, numbers and text, and lists, tuples and dicts of these; arrays become tensors by torch.as_tensor"
    trace = 'capture="trace" records one run instead, with the branches that the example takes'
    if gradients:
        return "gradients by torch.autograd.grad, torch.func and backward() can be captured, and steps of most optimizers"
    if error is not None and _makes_nested(error):
        return _PAD
    if is_by_data(error):
        return f"Python decides there by a tensor's value: torch.cond, torch.where and torch.jit.script keep both branches; {trace}"
    return trace


def is_by_data(error: BaseException | None) -> bool:
    """Whether a capture failed because Python decides by a tensor's value."""
    while error is not None:
        if isinstance(error, GuardOnDataDependentSymNode) or "data-dependent" in str(error).lower():
            return True
        error = error.__cause__ or error.__context__
    return False


def user_line(error: BaseException | None) -> str:
    """The innermost line outside torch from which an error came: "model.py:17: y = math.sqrt(n)"; nothing if there is none."""
    return innermost_line(traceback.extract_tb(error.__traceback__)) if error is not None else ""


def innermost_line(frames: traceback.StackSummary) -> str:
    for frame in reversed(frames):
        if not frame.filename.startswith(_NOT_THE_USERS):
            return f"{os.path.basename(frame.filename)}:{frame.lineno}{': ' + frame.line if frame.line else ''}"
    return ""


def _line_of(node: torch.fx.Node) -> str:
    """The user's line that called the node."""
    frames = re.findall(r'File "(.+)", line (\d+), in .*\n +(.*)', node.meta.get("stack_trace") or "")
    return innermost_line(traceback.StackSummary.from_list([(name, int(number), "", text) for name, number, text in frames]))


_OTHERWISE = {SOME: "none, it computes the same as for some", MORE: "none or one, it computes the same as for some", ONE: "more, it computes the same as for one"}
"""By what is taken to be there."""


def _at(line: str) -> str:
    return f" ({line})" if line else ""


def warn_of_emptiness(lines: Mapping[str, str]) -> None:
    for line, taken in lines.items():
        if taken == SOUND:
            warn(
                f"the captured program assumes that matrices have the factors that the model looks for, where it asks for that{_at(line)}:"
                " for others, it goes on with what is no number or infinite"
            )
            continue
        if taken == FEW:
            warn(
                f"the captured program assumes that a size which data decides is as small as in the example, where the model asks for that{_at(line)}:"
                " for a larger one, it computes the same as for this"
            )
            continue
        warn(f"the captured program assumes that there is {taken} where the model asks whether there is{_at(line)}: for {_OTHERWISE[taken]}")


def warn_of_numbers(lines: Sequence[str]) -> None:
    for line in lines:
        warn(
            f"the captured program assumes that there is no NaN in what the model compares with itself{_at(line)}:"
            " for NaN, it computes the same as for numbers"
        )


def warn_of_presence(lines: Sequence[str]) -> None:
    for line in lines:
        warn(
            "the captured program assumes that some elements are set and some are not, that no count is 0 and that each index occurs, where the"
            f" model asks for that{_at(line)}: for the other cases, it computes the same as for this"
        )


def warn_of_squeezes(nodes: Iterable[torch.fx.Node]) -> None:
    for line in dict.fromkeys(_line_of(node) for node in nodes):
        warn(
            f"the captured program keeps a dynamic dimension that has size 1 in the example, and that the model squeezes{_at(line)}:"
            " for that size, the ONNX model's result has more dimensions than PyTorch's"
        )


def warn_of_seeds(lines: Iterable[str]) -> None:
    for line in lines:
        warn(f"the model seeds random numbers{_at(line)}: those that the ONNX model draws are others")


def warn_of_unasked(lines: Mapping[str, str]) -> None:
    for line, what in lines.items():
        warn(f"the model {what}{_at(line)}: for other sizes than the example's, the ONNX model goes on as for that one, or as if no other were equal to it")


def warn_of_unrecorded_buffers(paths: Collection[str], capture: str = "torch.export") -> None:
    if paths:
        warn(f"the model assigns another tensor to {', '.join(map(repr, paths))}, which {capture} does not record: the new values are no outputs")


def warn_of_another_way(lines: Mapping[str, str]) -> None:
    asking = "; ".join(filter(None, lines.values()))
    warn(
        f"the model takes another path while it is exported{_at(asking)}, which gives something else for the example than PyTorch's run:"
        " the ONNX model computes the path of the export"
    )


def warn_of_assumptions(
    exported: ExportedProgram, names: Sequence[tuple[int, int, str]], decisions: Sequence[Decision]
) -> None:
    """Warn of each condition on dynamic sizes under which the capture is right, and nothing checks it."""
    for condition, line in assumptions(exported, names, decisions).items():
        warn(f"the captured program is right only where {condition}: the model branches on such a size, or makes it a number{_at(line)}")
