"""What torch.export cannot keep, TorchScript may: loops over a dynamic dimension, and branches that data decides."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import torch
from torch.utils import _pytree

from . import _engine
from .capture import Attempt, mode
from .capture.questions.general import examples_of_special_cases
from .capture.results import are_alike, results_of, results_of_model
from .errors import OnnxExporterError
from .onnx._python_ops import Translations
from .script_sources import other_for_scripts
from .sources import CaptureOptions, Source, of_script
from .state import kept_attributes

__all__ = ["NoScriptError", "as_script"]


_LEAVES = (torch.Tensor, bool, int, float, str, type(None))
"""What arguments are made of; all but tensors are constants, as they are to torch.export."""


class NoScriptError(Exception):
    """A module cannot be converted as a script; the message says why."""


def _script(model: torch.nn.Module, training: bool | None) -> torch.jit.ScriptModule:
    with mode(model, training), kept_attributes(model), warnings.catch_warnings():  # torch notes overloads in the module
        warnings.simplefilter("ignore")
        try:
            return torch.jit.script(model)
        except Exception as error:  # of a compiler that knows a part of Python
            raise NoScriptError(f"torch.jit.script does not take the module: {_first_words(error)}") from error


def _first_words(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]).rstrip(":.") or type(error).__name__


def _expected(
    script: torch.jit.ScriptModule, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None
) -> list[Any]:
    """What the module gives for the example.

    Raises:
        NoScriptError: The script gives something else, there or for other numbers, which may decide otherwise: TorchScript takes
            some Python for what it is not.
    """
    results: list[list[Any]] = []
    examples = examples_of_special_cases(args, kwargs)
    for given, named in itertools.islice(examples, 1) if _counts_by_data(script) else examples:
        try:
            results.append(results_of_model(model, given, named, training))
        except Exception as error:  # the model may not take what was made
            if not results:
                raise NoScriptError("the module does not run on the example") from error
            continue
        try:
            with mode(script, training):
                alike = are_alike(results_of(script, given, named), results[-1])
        except Exception as error:  # whatever its interpreter raises
            raise NoScriptError("torch.jit.script makes something else of it, which does not run") from error
        if not alike:
            raise NoScriptError("torch.jit.script makes something else of it, with other results")
    return results[0]


_COUNTING = ("prim::Loop", "aten::Int", "aten::IntImplicit", "aten::item", "prim::tolist")


def _counts_by_data(script: torch.jit.ScriptModule) -> bool:
    """Whether data may say how often something is done, or how large something is: for other numbers, too often or too large."""
    graph = script.inlined_graph
    return any(graph.findAllNodes(kind) for kind in _COUNTING)


def _writes_state(script: torch.jit.ScriptModule) -> bool:
    """Whether a run may change what the module holds, which may decide otherwise in the next."""
    graph = script.inlined_graph
    aliases = graph.alias_db()
    containers = [each for each in _held(graph) if each.type().kind() in ("ListType", "DictType")]
    if any("Tensor" in each.type().annotation_str or aliases.has_writers(each) for each in containers):
        return True
    if not script.training:  # what a run in evaluation does not do is left out
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            script = torch.jit.freeze(script, optimize_numerics=False)
        graph = script.inlined_graph
        aliases = graph.alias_db()
    values = [each for each in _held(graph) if each.type().isSubtypeOf(torch._C.TensorType.get())]
    written = [next(node.inputs()).node() for node in graph.findAllNodes("prim::SetAttr")]
    return any(each.kind() != "prim::CreateObject" for each in written) or any(map(aliases.has_writers, values))


def _held(graph: Any) -> list[Any]:
    """What is read of the module, and of what it holds, but not of what the run made."""
    reads = graph.findAllNodes("prim::GetAttr")
    return [node.output() for node in reads if next(node.inputs()).node().kind() != "prim::CreateObject"]


def _has_dtypes(converted: _engine.Model, expected: list[Any]) -> bool:
    """Whether numbers that the script computes with come out as the tensors that the module makes of them."""
    dtypes = [str(each.dtype).removeprefix("torch.") if isinstance(each, torch.Tensor) else "" for each in expected]
    return all(dtype in ("", output.dtype) or dtype.startswith("complex") for dtype, output in zip(dtypes, converted.outputs))


def as_script(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    capture_options: CaptureOptions,
    options: _engine.Options,
    functions: Translations,
    attempts: list[Attempt],
    *,
    branches: bool = False,
) -> Source:
    """The module as a script.

    Args:
        branches: Whether its branches are what is to be kept; then it may have no state that a run changes.

    Raises:
        NoScriptError: TorchScript does not take its Python, makes something else of it, or the script cannot be converted.
    """
    if not isinstance(model, torch.nn.Module) or not all(isinstance(leaf, _LEAVES) for leaf in _pytree.tree_leaves((args, kwargs))):
        raise NoScriptError("an argument is of a type that scripts do not take")
    if branches and (other := other_for_scripts(model)) is not None:
        raise NoScriptError(f"TorchScript would take other code: {other}")
    script = _script(model, capture_options.training_mode)
    if branches and _writes_state(script):
        raise NoScriptError("the module writes what it holds, or holds lists of tensors, which may decide in its next run")
    expected = _expected(script, model, args, kwargs, capture_options.training_mode)
    before = options.keep_unused_inputs, options.dim_names
    refused: Exception | None = None
    tried: list[Attempt] = []
    try:
        scripted = of_script(script, args, kwargs, capture_options, options, functions, tried)
        converted, _, _ = _engine.convert_with_report(scripted.build(True), options, None)
    except (OnnxExporterError, TypeError, ValueError) as error:
        converted, refused = None, error
    if converted is None or not _has_dtypes(converted, expected):
        options.keep_unused_inputs, options.dim_names = before
        reason = f": {_first_words(refused)}" if refused is not None else ", for a result would have another dtype"
        raise NoScriptError(f"the script cannot be converted{reason}") from refused
    attempts += tried
    return scripted
