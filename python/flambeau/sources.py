"""What a conversion starts from: an archive, a captured program, or a TorchScript program."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind
from torch.utils import _pytree

from . import _engine, conversion
from .archived import ArchivedProgram
from .artifacts import Artifacts
from .calls import FORWARD, CapturedCall, captured_call, forward_of
from .capture import Attempt, capture, mode
from .capture.assigned_buffers import UNRECORDED
from .capture.attempt import attempted
from .capture.containers import register_containers, warn_of_windows
from .capture.decomposition import without_composites, without_newer_operators
from .capture.dynamic_shapes import (
    all_names,
    by_argument,
    dimension_names,
    from_dynamic_axes,
    in_signature_order,
    model_arguments,
    output_dimension_names,
    program_arguments,
    root_names,
    tensor_names,
)
from .capture.failures import warn_of_unrecorded_buffers
from .capture.held_constants import name_held_constants
from .capture.operators.gradient_operators import without_gradients
from .capture.operators.vmaps import without_vmap
from .capture.questions.decisions import Decision
from .capture.state_between_calls import CHANGED, warn_of_state_between_calls
from .capture.traces.tracing import trace
from .errors import CaptureError, UnsupportedOptionError, warn
from .feed.exported_program import DimensionName, build_program
from .feed.script_inputs import (
    SCRIPTS,
    Script,
    describe_inputs,
    example_arguments,
    has_numbers,
    mark_numbers,
    mark_stand_ins,
    module_of,
    numbers_as_tensors,
    script_arguments,
    script_numbers_as_tensors,
    script_parameters,
    script_signature,
    takes_packed,
    tensor_input,
)
from .feed.script_program import build_script_program
from .feed.trace import Trace
from .onnx._enums import TrainingMode
from .onnx._python_ops import Translations

__all__ = ["CaptureOptions", "Source", "of_archive", "of_export", "of_script"]

_TRAINING = {TrainingMode.EVAL: False, TrainingMode.PRESERVE: None, TrainingMode.TRAINING: True}


@dataclasses.dataclass(frozen=True)
class Source:
    """A program that the engine can be given.

    Attributes:
        build: Makes the engine's program, with or without parameters.
        exported: What torch.export captured, if it did.
        dynamic_shapes: As torch.export.export takes them.
        dimension_names: The names of the inputs' dimensions.
        decisions: What the capture took for granted of sizes.
        diagnostics: What the engine warned of when the program was last made.
        call: How it was called, where ``exported`` does not say so.
        weights: The state_dict of the module, where there is one and no ``exported``.
        input_count: How many tensors a script is called with: names after theirs are names of weights.
    """

    build: Callable[[bool], _engine.Program]
    exported: ExportedProgram | None = None
    dynamic_shapes: Any = None
    dimension_names: Sequence[DimensionName] = ()
    decisions: Sequence[Decision] = ()
    diagnostics: list[_engine.Diagnostic] = dataclasses.field(default_factory=list)
    call: CapturedCall | None = None
    weights: Mapping[str, torch.Tensor] = dataclasses.field(default_factory=dict)
    input_count: int = 0


@dataclasses.dataclass(frozen=True)
class CaptureOptions:
    """The arguments of :func:`flambeau.export` that say how to capture; the engine never sees them."""

    dynamic_shapes: Any
    dynamic_axes: Mapping[str, Any] | None
    input_names: Sequence[str]
    output_names: Sequence[str]
    training: TrainingMode
    verbose: bool | None
    strategies: Sequence[str] | None
    torchscript: bool = False
    """Whether inputs and names are those of torch's TorchScript exporter (``dynamo=False``)."""
    capture: str | None = None
    """``"export"`` or ``"trace"``; None goes by ``torchscript``."""
    may_script: bool = True
    """Whether a script may stand in for a capture that fails, or that makes a dynamic size a number."""
    keeps_function: Callable[[Any], bool] = lambda function: False
    """Which functions of autograd are operators of a trace."""

    @property
    def training_mode(self) -> bool | None:
        """The mode in which a module is captured; None leaves it as it is."""
        return _TRAINING[self.training]

    def known_axes(self, arguments: Mapping[str, Any], input_names: Sequence[str]) -> dict[str, Any]:
        """``dynamic_axes`` without what is neither input nor output, a weight or a None, which is warned of.

        Args:
            input_names: Of all inputs, and of weights after them.
        """
        of_tensors = (name for name, value in arguments.items() if isinstance(value, torch.Tensor))
        known = {*input_names[: _tensor_count(list(arguments.values()))], *self.output_names, *of_tensors}
        axes = dict(self.dynamic_axes or {})
        for name in [name for name in axes if name not in known]:
            warn(f"dynamic_axes names {name!r}, which is no input or output; it is ignored")
            del axes[name]
        return axes

    @property
    def falls_back_to_trace(self) -> bool:
        return "torchscript" in (self.strategies or ())

    @property
    def export_strategies(self) -> Sequence[str] | None:
        """The strategies that are torch.export's."""
        return None if self.strategies is None else [name for name in self.strategies if name != "torchscript"]


