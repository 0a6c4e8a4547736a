"""What surrounds a run of the module while it is captured."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from ..torch_names import found
from .containers import caches_as_they_are
from .folders import OWN, TORCH
from .replaced_functions import Replacements, replaced_functions

__all__ = [
    "autocast_within",
    "casting_anew",
    "exporting",
    "lines_of_models",
    "mode",
    "named_keywords",
    "one_capture_at_a_time",
    "silence",
    "unexplained_recompilations",
    "unoptimized_scripts",
    "unprofiled",
]


_ONE_AT_A_TIME = threading.RLock()


def _renew() -> None:
    """A forked child has none of the threads that may hold the lock."""
    global _ONE_AT_A_TIME
    _ONE_AT_A_TIME = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextlib.contextmanager
def one_capture_at_a_time() -> Iterator[None]:
    """While it is open, no other thread captures: a capture changes functions of Python's and torch's for the whole process, and puts them back."""
    with _ONE_AT_A_TIME, caches_as_they_are(), _kept_default_dtype():
        yield


@contextlib.contextmanager
def _kept_default_dtype() -> Iterator[None]:
    before = torch.get_default_dtype()
    try:
        yield
    finally:
        if torch.get_default_dtype() != before:
            torch.set_default_dtype(before)


@contextlib.contextmanager
def mode(model: torch.nn.Module, training: bool | None) -> Iterator[None]:
    """The model in training or evaluation mode; None leaves it. Each module gets its own mode back."""
    if training is None:
        yield
        return
    modes = ((module, getattr(module, "training", None)) for module in model.modules())  # a frozen script has none
    before = [(module, own) for module, own in modes if own is not None and own != training]
    for module, _ in before:
        module.training = training
    try:
        yield
    finally:
        for module, mode in before:
            module.training = mode


@contextlib.contextmanager
def silence(verbose: bool) -> Iterator[None]:
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
            vars(_trace).pop("print", None)  # another thread may have been here
            for logger, disabled in before:
                logger.disabled = disabled


def unexplained_recompilations() -> contextlib.AbstractContextManager[None]:
    """While it is open, Dynamo does not look why it compiles a scan or branch again: that asks the sizes what held for an earlier one."""
    return replaced_functions({("torch._dynamo.guards", "get_and_maybe_log_recompilation_reasons"): lambda *args, **kwargs: []})


@contextlib.contextmanager
def lines_of_models() -> Iterator[None]:
    """While it is open, torch takes no function of its own for the one that decided a size, nor of Flambeau's that stands around these."""

    def deciding(env: ShapeEnv) -> Any:
        frame = inspect.currentframe()
        while frame is not None and frame.f_code.co_filename.startswith((TORCH, OWN, "<")):
            frame = frame.f_back
        return frame or own(env)

    own = getattr(ShapeEnv, "_get_user_frame", None)
    with Replacements() as replacements:
        if own is not None:  # else a release of torch that asks otherwise
            replacements.set(ShapeEnv, "_get_user_frame", deciding)
        yield


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """While it is open, ``torch.onnx.is_in_onnx_export()`` is true."""
    flags = found("torch.onnx._internal.exporter._flags")
    with Replacements() as replacements:
        if flags is not None:  # else torch has but one flag, for its TorchScript exporter
            replacements.set(flags, "_is_onnx_exporting", True)
        yield


@contextlib.contextmanager
def named_keywords(model: torch.nn.Module, kwargs: dict[str, Any]) -> Iterator[None]:
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
    with _with_forward(model, named):
        yield


@contextlib.contextmanager
def autocast_within(model: torch.nn.Module) -> Iterator[None]:
    """``torch.autocast`` around the export becomes one within the module: torch.export keeps no other."""
    if not torch.is_autocast_enabled("cpu"):
        yield
        return
    forward, dtype = model.forward, torch.get_autocast_dtype("cpu")

    @functools.wraps(forward)
    def cast(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", dtype=dtype):
            return forward(*args, **kwargs)

    with _with_forward(model, cast), torch.autocast("cpu", enabled=False):
        yield


@contextlib.contextmanager
def _with_forward(model: torch.nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    before = model.__dict__.get("forward")
    model.forward = forward
    try:
        yield
    finally:
        if before is None:
            del model.forward
        else:
            model.forward = before


@contextlib.contextmanager
def casting_anew() -> Iterator[None]:
    """While it is open, autocast casts weights each time: what it cast before is a constant to a trace."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    torch.clear_autocast_cache()
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def unoptimized_scripts() -> contextlib.AbstractContextManager[None]:
    """While it is open, TorchScript runs its programs as they are: to make them faster it compares their constants, which tensors without
    data cannot be.
    """
    return torch.jit.optimized_execution(False)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def unprofiled() -> Iterator[None]:
    """While it is open, the profiler is not told of the blocks that a model marks for it, as optimizers mark their steps: what it gives for one
    is no tensor, and recorded where gradients are.
    """

    def __enter__(self: Any) -> Any:
        return self

    def __exit__(self: Any, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        pass

    with Replacements() as replaced:
        for method in (__enter__, __exit__):
            replaced.set(torch.autograd.profiler.record_function, method.__name__, method)
        yield
