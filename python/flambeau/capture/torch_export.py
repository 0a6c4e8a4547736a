"""``torch.export``, as each release has it."""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from ..torch_names import found
from .assigned_buffers import UNRECORDED, noted_assignments, recorded_assignments, with_assigned_buffers
from .replaced_functions import Replacements
from .state_between_calls import CHANGED, changed_attributes, left_by_a_run

__all__ = ["DIM", "above_autograd", "below_autograd", "draft", "load_dynamo"]

_TRACE = "torch.export._trace"
"""Imported where it is needed: with it comes Dynamo, which takes a second to load, and neither a trace nor a script needs."""


def load_dynamo() -> None:
    """Before anything is replaced: when it is loaded, Dynamo compares PyTorch's functions with its own and remembers which they are."""
    importlib.import_module(_TRACE)


DIM: type = type(Dim("any"))
"""Of what ``Dim`` gives: before torch 2.8 it is a function, and gives types."""

_DEFERRED = ("prefer_deferred_runtime_asserts_over_guards", "allow_complex_guards_as_runtime_asserts")
"""The argument that makes checks of conditions on sizes that would make a dimension static: its name, and that before torch 2.9."""


def _deferred(function: Callable[..., Any]) -> dict[str, bool]:
    return {name: True for name in _DEFERRED if name in inspect.signature(function).parameters}


def _deferring() -> contextlib.AbstractContextManager[Any]:
    """While it is open, conditions are deferred by a ``torch.export.export`` that has no argument for it."""
    replacements = Replacements()
    trace = importlib.import_module(_TRACE)
    make = trace.make_fake_inputs
    replacements.set(trace, "make_fake_inputs", lambda *args, **options: make(*args, **{**options, **_deferred(make)}))
    return replacements


def _round(self: torch.fx.Proxy, ndigits: Any = None) -> torch.fx.Proxy:
    return self.tracer.create_proxy("call_function", builtins.round, (self,) if ndigits is None else (self, ndigits), {})


def _leaving(call_module: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call_module)
    def call(self: torch.fx.Tracer, *args: Any) -> Any:
        around = len(self.module_stack)
        try:
            return call_module(self, *args)
        except BaseException:
            while len(self.module_stack) > around:
                self.module_stack.popitem()
            raise

    return call


def _as_models_need(export: Callable[..., ExportedProgram]) -> Callable[..., ExportedProgram]:
    """``torch.export`` writes what becomes of sizes with Python's operators, of which its proxies lack ``round()``; and stays
    within a module whose call raises, which the model may catch."""

    @functools.wraps(export)
    def call(*args: Any, **options: Any) -> ExportedProgram:
        with Replacements() as replacements:
            if not hasattr(torch.fx.Proxy, "__round__"):
                replacements.set(torch.fx.Proxy, "__round__", _round)
            replacements.set(torch.fx.Tracer, "call_module", _leaving(torch.fx.Tracer.call_module))
            return export(*args, **options)

    return call


@_as_models_need
def above_autograd(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic_shapes: Any, strict: bool) -> ExportedProgram:
    """As ``torch.export.export``."""
    deferred = _deferred(torch.export.export)
    with contextlib.nullcontext() if deferred else _deferring():
        export = functools.partial(torch.export.export, model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict, **deferred)
        if not strict:
            return _recording_state(model, export)
        exported = export()
    meta = exported.graph_module.meta
    meta[UNRECORDED], meta[CHANGED] = left_by_a_run(model, args, kwargs)
    return exported


@_as_models_need
def below_autograd(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic_shapes: Any, strict: bool) -> ExportedProgram:
    """The same with the operators that autograd calls."""
    export = importlib.import_module(_TRACE)._export
    with noted_assignments(model) as unrecorded:
        exported: ExportedProgram = export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict, pre_dispatch=False, **_deferred(export))
    exported.graph_module.meta[UNRECORDED] = unrecorded
    return exported


def draft(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic_shapes: Any) -> ExportedProgram:
    """As ``torch.export.draft_export``."""
    export: Any = found("torch.export.draft_export")
    return _recording_state(model, lambda: export(model, args, kwargs=kwargs, dynamic_shapes=dynamic_shapes))


def _recording_state(model: torch.nn.Module, export: Callable[[], ExportedProgram]) -> ExportedProgram:
    """What is exported, not strictly, with what its run leaves in buffers, and its graph with what it says of other attributes."""
    with recorded_assignments(model) as unrecorded, changed_attributes(model) as changed:
        exported = export()
    exported.graph_module.meta[UNRECORDED] = unrecorded
    exported.graph_module.meta[CHANGED] = changed
    return with_assigned_buffers(exported)
