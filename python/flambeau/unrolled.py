"""Loops of a module over a dynamic dimension: torch.export unrolls them, TorchScript keeps them."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.utils import _pytree

from . import _engine
from .capture import Attempt, mode
from .capture.results import are_alike, results_of, results_of_model
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


def _expected(
    script: torch.jit.ScriptModule, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None
) -> list[Any] | None:
    """What the module gives for the example; None if the script does not: TorchScript takes some Python for what it is not."""
    try:
        expected = results_of_model(model, args, kwargs, training)
        with mode(script, training):
            return expected if are_alike(results_of(script, args, kwargs), expected) else None
    except Exception:  # whatever its interpreter or the model raises
        return None


def _has_dtypes(converted: _engine.Model, expected: list[Any]) -> bool:
    """Whether numbers that the script computes with come out as the tensors that the module makes of them."""
    dtypes = [str(each.dtype).removeprefix("torch.") if isinstance(each, torch.Tensor) else "" for each in expected]
    return all(dtype in ("", output.dtype) or dtype.startswith("complex") for dtype, output in zip(dtypes, converted.outputs))


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
    expected = None if script is None else _expected(script, model, args, kwargs, TRAINING[wishes.training])
    if expected is None:
        return source
    before = options.keep_unused_inputs, options.dim_names
    tried: list[Attempt] = []
    try:
        scripted = of_script(script, args, kwargs, wishes, options, functions, tried)
        converted, _, _ = _engine.convert_with_report(scripted.build(True), options, None)
    except (OnnxExporterError, TypeError, ValueError):
        converted = None
    if converted is None or not _has_dtypes(converted, expected):
        options.keep_unused_inputs, options.dim_names = before
        return source
    attempts += tried
    return scripted
