"""Captures an ``nn.Module`` with ``torch.export``."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import logging
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from .assumptions import assumptions, freezes, holds_for
from .containers import known_results
from .data_dependent import CapturableCalls, unchecked_distributions, unmoved_modules
from .decisions import Decision, recorded_decisions
from .decomposition import without_vmap
from .dynamic_shapes import replace_names
from .emptiness import taken_as_filled
from .errors import CaptureError, ConversionWarning
from .misuse import failure_of_the_model, without_boilerplate
from .recurrent import opaque_layers, restore
from .sizes import computable_sizes, dynamic_conversions, dynamic_lengths, dynamic_tensors
from .vision import capturable_detectors

__all__ = ["DEFAULT_STRATEGIES", "STRATEGIES", "Attempt", "capture", "exporting", "failure_without_export", "mode", "user_line", "warn_of_assumptions"]


@contextlib.contextmanager
def mode(model: torch.nn.Module, training: bool | None) -> Iterator[None]:
    """The model in training or evaluation mode; None leaves it. Each module gets its own mode back."""
    if training is None:
        yield
        return
    before = [(module, module.training) for module in model.modules() if module.training != training]
    for module, _ in before:
        module.training = training
    try:
        yield
    finally:
        for module, mode in before:
            module.training = mode


@contextlib.contextmanager
def _silence(verbose: bool) -> Iterator[None]:
    """torch warns much about itself while it captures, and logs errors that it raises as well."""
    if verbose:
        yield
        return
    loud = os.environ.get("TORCH_LOGS")  # asked for
    loggers = [] if loud else [logging.getLogger(name) for name in list(logging.root.manager.loggerDict) if name.startswith("torch.")]
    before = [(logger, logger.disabled) for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.disabled = True
        from torch.export import _trace

        _trace.print = lambda *words, **options: None  # of the graph so far, where the capture fails
        try:
            yield
        finally:
            del _trace.print
            for logger, disabled in before:
                logger.disabled = disabled


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One way to capture a module, tried: its name, and what it raised if it failed."""

    strategy: str
    seconds: float
    error: Exception | None = None


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """While it is open, ``torch.onnx.is_in_onnx_export()`` is true."""
    from torch.onnx._internal.exporter import _flags

    before = _flags._is_onnx_exporting
    _flags._is_onnx_exporting = True
    try:
        yield
    finally:
        _flags._is_onnx_exporting = before


@contextlib.contextmanager
def _named_keywords(model: torch.nn.Module, kwargs: dict[str, Any]) -> Iterator[None]:
    """Keyword arguments that fall under ``**kwargs`` become parameters: torch has no dynamic shapes for them otherwise."""
    forward = model.forward
    signature = inspect.signature(forward)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    extra = [name for name in kwargs if name not in signature.parameters]
    if not extra or len(kept) == len(signature.parameters):
        yield
        return

    @functools.wraps(forward)
    def named(*args: Any, **kwargs: Any) -> Any:
        return forward(*args, **kwargs)

    made = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in extra]
    named.__signature__ = signature.replace(parameters=[*kept, *made])
    before = model.__dict__.get("forward")
    model.forward = named
    try:
        yield
    finally:
        if before is None:
            del model.forward
        else:
            model.forward = before


_NOT_THE_USERS = ("<", os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)

STRATEGIES = ("non-strict", "strict", "draft")
DEFAULT_STRATEGIES = ("non-strict", "strict")


