"""Archives to ONNX. Nothing here needs torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from . import _engine
from .archived import ArchivedProgram
from .converted import Conversion
from .errors import error_of, warn_of
from .options import make_options
from .program import ONNXProgram
from .progress import shown_progress

__all__ = ["convert", "inspect", "operators"]

Progress = Callable[[str, int, int], bool | None]


def read(
    source: str | os.PathLike[str], options: _engine.Options | None = None, diagnostics: list[_engine.Diagnostic] | None = None
) -> _engine.Program:
    """Read a ``.pt2`` or TorchScript archive, whose inputs are as the options say.

    Args:
        diagnostics: Its elements are replaced by what the reader warned of.

    Raises:
        OnnxExporterError: The file is no archive that Flambeau reads, or is damaged.
    """
    program, found = _engine.read_program(os.fspath(source), options or _engine.Options())
    if program is None:
        raise error_of(found)
    if diagnostics is not None:
        diagnostics[:] = found
    return program


def convert(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    opset_version: int | None = None,
    external_data: bool | str | None = None,
    metadata: str | None = None,
    target: str = "ort",
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dim_names: Mapping[str, str] | None = None,
    inputs: Mapping[str, str] | None = None,
    model_name: str | None = None,
    method: str | None = None,
    optimize: bool = True,
    state_outputs: bool = False,
    keep_initializers_as_inputs: bool = False,
    export_params: bool = True,
    seed: int | None = None,
    user_metadata: Mapping[str, str] | None = None,
    custom_opsets: Mapping[str, int] | None = None,
    operator_schemas: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> ONNXProgram:
    """Convert a ``.pt2`` or TorchScript archive to an ONNX file. Needs no torch.

    Args:
        src: Path of the archive.
        dst: Path of the ONNX file. It is replaced at the end, or left as it was.
        opset_version: Opset of the model; None means the default.
        external_data: Where weights go: "auto" (or None) keeps one file while it
            stays below 2 GB; "always" (or True) puts weights of 256 bytes and more
            into ``dst`` + ".data"; "never" (or False) keeps one file; "reference"
            leaves them in ``src`` and points there.
        metadata: What the model says about its origin: "release" (nothing),
            "namespace", "default", "debug" (stack traces too). None means "default", and
            below opset 18 "release": metadata needs IR version 10.
        target: What runs the model: "ort" casts around kernels that onnxruntime
            lacks, "strict" has no such casts.
        input_names: Names of the inputs, in order; fewer are fine.
        output_names: Names of the outputs, in order; fewer are fine.
        dim_names: Names of dynamic dimensions: ``{"x.0": "batch"}`` for dimension
            0 of input (or output) x, ``{"s77": "batch"}`` for a symbol.
        inputs: What a TorchScript archive gets as its inputs:
            ``{"x": "float32[batch,3,224,224]", "n": "3"}``.
        model_name: Which of the models of a ``.pt2`` archive that holds several;
            None means the one named "model".
        method: Which method of a TorchScript archive's module; None means ``forward``.
        optimize: Make the graph smaller.
        state_outputs: New values of mutated buffers become outputs, named after them: "encoder.cache_out".
        keep_initializers_as_inputs: Weights are inputs too, with defaults.
        export_params: False leaves the weights' bytes out.
        seed: Random numbers are the same whenever the model is loaded: each draw in it gets
            a seed of its own, made from this integer. None leaves the numbers to the runtime.
        user_metadata: Key-value pairs for the model's ``metadata_props``.
        custom_opsets: ``{"mylib": 1}``: operators of the namespace mylib that have
            no translation become nodes of the domain mylib, version 1.
        operator_schemas: Schemas of users' operators, where the archive does not have
            them (:func:`flambeau.save` writes them): ``["mylib::foo(Tensor(a!) x) -> ()"]``.
        progress: Called now and then with (stage, done, total); False interrupts. None
            shows a bar on terminals and in notebooks.

    Returns:
        The model that was saved.

    Raises:
        UnsupportedOperatorError: Some operators have no translation.
        OnnxExporterError: Anything else went wrong; see its ``diagnostics``.
        KeyboardInterrupt: Ctrl-C was pressed; ``dst`` is as it was.
    """
    options = make_options(
        opset_version=opset_version,
        external_data=external_data,
        metadata=metadata,
        target=target,
        input_names=input_names,
        output_names=output_names,
        dim_names=dim_names,
        inputs=inputs,
        model_name=model_name,
        method=method,
        optimize=optimize,
        state_outputs=state_outputs,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        export_params=export_params,
        seed=seed,
        user_metadata=user_metadata,
        custom_opsets=custom_opsets,
        operator_schemas=operator_schemas,
    )
    source = os.fspath(src)
    with shown_progress(progress) as shown:
        model, diagnostics = _engine.convert_file(source, os.fspath(dst), options, shown)
    if model is None:
        raise error_of(diagnostics)
    warn_of(diagnostics)
    return ONNXProgram.of_conversion(
        Conversion(
            model,
            diagnostics,
            options,
            rebuild=lambda export_params: read(source, options),
            archive=ArchivedProgram(source, model_name, method),
        )
    )


def inspect(
    path: str | os.PathLike[str],
    *,
    inputs: Mapping[str, str] | None = None,
    model_name: str | None = None,
    method: str | None = None,
    operator_schemas: Sequence[str] | None = None,
) -> _engine.ProgramSummary:
    """What an archive holds: inputs, outputs, weights, dynamic dimensions, operators, extra files.

    Of a TorchScript archive whose inputs nobody has described, dimensions and operators are not known; `undescribed`
    then names these inputs, each with an example of what :func:`convert` takes in `inputs`.

    Args:
        path: Path of the archive.
        inputs, model_name, method, operator_schemas: As :func:`convert` takes them.

    Raises:
        OnnxExporterError: The file is no archive that Flambeau reads, or is damaged.
    """
    options = make_options(inputs=inputs, model_name=model_name, method=method, operator_schemas=operator_schemas)
    summary, diagnostics = _engine.summarize_file(os.fspath(path), options)
    if summary is None:
        raise error_of(diagnostics)
    return summary


def operators() -> list[_engine.OperatorInfo]:
    """The operators that can be converted: their schemas and restrictions."""
    return _engine.supported_operators()
