"""Captures an ``nn.Module`` with ``torch.export``."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from .dynamic_shapes import replace_names
from .errors import CaptureError
from .recurrent import opaque_layers, restore

__all__ = ["capture", "mode"]


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
    """torch warns much about itself while it captures."""
    with contextlib.ExitStack() as stack:
        if not verbose:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        yield


def capture(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    *,
    training: bool | None = False,
    verbose: bool = False,
) -> ExportedProgram:
    """Capture a module.

    Dimensions that are only named ("batch") are tried as dynamic; where the
    model fixes one of them, the capture is done again and leaves that to torch.
    The engine then warns about each dimension that came out static. An example
    size of 0 or 1 does not make a dimension static.

    Args:
        training: The mode that the module is captured in; None keeps its own.

    Raises:
        CaptureError: torch cannot capture the model; its error is the cause.
    """
    attempts = [(Dim.DYNAMIC, False), (Dim.AUTO, False), (Dim.AUTO, True)]
    named = replace_names(dynamic_shapes, Dim.DYNAMIC) != replace_names(dynamic_shapes, Dim.AUTO)
    first: Exception | None = None
    for hint, strict in attempts:
        if hint is Dim.AUTO and not strict and not (named and _is_about_shapes(first)):
            continue
        try:
            with (
                mode(model, training),
                _silence(verbose),
                opaque_layers(),
                torch.fx.experimental._config.patch(backed_size_oblivious=True),
            ):
                exported = torch.export.export(
                    model,
                    args,
                    kwargs,
                    dynamic_shapes=replace_names(dynamic_shapes, hint),
                    strict=strict,
                    prefer_deferred_runtime_asserts_over_guards=True,
                )
            restore(exported)
            return exported
        except Exception as error:
            first = first or error
    name = type(model).__qualname__
    raise CaptureError(f"torch.export cannot capture {name}: {first}") from first


def _is_about_shapes(error: Exception | None) -> bool:
    """Whether torch refused a capture because the model fixes a dimension."""
    return isinstance(error, (torch._dynamo.exc.UserError, ValueError)) and "onstraint" in str(error)