def _export(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any, strict: bool
) -> tuple[ExportedProgram, str]:
    """The captured program, and in words what helped.

    torch is asked to leave a dynamic size of 0 or 1 dynamic (to be "oblivious" of
    it). It does so even where the model makes it a number, or broadcasts it: then
    the capture is done again, and takes 0 and 1 for constants.
    """

    def once(oblivious: bool) -> ExportedProgram:
        with (
            contextlib.nullcontext() if strict else known_results(model),
            contextlib.nullcontext() if strict else CapturableCalls(),
            contextlib.nullcontext() if strict else dynamic_tensors(),
            contextlib.nullcontext() if strict else unmoved_modules(),
            torch.fx.experimental._config.patch(backed_size_oblivious=oblivious),
        ):
            return torch.export.export(
                model, args, kwargs, dynamic_shapes=shapes, strict=strict, prefer_deferred_runtime_asserts_over_guards=True
            )

    try:
        exported = once(oblivious=True)
    except Exception as error:
        if strict or "Could not extract specialized integer" not in str(error):
            raise
        with contextlib.suppress(Exception), dynamic_conversions():
            return once(oblivious=True), ", with int and float of tensors dynamic"
        raise
    if shapes and not strict and freezes(exported):
        with contextlib.suppress(Exception), dynamic_conversions():
            kept = once(oblivious=True)
            if holds_for(kept, args, kwargs) and not freezes(kept):
                return kept, ", with int and float of sizes dynamic"
    if not shapes or holds_for(exported, args, kwargs):
        return exported, ""
    return once(oblivious=False), ", with sizes of 0 and 1 as constants"


def _refined(shapes: Any, error: Exception | None) -> Any:
    """The dynamic shapes that torch's error suggests; None if it suggests none."""
    if not isinstance(error, torch._dynamo.exc.UserError):
        return None
    try:
        return torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(error.msg, shapes)
    except Exception:  # of a helper that parses a message; then there is no suggestion
        return None


def _attempts(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    strategies: Sequence[str],
    failed: list[Attempt],
) -> Iterator[tuple[str, Callable[[], tuple[ExportedProgram, str]]]]:
    """What to try, in order; `failed` holds what was tried so far."""
    asked, lenient = replace_names(dynamic_shapes, Dim.DYNAMIC), replace_names(dynamic_shapes, Dim.AUTO)
    for strategy in strategies:
        strict = strategy == "strict"
        if strategy in ("non-strict", "strict"):
            if not strict or not failed:
                yield strategy, lambda strict=strict: _export(model, args, kwargs, asked, strict)
                error = failed[-1].error
                if asked != lenient and _is_about_shapes(error):
                    yield f"{strategy}, leaving named dimensions to torch", lambda: _export(model, args, kwargs, lenient, strict)
                elif (refined := _refined(asked, error)) is not None:
                    yield f"{strategy}, with torch's suggested fixes", lambda: _export(model, args, kwargs, refined, strict)
            else:
                yield strategy, lambda: _export(model, args, kwargs, lenient, True)
        else:
            yield strategy, lambda: (torch.export.draft_export(model, args, kwargs=kwargs, dynamic_shapes=lenient), "")
    # A strict capture may still keep such a dimension, which this one fixes; so it comes last.
    conflicts = any("conflicts between user-specified ranges" in str(attempt.error) for attempt in failed)
    if conflicts and asked != lenient and "non-strict" in strategies:
        yield "non-strict, leaving named dimensions to torch", lambda: _export(model, args, kwargs, lenient, False)


def capture(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    *,
    training: bool | None = False,
    verbose: bool = False,
    strategies: Sequence[str] | None = None,
    attempts: list[Attempt] | None = None,
    decisions: list[Decision] | None = None,
) -> ExportedProgram:
    """Capture a module.

    Dimensions that are only named ("batch") are tried as dynamic; where the
    model fixes one of them, the capture is done again and leaves that to torch.
    The engine then warns about each dimension that came out static. An example
    size of 0 or 1 does not make a dimension static.

    Args:
        training: The mode that the module is captured in; None keeps its own.
        strategies: Which of :data:`STRATEGIES` to try, in order.
        attempts: Gets what was tried; the last one succeeded.
        decisions: Gets what the capture took for granted of sizes.

    Raises:
        CaptureError: torch cannot capture the model; its error is the cause.
        ValueError: A strategy has no such name.
    """
    strategies = DEFAULT_STRATEGIES if strategies is None else tuple(strategies)
    for strategy in strategies:
        if strategy not in STRATEGIES:
            raise ValueError(f"there is no capture strategy {strategy!r}; choose from {', '.join(STRATEGIES)}")
    attempts = [] if attempts is None else attempts
    for strategy, attempt in _attempts(model, args, kwargs, dynamic_shapes, strategies, attempts):
        start = time.perf_counter()
        try:
            with (
                mode(model, training),
                _named_keywords(model, kwargs) if dynamic_shapes else contextlib.nullcontext(),
                _silence(verbose),
                exporting(),
                opaque_layers(),
                capturable_detectors(),
                computable_sizes(),
                dynamic_lengths(),
                taken_as_filled(_innermost) as asked,
                recorded_decisions() as decided,
                unchecked_distributions(),
                torch.fx.experimental._config.patch(backed_size_oblivious=True),
            ):
                exported, how = attempt()
                exported = without_vmap(exported)
            restore(exported)
        except Exception as error:
            attempts.append(Attempt(strategy, time.perf_counter() - start, error))
        else:
            attempts.append(Attempt(strategy + how, time.perf_counter() - start))
            _warn_of_emptiness(asked)
            if decisions is not None:
                decisions += decided
            return exported
    raise _failure(model, args, kwargs, training, attempts)


