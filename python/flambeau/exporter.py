"""``flambeau.export``: the interface of ``torch.onnx.export``, with Flambeau's engine behind it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import io
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram

from . import _engine, conversion, errors
from .archived import ArchivedProgram, chosen_method
from .artifacts import Artifacts
from .capture import (
    draws,
    factors_asked_for,
    failure_without_export,
    is_by_data,
    make_weights,
    one_capture_at_a_time,
    seeding_lines,
    unasked_lines,
    unwrapped,
    user_line,
    warn_of_assumptions,
    warn_of_seeds,
    warn_of_unasked,
)
from .converted import Conversion
from .errors import (
    CaptureError,
    OnnxExporterError,
    UnsupportedOptionError,
    error_of,
    warn,
    warn_of,
)
from .examples import example_call
from .feed.places import calls_around
from .feed.script_inputs import SCRIPTS, holds_packed_weights
from .feed.weights import lacks_bytes
from .misuse import refuse_unknown_names, refuse_wrong_types, warn_of_training_mode, with_current_arguments, with_current_positions
from .names import distinguish
from .onnx._enums import OperatorExportTypes, TrainingMode
from .onnx._exportable import Interface
from .onnx._globals import GLOBALS, as_now, exporting, trains
from .onnx._python_ops import Translations
from .onnx._readable import readable
from .options import make_options
from .program import ONNXProgram
from .progress import shown_progress, shown_waiting
from .scripted import NoScriptError, as_script
from .sources import CaptureOptions, Source, of_archive, of_export, of_script
from .state import kept_random_numbers
from .torch_names import found
from .translation import Translators
from .verification import archived_reference, as_reference, verify_and_locate

__all__ = ["export"]

errors.adopt_torch_errors()

_SHAPES = (torch.export.ShapesCollection, *filter(None, [found("torch.export.AdditionalInputs")]))
"""What finds dynamic shapes."""

_FIRST_WITH_PLAIN_INITIALIZERS = 9  # opset


def _announced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps an export: checks its arguments, and lets models and symbolic functions see that it runs, and with which options."""

    @functools.wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        args, options = with_current_positions(args, options)
        options = with_current_arguments(options)
        refuse_unknown_names(function, options)
        given = inspect.signature(function).bind_partial(*args, **options).arguments
        refuse_wrong_types(given)
        training = given.get("training", TrainingMode.EVAL)
        with one_capture_at_a_time(), exporting(  # the options that symbolic functions see are global, in torch as here
            in_onnx_export=True,
            export_onnx_opset_version=options.get("opset_version") or _engine.DEFAULT_OPSET,
            training_mode=training,
            export_training=trains(unwrapped(given.get("model")), training),
            operator_export_type=options.get("operator_export_type", OperatorExportTypes.ONNX),
            autograd_inlining=bool(options.get("autograd_inlining", True)),
            local_functions={},
        ):
            return function(*args, **options)

    return wrapper


