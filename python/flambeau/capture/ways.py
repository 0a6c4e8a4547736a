"""The ways in which ``torch.export`` is asked to capture a module: what to try, in order, where another one failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from .attempt import Attempt
from .dynamic_shapes import replace_names
from .helps import Help
from .operators.gradients import above_autograd, export_below_autograd
from .remedies import CONFLICTS, Helped, Remedies, is_about_shapes, with_remedies
from .sizes.numpys_functions import fails_in_numpy, numbers_in_arrays
from .torch_export import draft

__all__ = ["Capture", "Way", "ways"]

Capture = Callable[[Remedies], Helped]


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to capture a module."""

    name: str
    capture: Capture
    helps: tuple[Help, ...] = ()
    """What it has of itself."""


def _refined(shapes: Any, error: Exception | None) -> Any:
    """The dynamic shapes that torch's error suggests; None if it suggests none."""
    if not isinstance(error, torch._dynamo.exc.UserError):
        return None
    try:
        return torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(error.msg, shapes)
    except Exception:  # of a helper that parses a message; then there is no suggestion
        return None


def ways(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    strategies: Sequence[str],
    failed: list[Attempt],
) -> Iterator[Way]:
    """What to try, in order; `failed` holds what was tried so far."""
    asked, lenient = replace_names(dynamic_shapes, Dim.DYNAMIC), replace_names(dynamic_shapes, Dim.AUTO)

    def exported(shapes: Any, strict: bool, *export: Callable[..., ExportedProgram]) -> Capture:
        return lambda remedies: with_remedies(model, args, kwargs, shapes, strict, remedies, *export)

    for strategy in strategies:
        strict = strategy == "strict"
        if strategy == "draft":
            yield Way(strategy, lambda _: (draft(model, args, kwargs, dynamic_shapes=lenient), ()))
            continue
        if strict and failed:
            yield Way(strategy, exported(lenient, strict))
            continue
        first = exported(asked, strict)
        yield Way(strategy, first if strict else lambda remedies, first=first: above_autograd(lambda: first(remedies)))
        error = failed[-1].error
        if not strict and error is not None and failed[-1].gradients:
            yield Way(strategy, exported(lenient, strict, export_below_autograd), (Help.BELOW_AUTOGRAD,))
        if asked != lenient and is_about_shapes(error):
            yield Way(f"{strategy}, leaving named dimensions to torch", exported(lenient, strict))
        elif (refined := _refined(asked, error)) is not None:
            yield Way(f"{strategy}, with torch's suggested fixes", exported(refined, strict))
    if "non-strict" not in strategies:
        return
    # A strict capture may still keep such a dimension, which this one fixes; so it comes last.
    if asked != lenient and any(CONFLICTS in str(attempt.error) for attempt in failed):
        yield Way("non-strict, leaving named dimensions to torch", exported(lenient, False))
    if asked and any(fails_in_numpy(attempt.error) for attempt in failed):

        def with_numbers(remedies: Remedies) -> Helped:
            with numbers_in_arrays():
                return exported(lenient, False)(remedies)

        yield Way("non-strict, with the example's sizes in NumPy's arrays", with_numbers)
