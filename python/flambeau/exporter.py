"""``flambeau.export``: the interface of ``torch.onnx.export``, with Flambeau's engine behind it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.onnx import OperatorExportTypes, TrainingMode

from . import _engine, conversion, errors
from .capture import capture as capture_program
from .capture import mode
from .dynamic_shapes import (
    dimension_names,
    from_dynamic_axes,
    model_arguments,
    output_dimension_names,
    program_arguments,
)
from .errors import CaptureError, UnsupportedOptionError, error_of, warn_of
from .program import ONNXProgram
from .script import build_script_program, describe_inputs, script_arguments, script_parameters, tensor_input, trace
from .verification import verify as verify_program
from .walk import DimensionName, build_program

__all__ = ["export"]

errors.adopt_torch_errors()

_SCRIPT = (torch.jit.ScriptModule, torch.jit.ScriptFunction)
_TRAINING = {TrainingMode.EVAL: False, TrainingMode.PRESERVE: None, TrainingMode.TRAINING: True}


def export(
    model: torch.nn.Module | ExportedProgram | torch.jit.ScriptModule | torch.jit.ScriptFunction | str | os.PathLike,
    args: tuple[Any, ...] = (),
    f: str | os.PathLike | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None,
    custom_translation_table: dict[Callable, Callable] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Mapping[int, str]] | Mapping[str, Sequence[int]] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type[torch.nn.Module]] = False,
    autograd_inlining: bool = True,
    capture: str | None = None,
) -> ONNXProgram | None:
    """Convert a PyTorch model to ONNX. The signature is ``torch.onnx.export``'s.

    Args:
        model: A module, a TorchScript module or function, a captured program, or
            the path of an archive.
        args: Example positional arguments of the module: tensors become inputs,
            everything else is constant. A dict in the last place holds keyword
            arguments if all its keys are names of ``forward``'s parameters.
        f: Path of the ONNX file; None writes none.
        kwargs: Example keyword arguments.
        verbose: True shows what torch says while it captures, and the report;
            False hides the warnings of the conversion too.
        input_names: Names of the inputs, in order; fewer are fine.
        output_names: Names of the outputs, in order; fewer are fine.
        opset_version: Opset of the model; None means the default.
        dynamo: False captures modules by tracing, as ``capture="trace"`` does.
        capture: How a module is captured: "export" by ``torch.export``, "trace" by
            ``torch.jit.trace``. None goes by ``dynamo``.
        external_data: Whether weights of 64 KB and more go into ``f`` + ".data".
        dynamic_shapes: Which dimensions are dynamic, as ``torch.export.export``
            takes it; a string in place of a ``Dim`` names the dimension.
        optimize: Make the graph smaller.
        verify: Compare the outputs of the example inputs with PyTorch's.
        export_params: False leaves the weights' bytes out; fake and meta tensors
            are fine then.
        keep_initializers_as_inputs: Weights are inputs too, with defaults.
        dynamic_axes: The older form of ``dynamic_shapes``: ``{"x": {0: "batch"}}``
            or ``{"x": [0]}``, by names of inputs and outputs.
        training: EVAL captures the module in evaluation mode, TRAINING in training
            mode, PRESERVE as it is.
        custom_translation_table: Not implemented; nor are ``report``, ``profile``,
            ``dump_exported_program``, ``artifacts_dir``, ``operator_export_type``,
            ``do_constant_folding``, ``custom_opsets``,
            ``export_modules_as_functions``, ``autograd_inlining``.

    Returns:
        The converted model.

    Raises:
        UnsupportedOptionError: An option asks for what is not implemented.
        CaptureError: torch cannot capture the model.
        UnsupportedOperatorError: The model calls operators that have no translation.
        VerificationError: ``verify`` found other numbers.
        OnnxExporterError: The conversion or the file failed; the base of the above.
        KeyboardInterrupt: Ctrl-C was pressed; ``f`` is as it was.
    """
    if capture not in (None, "export", "trace"):
        raise ValueError(f"capture is {capture!r}; it must be 'export' or 'trace'")
    _refuse_unsupported(
        custom_translation_table=custom_translation_table,
        report=report,
        profile=profile,
        dump_exported_program=dump_exported_program,
        artifacts_dir=artifacts_dir,
        operator_export_type=operator_export_type,
        do_constant_folding=do_constant_folding,
        custom_opsets=custom_opsets,
        export_modules_as_functions=export_modules_as_functions,
        autograd_inlining=autograd_inlining,
    )
    options = conversion.make_options(
        opset_version=opset_version,
        external_data=external_data,
        input_names=input_names,
        output_names=output_names,
        optimize=optimize,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        export_params=export_params,
    )
    if isinstance(model, (str, os.PathLike)):
        if dynamic_shapes is not None or dynamic_axes is not None:
            given = "dynamic_shapes" if dynamic_shapes is not None else "dynamic_axes"
            raise UnsupportedOptionError(
                f"'{given}' cannot change an archive; its dynamic dimensions were decided by the capture "
                "(name them with flambeau.save or flambeau.convert(dim_names=...))"
            )
        source, exported = os.fspath(model), None

        def rebuild(export_params: bool) -> _engine.Program:
            return conversion.read(source)

    elif isinstance(model, _SCRIPT) or (
        isinstance(model, torch.nn.Module) and (capture or ("export" if dynamo else "trace")) == "trace"
    ):
        args, kwargs = _example_arguments(model, args, kwargs)
        exported = None
        script, inputs = _script(model, args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names, training)

        def rebuild(export_params: bool) -> _engine.Program:
            return build_script_program(script, inputs, bound=not isinstance(model, _SCRIPT))

    else:
        args, kwargs = _example_arguments(model, args, kwargs)
        exported, names, symbols = _capture(
            model, args, kwargs, dynamic_shapes, dynamic_axes, input_names, output_names, training, verbose
        )
        options.dim_names = list(symbols.items())

        def rebuild(export_params: bool) -> _engine.Program:
            return build_program(exported, dimension_names=names, export_params=export_params)

    engine_model, diagnostics = _engine.convert(rebuild(export_params), options)
    if engine_model is None:
        raise error_of(diagnostics)
    program = ONNXProgram(engine_model, diagnostics, options=options, rebuild=rebuild, exported_program=exported)
    if verbose:
        print(program.report(), end="")
    elif verbose is None:
        warn_of(diagnostics, stacklevel=2)
    if verify:
        verify_program(program, args, kwargs)
    if f is not None:
        program.save(f, external_data=external_data)
    return program


def _refuse_unsupported(**options: Any) -> None:
    """Raise UnsupportedOptionError for the first option that differs from its default."""
    parameters = inspect.signature(export).parameters
    for name, value in options.items():
        default = parameters[name].default
        if value == default or (default is None and not value):
            continue
        hint = {
            "do_constant_folding": "pass optimize=False to keep the graph as it is lowered",
        }.get(name, "leave it at its default")
        raise UnsupportedOptionError(f"the option '{name}={value!r}' is not supported; {hint}")


def _example_arguments(
    model: torch.nn.Module | ExportedProgram, args: Any, kwargs: dict[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as (args, kwargs)."""
    if isinstance(args, torch.Tensor):
        args = (args,)
    args = tuple(args)
    if kwargs is None and args and isinstance(args[-1], dict) and isinstance(model, torch.nn.Module):
        parameters = (
            script_parameters(model)
            if isinstance(model, _SCRIPT)
            else inspect.signature(model.forward).parameters
        )
        if all(name in parameters for name in args[-1]):
            args, kwargs = args[:-1], args[-1]
    return args, dict(kwargs or {})