@_announced
def export(
    model: torch.nn.Module | ExportedProgram | torch.jit.ScriptModule | torch.jit.ScriptFunction | str | os.PathLike,
    args: tuple[Any, ...] = (),
    f: str | os.PathLike | io.IOBase | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None,
    custom_translation_table: dict[Callable, Callable | Sequence[Callable]] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool | None = False,
    dynamic_axes: Mapping[str, Mapping[int, str]] | Mapping[str, Sequence[int]] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | type[torch.nn.Module] | Collection[type[torch.nn.Module]] = False,
    autograd_inlining: bool = True,
    capture: str | None = None,
    capture_strategies: Sequence[str] | None = None,
    metadata: str | None = None,
    target: str = "ort",
    user_metadata: Mapping[str, str] | None = None,
    state_outputs: bool = False,
    model_name: str | None = None,
    method: str | None = None,
    seed: int | None = None,
    progress: conversion.Progress | None = None,
) -> ONNXProgram:
    """Convert a PyTorch model to ONNX. The arguments are ``torch.onnx.export``'s, and ten more at the end.

    Args:
        model: A module, a TorchScript module or function, a captured program, or
            the path of an archive. A ``torch.onnx.ExportableModule`` brings its
            own examples and names.
        args: Example positional arguments of the module: tensors become inputs,
            everything else is constant. A dict in the last place holds keyword
            arguments if all its keys are names of ``forward``'s parameters. One that
            is no tuple may stand by itself.
        f: Path of the ONNX file, or a binary file that is open for writing; None writes none.
        kwargs: Example keyword arguments.
        verbose: True shows what torch says while it captures, the graph and the report,
            and puts lines of the source into the model, as metadata "debug" does; False hides the warnings of the conversion too.
        input_names: Names of the inputs, in order; fewer are fine.
        output_names: Names of the outputs, in order; fewer are fine.
        opset_version: Opset of the model; None means the default.
        dynamo: False captures modules by tracing, as ``capture="trace"`` does, and
            gives models the inputs that torch's TorchScript exporter gives them:
            numbers are inputs, and what nothing depends on is none.
        capture: How a module is captured: "export" by ``torch.export``, "trace" by
            ``torch.jit.trace``. None goes by ``dynamo``.
        external_data: Whether weights of 256 bytes and more go into ``f`` + ".data". With
            ``dynamo=False`` they do from 2 GB on, as torch's TorchScript exporter has it.
        dynamic_shapes: Which dimensions are dynamic, as ``torch.export.export``
            takes it; a string in place of a ``Dim`` names the dimension. Keys of a
            dict are names of arguments, or of ``input_names``; arguments that are
            left out are static.
        custom_translation_table: ``{torch.ops.mylib.foo.default: function}``: ONNX
            Script functions, or Python functions that call ONNX Script's operators,
            that translate an operator. They are asked before Flambeau's own. Of a list
            of functions the first is taken whose annotations allow the operands' types.
        report: Write a report, also of a failure, into ``artifacts_dir``: HTML,
            Markdown and JSON.
        optimize: Make the graph smaller.
        verify: Compare the outputs with PyTorch's, for the example inputs and for
            inputs of other sizes where dimensions are dynamic.
        profile: Write a trace of the conversion's stages into ``artifacts_dir``,
            for Chrome's trace viewer.
        dump_exported_program: Write the captured program into ``artifacts_dir``.
        artifacts_dir: The folder for reports, traces and captured programs.
        export_params: False leaves the weights' bytes out; fake and meta tensors
            are fine then, and also where ``f`` is None.
        keep_initializers_as_inputs: Weights are inputs too, with defaults. None means that
            they are, unless ``operator_export_type`` is ONNX. With ``dynamo=False`` they always
            are before opset 9, whose models know no others.
        dynamic_axes: The older form of ``dynamic_shapes``: ``{"x": {0: "batch"}}``
            or ``{"x": [0]}``, by names of inputs and outputs.
        training: EVAL captures the module in evaluation mode, TRAINING in training
            mode, PRESERVE as it is; scripts, too. What is in a file, and what
            torch.jit.trace has recorded, keeps the mode that it had.
        do_constant_folding: False keeps the graph as it is lowered, as
            ``optimize=False`` does.
        custom_opsets: ``{"mylib": 1}``: operators of the namespace mylib that have
            no translation become nodes of the domain mylib, version 1.
        operator_export_type: ONNX translates every operator. ONNX_ATEN makes nodes of the
            domain org.pytorch.aten of PyTorch's own, ONNX_ATEN_FALLBACK only of those that
            have no translation; ONNX_FALLTHROUGH makes these nodes of a domain that is
            named after their namespace.
        export_modules_as_functions: True makes every call of a module inside the model a
            call of a local function, a class or a set of them those of these. Modules of one class
            and structure share a function; what differs between them is an attribute.
        autograd_inlining: Whether an autograd function without ``symbolic`` is what its
            ``forward`` does; False leaves it untranslated.
        capture_strategies: What to try, in order, of "non-strict", "strict" and
            "draft"; by default the first two. "torchscript" among them traces the
            module where all others fail.
        metadata: What the model says about its origin: "release" (nothing),
            "namespace", "default", "debug" (stack traces too). None means "default", and
            below opset 18 "release": metadata needs IR version 10, which the runtimes
            that such models are for may not read.
        target: What runs the model: "ort" casts around kernels that onnxruntime
            lacks, "strict" has no such casts.
        user_metadata: Key-value pairs for the model's ``metadata_props``.
        state_outputs: New values of mutated buffers become outputs, named after them: "encoder.cache_out".
        model_name: Which of the models of a ``.pt2`` archive that holds several;
            None means the one named "model".
        method: Which method of a TorchScript module, or of an archive of one; None
            means ``forward``.
        seed: Random numbers are the same whenever the model is loaded: each draw in it gets
            a seed of its own, made from this integer (0 to 2**64 - 1). None leaves the
            numbers to the runtime.
        progress: Called now and then with (stage, done, total); False interrupts. None
            shows a bar on terminals and in notebooks.

    Returns:
        The converted model.

    Raises:
        ValueError: An option has a value that it cannot have, or names what the model has not.
        TypeError: An argument or an option is of another type, or there is no option of that name.
        ModuleNotFoundError: An option needs a package that is not installed, as ``verify`` needs onnxruntime.
        UnsupportedOptionError: An option cannot be had together with the others.
        CaptureError: torch cannot capture the model.
        UnsupportedOperatorError: The model calls operators that have no translation.
        VerificationError: ``verify`` found other numbers.
        OnnxExporterError: The conversion or the file failed; the base of the above.
        KeyboardInterrupt: Ctrl-C was pressed; ``f`` is as it was.
        Exception: Whatever else a symbolic function raised.
    """
    if capture not in (None, "export", "trace"):
        raise ValueError(f"capture is {capture!r}; it must be 'export' or 'trace'")
    if export_modules_as_functions and (not isinstance(model, torch.nn.Module) or isinstance(model, SCRIPTS)):
        raise UnsupportedOptionError("export_modules_as_functions needs the module itself: nothing else tells its classes")
    if verify:
        errors.imported("onnxruntime", "verify=True")
    external_data = None if external_data is True and not dynamo else external_data
    if isinstance(model, Interface) and not args and not kwargs:
        args, kwargs = model.example_arguments()
        input_names = model.input_names() if input_names is None else input_names
        output_names = model.output_names() if output_names is None else output_names
        dynamic_shapes = model.dynamic_shapes() if dynamic_shapes is None else dynamic_shapes
    if f is None and lacks_bytes(model):
        export_params = False  # ONNXProgram.apply_weights brings them
    keep_initializers_as_inputs = _as_inputs(keep_initializers_as_inputs, operator_export_type, opset_version, dynamo)
    options = make_options(
        opset_version=opset_version,
        external_data=external_data,
        metadata=_metadata(metadata, verbose, export_modules_as_functions),
        target=target,
        input_names=input_names,
        output_names=output_names,
        optimize=optimize and do_constant_folding,
        state_outputs=state_outputs,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        export_params=export_params,
        user_metadata=user_metadata,
        custom_opsets=custom_opsets,
        model_name=model_name,
        method=method,
        seed=seed,
    )
    translators = Translators(custom_translation_table)
    translations = Translations(
        options.opset, translators.by_name(), export_type=operator_export_type, inline=autograd_inlining
    )
    options.set_translations(translations.translators())
    capture_options = CaptureOptions(
        dynamic_shapes,
        dynamic_axes,
        input_names or (),
        output_names or (),
        training,
        verbose,
        capture_strategies,
        torchscript=not dynamo,
        capture=capture,
        may_script=not (capture or capture_strategies or export_modules_as_functions or dump_exported_program),
        keeps_function=translations.keeps,
    )
    artifacts = Artifacts(artifacts_dir, report=report, profile=profile)
    job = _Export(model, args, kwargs, options, translators, translations, capture_options, artifacts, progress, export_params)
    with artifacts.recorded():
        source = job.captured(dump=dump_exported_program)
        program = job.converted(source)
        _add_functions(program, job.model, export_modules_as_functions, job.module_calls(source))
        if verify:
            job.verify(program, source, modules=report)
        if f is not None:
            # Weights that are left out are inputs, as torch's TorchScript exporter has it.
            as_inputs = keep_initializers_as_inputs or not (dynamo or export_params)
            artifacts.timed("write the model", lambda: _save(program, f, external_data, export_params, as_inputs))
    if verbose:
        assert artifacts.engine_model is not None
        print(readable(artifacts.engine_model), end="")
        print(program.report(), end="")
    elif verbose is None:
        warn_of(program.diagnostics)
    return program


