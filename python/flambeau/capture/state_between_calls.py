"""What a model keeps from one call to the next in plain attributes: no output of a program, so that each run begins as the first call."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch

from ..errors import warn
from ..held import held_by
from ..state import kept_attributes, kept_tensors
from .assigned_buffers import noted_assignments
from .buffer_tables import BufferTables, watched_buffers
from .operators.flex_attention import dense_flex_attention
from .results import are_alike, results_of
from .surroundings import mode

__all__ = ["CHANGED", "changed_attributes", "left_by_a_run", "warn_of_state_between_calls"]

CHANGED = "flambeau_changed_attributes"
"""Where the graph of an ExportedProgram keeps the paths of attributes that its capture left changed."""

_MOST_NAMES = 5


@contextlib.contextmanager
def changed_attributes(model: torch.nn.Module) -> Iterator[list[str]]:
    """Gives the paths of attributes of modules that the last call of the model left changed, before torch.export puts them back.

    Also of buffers that there were not before: a program has none in their place.
    """
    held, found = held_by(model), list[str]()

    def look(*_: Any) -> None:
        found[:] = [*held.changed(model), *tables.filled()]

    with watched_buffers(model) as tables:
        hook = model.register_forward_hook(look)
        try:
            yield found
        finally:
            hook.remove()


def left_by_a_run(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Collection[str], list[str]]:
    """The paths of the buffers to which a run assigns another tensor, and of other attributes that it changes: no strict capture says."""
    with kept_attributes(model), noted_assignments(model) as assigned, torch.compiler.set_stance("force_eager"):
        with changed_attributes(model) as changed, contextlib.suppress(Exception):
            results_of(model, args, kwargs, kept=kept_tensors)
    return assigned, changed


def warn_of_state_between_calls(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None, changed: Sequence[str]
) -> None:
    """Most attributes that a call leaves changed hold what is only looked at, or computed but once: two calls tell.

    Args:
        changed: Their paths.
    """
    if not changed or not _calls_differ(model, args, kwargs, training):
        return
    names = ", ".join(map(repr, changed[:_MOST_NAMES])) + (f" and {len(changed) - _MOST_NAMES} more" if len(changed) > _MOST_NAMES else "")
    warn(
        f"the model changes {names}, and a second call with the example gives something else: each run of the ONNX model begins as the first"
        " call; keep state in a buffer, and ask for state outputs to get it"
    )


@contextlib.contextmanager
def _kept_but_filled(model: torch.nn.Module) -> Iterator[None]:
    """As :func:`kept_tensors`, but for buffers that there were not before: these are no outputs."""
    tables = BufferTables(model)
    with kept_tensors(model):
        yield
        filled = tables.filled()
    tables.put(filled)


def _calls_differ(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None) -> bool:
    try:
        with kept_attributes(model), mode(model, training), torch.compiler.set_stance("force_eager"), dense_flex_attention():
            first, second = (results_of(model, args, kwargs, kept=_kept_but_filled) for _ in range(2))
    except Exception:  # the model may not take what was made
        return False
    return not are_alike(second, first)