def _script(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    dynamic_axes: Mapping[str, Any] | None,
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
    training: TrainingMode,
) -> tuple[torch.jit.ScriptModule | torch.jit.ScriptFunction, list[_engine.ScriptInput]]:
    """The TorchScript program, and what its inputs are."""
    scripted = isinstance(model, _SCRIPT)
    arguments = script_arguments(model, args, kwargs) if scripted else model_arguments(model, args, kwargs)
    if dynamic_shapes is None and dynamic_axes is not None:
        dynamic_shapes, _ = from_dynamic_axes(dynamic_axes, arguments, input_names or (), output_names or ())
    dims: dict[int, dict[int, str]] = {}
    for position, dim, name in dimension_names(arguments, dynamic_shapes, None if scripted else model):
        dims.setdefault(position, {})[dim] = name
    if scripted:
        return model, describe_inputs(model, args, kwargs, dims)
    with mode(model, _TRAINING[training]):
        traced, tensors, names = trace(model, arguments, args, kwargs)
    inputs = [tensor_input(tensor, dims.get(i, {}), name) for i, (tensor, name) in enumerate(zip(tensors, names))]
    return traced, inputs


def _capture(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    dynamic_axes: Mapping[str, Any] | None,
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
    training: TrainingMode,
    verbose: bool | None,
) -> tuple[ExportedProgram, list[DimensionName], dict[str, str]]:
    """The captured program, the names of its inputs' dimensions, and those of symbols."""
    if not isinstance(model, (torch.nn.Module, ExportedProgram)):
        raise TypeError(
            f"the model is a {type(model).__qualname__}; it must be an nn.Module, an ExportedProgram or a path"
        )
    live = isinstance(model, torch.nn.Module)
    arguments = model_arguments(model, args, kwargs) if live else program_arguments(model)
    output_axes: dict[str, dict[int, str]] = {}
    if dynamic_shapes is None and dynamic_axes is not None:
        dynamic_shapes, output_axes = from_dynamic_axes(
            dynamic_axes, arguments, input_names or (), output_names or ()
        )
    names = dimension_names(arguments, dynamic_shapes, model if live else None)
    if live:
        exported = capture_program(
            model, args, kwargs, dynamic_shapes, training=_TRAINING[training], verbose=bool(verbose)
        )
    else:
        exported = model
    return exported, names, output_dimension_names(exported, output_names or (), output_axes)