def of_archive(archive: ArchivedProgram, capture_options: CaptureOptions, options: _engine.Options) -> Source:
    """An archive, which the engine reads by itself."""
    for name, given in (("dynamic_shapes", capture_options.dynamic_shapes), ("dynamic_axes", capture_options.dynamic_axes)):
        if given is not None:
            raise UnsupportedOptionError(
                f"'{name}' cannot change an archive; its dynamic dimensions were decided by the capture "
                "(name them with flambeau.save or flambeau.convert(dim_names=...))"
            )
    diagnostics: list[_engine.Diagnostic] = []
    return Source(lambda export_params: conversion.read(archive.path, options, diagnostics), diagnostics=diagnostics)


def of_export(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    capture_options: CaptureOptions,
    options: _engine.Options,
    artifacts: Artifacts,
    kept: Collection[str],
    *,
    dump: bool,
) -> Source:
    """A program that was captured, or a module that torch.export captures; the options get the dimensions' names.

    Args:
        kept: Operators that are not to be written out (see :func:`.decomposition.without_composites`).
        dump: Whether the program is among the artifacts.

    Raises:
        CaptureError: torch.export cannot capture the module.
        TypeError: The model is neither.
    """
    if not isinstance(model, (torch.nn.Module, ExportedProgram)):
        raise TypeError(f"{_what_it_is(model)}; it must be an nn.Module, an ExportedProgram or a path")
    live = isinstance(model, torch.nn.Module)
    register_containers(args, kwargs, given=True)
    warn_of_windows(args, kwargs)
    arguments = model_arguments(model, args, kwargs) if live else program_arguments(model)
    shapes = capture_options.dynamic_shapes
    output_axes: dict[str, dict[int, str]] = {}
    input_names = all_names(tensor_names(capture_options.input_names, arguments), arguments, by_key=True)
    if shapes is None and capture_options.dynamic_axes is not None:
        shapes, output_axes = from_dynamic_axes(capture_options.dynamic_axes, arguments, input_names, capture_options.output_names)
    shapes = by_argument(shapes, arguments, input_names, model if live else None)
    names = dimension_names(arguments, shapes)
    exported = model
    decisions: list[Decision] = []
    if live:
        exported = capture(
            model,
            args,
            kwargs,
            shapes,
            training=capture_options.training_mode,
            verbose=bool(capture_options.verbose),
            strategies=capture_options.export_strategies,
            attempts=artifacts.attempts,
            decisions=decisions,
        )
        name_held_constants(exported, model)
        warn_of_unrecorded_buffers(exported.graph_module.meta.get(UNRECORDED, ()))
        warn_of_state_between_calls(model, args, kwargs, capture_options.training_mode, exported.graph_module.meta.get(CHANGED, ()))
    symbols = root_names(exported, arguments, shapes, names)
    symbols |= output_dimension_names(exported, capture_options.output_names, output_axes)
    if dump:
        artifacts.dump(exported)
    exported = without_gradients(without_composites(without_newer_operators(without_vmap(exported), options.opset), kept), kept)
    if live:
        exported.graph_module.meta[FORWARD] = forward_of(model)
    options.dim_names = list(symbols.items())
    options.input_names = _of_graph_inputs(capture_options.input_names, exported)
    guards = () if live else getattr(model, "_guards_code", ())  # of a module, its decisions say as much, and where
    diagnostics: list[_engine.Diagnostic] = []

    def build(export_params: bool) -> _engine.Program:
        return build_program(exported, dimension_names=names, export_params=export_params, guards=guards, diagnostics=diagnostics)

    return Source(build, exported, shapes, names, decisions, diagnostics)


def _what_it_is(model: Any) -> str:
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        return f"the model is the class {model.__qualname__}, not a module: call {model.__qualname__}(...) to make one"
    hint = ": call it in the forward of an nn.Module, or script it with torch.jit.script" if callable(model) and not isinstance(model, type) else ""
    return f"the model is of the type {type(model).__qualname__}{hint}"