def _failure(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None, attempts: Sequence[Attempt]
) -> CaptureError:
    """Why nothing that was tried captured the module: for one that does not even run, what it raises."""
    if (failure := failure_without_export(model, args, kwargs, training)) is not None:
        return failure
    first = next((attempt.error for attempt in attempts if attempt.error is not None), None)
    name = type(model).__qualname__
    where, words = user_line(first), without_boilerplate(str(first))
    failure = CaptureError(
        f"torch.export cannot capture {name}{f' (at {where})' if where else ''}: {words}\n"
        f"  tried: {'; '.join(attempt.strategy for attempt in attempts)}\n"
        f"  hint: {_hint(first)}"
    )
    failure.__cause__ = first
    return failure


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
        f"{type(model).__qualname__} does not run on these arguments{f' (at {where})' if where else ''}: {type(own).__name__}: {own}"
    )
    failure.__cause__ = own
    return failure


def _hint(error: Exception | None) -> str:
    if "Unsupported input type" in str(error):
        return "arguments are tensors, numbers and text, and lists, tuples and dicts of these; arrays become tensors by torch.as_tensor"
    trace = 'capture="trace" records one run instead, with the branches that the example takes'
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, GuardOnDataDependentSymNode) or "data-dependent" in str(cause).lower():
            return f"Python decides there by a tensor's value: torch.cond, torch.where and torch.jit.script keep both ways; {trace}"
        cause = cause.__cause__ or cause.__context__
    return trace


def user_line(error: BaseException | None) -> str:
    """The innermost line outside torch from which an error came: "model.py:17: y = math.sqrt(n)"; nothing if there is none."""
    return _innermost(traceback.extract_tb(error.__traceback__)) if error is not None else ""


def _innermost(frames: traceback.StackSummary) -> str:
    for frame in reversed(frames):
        if not frame.filename.startswith(_NOT_THE_USERS):
            return f"{os.path.basename(frame.filename)}:{frame.lineno}{': ' + frame.line if frame.line else ''}"
    return ""


def _is_about_shapes(error: Exception | None) -> bool:
    """Whether torch refused a capture because the model fixes a dimension."""
    return isinstance(error, (torch._dynamo.exc.UserError, ValueError)) and "onstraint" in str(error)


def _warn_of_emptiness(lines: Sequence[str]) -> None:
    for line in lines:
        warnings.warn(
            f"the captured program takes it that there is something where the model asks whether there is{f' ({line})' if line else ''}: "
            "for none, it computes the same as for some",
            ConversionWarning,
            stacklevel=5,
        )


def warn_of_assumptions(
    exported: ExportedProgram, names: Sequence[tuple[int, int, str]], decisions: Sequence[Decision]
) -> None:
    """Warn of each condition on dynamic sizes under which the capture is right, and nothing checks it."""
    for condition, line in assumptions(exported, names, decisions).items():
        warnings.warn(
            f"the captured program is right only where {condition}: the model makes a size a number, or asks for it"
            f"{f' ({line})' if line else ''}",
            ConversionWarning,
            stacklevel=4,
        )
