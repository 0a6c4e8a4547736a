"""Loops of a module over a dynamic dimension: torch.export unrolls them, TorchScript keeps them."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.utils import _pytree

from . import _engine
from .capture import Attempt, mode
from .capture.assumptions import runs_alike
from .errors import OnnxExporterError
from .onnx._python_ops import Translations
from .sources import TRAINING, Source, Wishes, of_script

__all__ = ["with_loops"]


def _script(model: torch.nn.Module, training: bool | None) -> torch.jit.ScriptModule | None:
    """The module in TorchScript; None if that does not take its Python."""
    with mode(model, training), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.jit.script(model)
        except Exception:  # of a compiler that knows a part of Python
            return None


def _does_alike(
    script: torch.jit.ScriptModule, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None
) -> bool:
    """Whether the script gives for the example what the module does: TorchScript takes some Python for what it is not."""
    try:
        with mode(script, training):
            return runs_alike(script, model, args, kwargs, training)
    except Exception:  # whatever its interpreter or the model raises
        return False


def with_loops(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    source: Source,
    wishes: Wishes,
    options: _engine.Options,
    functions: Translations,
    attempts: list[Attempt],
) -> Source:
    """The module as a script if its capture unrolled a loop over a dynamic dimension, and the script can be converted; else `source`."""
    tensors = all(isinstance(leaf, torch.Tensor) for leaf in _pytree.tree_leaves((args, kwargs)))
    unrolled = any(attempt.unrolled for attempt in attempts)
    if not isinstance(model, torch.nn.Module) or not tensors or not unrolled:
        return source
    script = _script(model, TRAINING[wishes.training])
    if script is None or not _does_alike(script, model, args, kwargs, TRAINING[wishes.training]):
        return source
    before = options.keep_unused_inputs, options.dim_names
    tried: list[Attempt] = []
    try:
        scripted = of_script(script, args, kwargs, wishes, options, functions, tried)
        converted, _, _ = _engine.convert_with_report(scripted.build(True), options, None)
    except (OnnxExporterError, TypeError, ValueError):
        converted = None
    if converted is None:
        options.keep_unused_inputs, options.dim_names = before
        return source
    attempts += tried
    return scripted