def _of_graph_inputs(input_names: Sequence[str], exported: ExportedProgram) -> list[str]:
    """The names without those of numbers and of None, which a program holds as constants, where all arguments are named."""
    given = [spec.arg for spec in exported.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
    if len(input_names) != len(given):
        return list(input_names)
    return [name for name, argument in zip(input_names, given) if not isinstance(argument, ConstantArgument)]


def of_script(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    capture_options: CaptureOptions,
    options: _engine.Options,
    functions: Translations,
    attempts: list[Attempt],
) -> Source:
    """A TorchScript program, or a module that is traced; the options get the dimensions' names."""
    with attempted("torchscript", attempts):
        given = args, kwargs
        try:
            if capture_options.torchscript and isinstance(model, SCRIPTS):
                given = script_numbers_as_tensors(model, args, kwargs)
            elif capture_options.torchscript:
                kwargs = in_signature_order(model, kwargs)
                given = numbers_as_tensors(args, kwargs)
            script, inputs, output_axes = _script(model, *given, capture_options)
            if capture_options.torchscript and isinstance(model, SCRIPTS):
                mark_numbers(inputs, model, args, kwargs)
            elif capture_options.torchscript:
                mark_stand_ins(inputs, model_arguments(model, args, kwargs))
        except CaptureError:
            if not capture_options.torchscript or isinstance(model, SCRIPTS) or not has_numbers(args, kwargs):
                raise
            # Python computes with the numbers what a tensor can't say: they are constant.
            given = args, kwargs
            script, inputs, output_axes = _script(model, args, kwargs, capture_options)
    if not isinstance(model, SCRIPTS):
        options.input_names = list(tensor_names(capture_options.input_names, model_arguments(model, *given)))
        options.weight_names = list(model.state_dict(keep_vars=True))
    options.keep_unused_inputs = not capture_options.torchscript
    options.dim_names = [(f"{name}.{axis}", word) for name, axes in output_axes.items() for axis, word in axes.items()]
    bound, packed = not isinstance(model, SCRIPTS), takes_packed(args)
    examples = None if bound or packed else example_arguments(model, args, kwargs)
    diagnostics: list[_engine.Diagnostic] = []
    module = model if bound else module_of(model)  # a trace holds scripts, which read their mode

    def build(export_params: bool) -> _engine.Program:
        with contextlib.nullcontext() if module is None else mode(module, capture_options.training_mode):
            return build_script_program(
                script, inputs, bound=bound, packed=packed, functions=functions, options=options, diagnostics=diagnostics, examples=examples
            )

    weights = {} if module is None else module.state_dict(keep_vars=True)
    return Source(build, diagnostics=diagnostics, call=_call(model, *given), weights=weights, input_count=_tensor_count(given))


def _tensor_count(values: Any) -> int:
    return sum(isinstance(leaf, torch.Tensor) for leaf in _pytree.tree_leaves(values))


def _call(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CapturedCall:
    """How a TorchScript program, or a module that is traced, is called."""
    if not isinstance(model, SCRIPTS):
        return captured_call(inspect.signature(model.forward), model_arguments(model, args, kwargs))
    signature = script_signature(model, takes_packed(args))
    written = dict(zip(script_parameters(model, takes_packed(args)), signature.parameters))
    return captured_call(signature, {written[name]: value for name, value in script_arguments(model, args, kwargs).items()})


_Script = tuple[Script | Trace, list[_engine.ScriptInput], dict[str, dict[int, str]]]
"""A TorchScript program, what its inputs are, and the names of its outputs' dimensions."""


def _script(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], capture_options: CaptureOptions) -> _Script:
    scripted = isinstance(model, SCRIPTS)
    register_containers(args, kwargs)
    arguments = script_arguments(model, args, kwargs) if scripted else model_arguments(model, args, kwargs)
    input_names = all_names(tensor_names(capture_options.input_names, arguments), arguments, by_key=False)
    shapes = capture_options.dynamic_shapes
    output_axes: dict[str, dict[int, str]] = {}
    if shapes is None and capture_options.dynamic_axes is not None:
        known = capture_options.known_axes(arguments, input_names) if capture_options.torchscript else capture_options.dynamic_axes
        shapes, output_axes = from_dynamic_axes(known, arguments, input_names, capture_options.output_names, capture_options.input_names)
    shapes = by_argument(shapes, arguments, input_names, None if scripted else model)
    dims: dict[int, dict[int, str]] = {}
    for position, dim, name in dimension_names(arguments, shapes, unnamed=True):
        dims.setdefault(position, {})[dim] = name
    if scripted:
        return model, describe_inputs(model, args, kwargs, dims), output_axes
    with mode(model, capture_options.training_mode):
        traced, tensors, names = trace(model, arguments, args, kwargs, capture_options.keeps_function)
    inputs = [tensor_input(tensor, dims.get(i, {}), name) for i, (tensor, name) in enumerate(zip(tensors, names))]
    return traced, inputs, output_axes