class _Export:
    """One call of :func:`export`: what is converted, and how."""

    def __init__(
        self,
        model: Any,
        args: Any,
        kwargs: dict[str, Any] | None,
        options: _engine.Options,
        translators: Translators,
        translations: Translations,
        capture_options: CaptureOptions,
        artifacts: Artifacts,
        progress: conversion.Progress | None,
        export_params: bool,
    ) -> None:
        self.options, self.translators, self.translations = options, translators, translations
        self.capture_options, self.artifacts, self.progress, self.export_params = capture_options, artifacts, progress, export_params
        given = bool(args) if isinstance(args, (tuple, list, Mapping)) else args is not None
        self.model, self.archive = _of_archive(unwrapped(model), given or bool(kwargs), options)
        if self.archive is not None:
            self.args, self.kwargs, artifacts.model = args, kwargs, self.archive.path
        else:
            self.args, self.kwargs = example_call(self.model, args, kwargs)
            artifacts.model = os.fspath(model) if isinstance(model, (str, os.PathLike)) else type(self.model).__qualname__

    def captured(self, *, dump: bool) -> Source:
        """What the engine is to be given.

        Raises:
            CaptureError: torch cannot capture the model.
        """
        if self.archive is not None:
            source = of_archive(self.archive, self.capture_options, self.options)
        else:
            shapes = self.capture_options.dynamic_shapes
            if isinstance(shapes, _SHAPES):
                self.capture_options = dataclasses.replace(self.capture_options, dynamic_shapes=shapes.dynamic_shapes(self.model, self.args, self.kwargs))
            self._warn_of_mode()
            make_weights(self.model, self.args, self.kwargs)
            with shown_waiting(self.progress, "capture"), one_capture_at_a_time(), kept_random_numbers(), seeding_lines() as seeds:
                with unasked_lines() as unasked:
                    source = None if self._is_traced() else self._exported(dump)
                if source is None:
                    source = of_script(
                        self.model, self.args, self.kwargs, self.capture_options, self.options, self.translations, self.artifacts.attempts
                    )
            if source.exported is not None:
                warn_of_unasked(unasked)
            if source.exported is None or draws(source.exported):
                warn_of_seeds(seeds)
        self.artifacts.exported = source.exported
        if dump and source.exported is None and self.capture_options.verbose is not False:
            converted_from = "an archive" if self.archive is not None else "TorchScript"
            warn(f"dump_exported_program writes what torch.export captured; this model is converted from {converted_from}, and nothing is written")
        if self.capture_options.torchscript:
            self._distinguish_names()
        return source

    def _distinguish_names(self) -> None:
        renamed = distinguish(self.options)
        if renamed and self.capture_options.verbose is not False:
            changes = ", ".join(f"'{name}' is '{new}' where it stands first" for name, new in renamed)
            warn(f"input_names and output_names have names twice: {changes}; give names that differ")

    def _warn_of_left_out(self, model: _engine.Model, count: int) -> None:
        """Of inputs that the caller names, and torch's TorchScript exporter leaves out. Names after those of all inputs are of weights."""
        if self.options.keep_unused_inputs or self.capture_options.verbose is False:
            return
        kept = {value.name for value in model.inputs}
        of_inputs = self.options.input_names[:count]
        left_out = [f"'{name}'" for name in self.capture_options.input_names or () if name in of_inputs and name not in kept]
        if left_out:
            warn(f"nothing reads {', '.join(left_out)}: the model has no such input, as with torch.onnx; without dynamo=False it stays")

    def converted(self, source: Source) -> ONNXProgram:
        """The program of the engine's model.

        Raises:
            OnnxExporterError: There is none.
        """
        try:
            model, diagnostics = self._engine_model(source)
        except OnnxExporterError as error:
            if (failure := self._of_what_does_not_run(error)) is not None:
                raise failure  # noqa: B904 - it has its own cause
            raise
        self._warn_of_left_out(model, source.input_count)
        made = Conversion(
            model,
            diagnostics,
            self.options,
            source.build,
            self.artifacts.attempts,
            self.archive,
            call=source.call,
            weights=source.weights,
            within=as_now(),
        )
        return ONNXProgram.of_conversion(made, source.exported)

    def module_calls(self, source: Source) -> Mapping[str, Mapping[str, str]]:
        """The calls of modules around each captured node, by its name: path → which one."""
        return self.translations.calls if source.exported is None else calls_around(source.exported.graph)

    def verify(self, program: ONNXProgram, source: Source, *, modules: bool) -> None:
        """Compare with the module itself, and the captured program.

        Raises:
            VerificationError: The numbers differ.
        """
        reference, exported = None, source.exported
        if self.archive is not None:
            exported = archived_reference(self.archive)
        elif isinstance(self.model, torch.nn.Module) or exported is None:
            reference = as_reference(self.model, self.capture_options.training_mode)
        with shown_waiting(self.progress, "verify"), kept_random_numbers():
            self.artifacts.verified(
                lambda: verify_and_locate(program, self.args, self.kwargs, reference=reference, exported=exported, modules=modules)
            )

    def _warn_of_mode(self) -> None:
        """Not with ``dynamo=False``: torch's TorchScript exporter converts in evaluation mode, too, and says nothing."""
        asked = self.capture_options.verbose is not False and self.capture_options.training == TrainingMode.EVAL and not self.capture_options.torchscript
        if asked and isinstance(self.model, torch.nn.Module):
            warn_of_training_mode(self.model)

    def _is_traced(self) -> bool:
        """Whether torch.export is not asked first."""
        if isinstance(self.model, SCRIPTS):
            return True
        if not isinstance(self.model, torch.nn.Module):
            return False
        capture = self.capture_options.capture
        if capture is None:
            capture = "trace" if self.capture_options.torchscript or holds_packed_weights(self.model) else "export"
        return capture == "trace" or self.capture_options.export_strategies == []

    def _exported(self, dump: bool) -> Source | None:
        """The program that torch.export captures; None where it captures none and a trace may stand in.

        Where nothing says how to capture, it may be a script, for its loops and for branches that data decides.
        """
        given = self.model, self.args, self.kwargs
        attempts = self.artifacts.attempts

        def scripted(branches: bool) -> Source:
            return as_script(*given, self.capture_options, self.options, self.translations, attempts, branches=branches)

        spaces = dict(self.options.custom_opsets)
        kept = {*self.translations.translators(), *(f"{space}::*" for space in spaces)}
        exported = functools.partial(of_export, *given, self.capture_options, self.options, self.artifacts, kept, dump=dump)
        try:
            with factors_asked_for() as factors:
                source = exported()
            if self.capture_options.may_script and any(attempt.unrolled for attempt in attempts):
                with contextlib.suppress(NoScriptError):
                    source = scripted(branches=False)
        except CaptureError as error:
            if self.capture_options.may_script and is_by_data(error):
                try:
                    script = scripted(branches=True)
                    warn(
                        f"torch.export stops where Python decides by data ({user_line(error.__cause__)}): the model is converted from torch.jit.script,"
                        " and paths that the example does not take are as TorchScript understands them"
                    )
                    return script
                except NoScriptError as reason:
                    error.args = (f"{error}\n  as a script: {reason}",)
            if factors.asked:
                with contextlib.suppress(CaptureError), factors_asked_for(taken=True):
                    return _with_assumptions(exported())
            if isinstance(self.model, torch.nn.Module) and self.capture_options.falls_back_to_trace:
                return None
            raise
        return _with_assumptions(source)

    def _engine_model(self, source: Source) -> tuple[_engine.Model, list[_engine.Diagnostic]]:
        """The engine's model. Operators that turn out to have no translation fall back as ``operator_export_type`` says."""
        artifacts, translations = self.artifacts, self.translations
        if source.exported is not None:
            translations.forget()
        while True:
            self.translators.errors.clear()  # of captures that were given up, and of calls that fall back
            translations.symbolic.errors.clear()
            try:
                built = artifacts.timed("hand over to the engine", lambda: source.build(self.export_params))
            except OnnxExporterError as error:
                if translations.fall_back(error.diagnostics):
                    self.options.set_translations(translations.translators())
                    continue
                raise self._with_cause(error)
            with shown_progress(self.progress) as shown:
                model, diagnostics, record = _engine.convert_with_report(built, self.options, shown)
            if model is not None or not translations.fall_back(diagnostics):
                break
            self.options.set_translations(translations.translators())
        artifacts.take(record)
        artifacts.engine_model = model
        if model is None:
            raise self._with_cause(error_of(diagnostics))
        return model, [*source.diagnostics, *diagnostics]

    def _with_cause(self, error: OnnxExporterError) -> Exception:
        """What a failed conversion raises. What a symbolic function raised is raised as it is, as torch's exporter does."""
        if (failure := self.translations.symbolic.failure()) is not None:
            failure.add_note(str(error))
            return failure
        error.__cause__ = next(iter(self.translators.errors), None)
        return error

    def _of_what_does_not_run(self, error: OnnxExporterError) -> CaptureError | None:
        """What to say where captures took what PyTorch refuses to run: of such a program there is nothing to say but that."""
        strange = any(diagnostic.kind in ("bad-program", "internal-error", "invalid-model") for diagnostic in error.diagnostics)
        if not strange or not isinstance(self.model, torch.nn.Module) or isinstance(self.model, SCRIPTS):
            return None
        return failure_without_export(self.model, self.args, self.kwargs, self.capture_options.training_mode)


def _of_archive(model: Any, has_arguments: bool, options: _engine.Options) -> tuple[Any, ArchivedProgram | None]:
    """The model or the method to convert, or the archive that holds it; TorchScript with arguments is loaded."""
    name, method = options.model or None, options.method or None
    if not isinstance(model, (str, os.PathLike)):
        if name is not None:
            raise UnsupportedOptionError("model_name chooses among the models of an archive; this model is none")
        return chosen_method(model, method), None
    archive = ArchivedProgram(os.fspath(model), name, method)
    return (archive.script(), None) if has_arguments and archive.is_torchscript else (model, archive)


def _as_inputs(asked: bool | None, export_type: OperatorExportTypes, opset: int | None, dynamo: bool) -> bool:
    """Whether weights are inputs, too."""
    if not dynamo and opset is not None and opset < _FIRST_WITH_PLAIN_INITIALIZERS:
        return True
    return export_type != OperatorExportTypes.ONNX if asked is None else asked


def _add_functions(
    program: ONNXProgram,
    model: Any,
    modules: bool | type[torch.nn.Module] | Collection[type[torch.nn.Module]],
    calls: Mapping[str, Mapping[str, str]],
) -> None:
    """What symbolic functions asked to be local functions of the model, and modules that are to be some."""
    if GLOBALS.local_functions:
        from .onnx._write import with_local_functions

        program.replace_proto(with_local_functions(program.model_proto, GLOBALS.local_functions))
    if modules:
        from .onnx._functions import with_functions

        program.replace_proto(with_functions(program.model_proto, model, modules, calls))


def _with_assumptions(source: Source) -> Source:
    """The source, of which the user is told what it takes for granted of sizes."""
    if source.exported is not None:
        warn_of_assumptions(source.exported, source.dimension_names, source.decisions)
    return source


def _save(
    program: ONNXProgram,
    f: str | os.PathLike | io.IOBase,
    external_data: bool | str | None,
    export_params: bool,
    keep_initializers_as_inputs: bool,
) -> None:
    program.save(
        f,
        include_initializers=export_params,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        external_data=False if hasattr(f, "write") else external_data,
    )


def _metadata(asked: str | None, verbose: bool | None, functions: Any) -> str | None:
    """What else needs metadata: the printed graph has lines of the source, functions are found by modules."""
    if verbose and asked in (None, "default"):
        return "debug"
    return "default" if functions and asked != "debug" else asked
