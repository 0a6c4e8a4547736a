"""``flambeau verify MODEL.pt2 MODEL.onnx``."""

from __future__ import annotations

import os
from typing import Any

import torch

from . import _engine, errors
from .capture import user_line
from .errors import OnnxExporterError, VerificationError
from .exporter import export
from .session import Session, cpu_session, flat_inputs
from .verification import compare_tensors, expected_outputs, find_mismatch, second_inputs

__all__ = ["verify_archive"]

errors.adopt_torch_errors()

# onnxruntime's words for types, as torch writes them.
_WORDS = {"float": "float32", "double": "float64"}


def verify_archive(archive: str | os.PathLike, onnx: str | os.PathLike, *, per_node: bool = False) -> bool:
    """Run both on the archive's example inputs and on inputs of other sizes; print what is found.

    Returns:
        Whether all outputs agree.

    Raises:
        OnnxExporterError: One of the files cannot be read, or the archive holds no example inputs.
    """
    try:
        exported = torch.export.load(archive)
    except Exception as error:
        raise OnnxExporterError(f"torch cannot load {os.fspath(archive)}: {error}") from error
    if exported.example_inputs is None:
        raise VerificationError(f"{os.fspath(archive)} holds no example inputs")
    try:
        session = cpu_session(os.fspath(onnx))
    except Exception as error:
        raise OnnxExporterError(f"onnxruntime cannot load {os.fspath(onnx)}: {error}") from error
    inputs = [
        (value.name, _WORDS.get(word := value.type.removeprefix("tensor(").removesuffix(")"), word))
        for value in session.get_inputs()
    ]
    runner = Session(session, inputs)
    names = [output.name for output in session.get_outputs()]
    args, kwargs = exported.example_inputs
    sets: list[tuple[str, Any]] = [("example", (args, kwargs))]
    if (other := second_inputs(exported, args, kwargs)) is not None:
        sets.append(other)
    module = exported.module()
    fine = True
    for words, (set_args, set_kwargs) in sets:
        try:
            expected = expected_outputs(module, set_args, set_kwargs)
        except Exception as error:
            where = user_line(error)
            print(f"not compared for {words}: PyTorch refuses these inputs{f' at {where}' if where else ''}: {error}")
            continue
        values = flat_inputs(set_args, set_kwargs, exported)
        if len(values) != len(inputs):
            raise VerificationError(f"the model has {len(inputs)} inputs, the program {len(values)}")
        actual = runner.run(values)
        if len(actual) < len(expected):
            raise VerificationError(f"the model has {len(actual)} outputs, the program {len(expected)}")
        for name, ours, theirs in zip(names, actual, expected):
            result = compare_tensors(name, ours, theirs, inputs=words)
            fine &= result.ok
            print(_line(result))
    if per_node and not fine:
        print(find_mismatch(export(exported, args, kwargs=kwargs), args, kwargs))
    return fine


def _line(result: _engine.Comparison) -> str:
    verdict = "agrees" if result.ok else f"DIFFERS ({result.cause})"
    return (
        f"{verdict:<8} {result.name} ({result.inputs}): largest difference {result.max_absolute:.3g}, "
        f"relative {result.max_relative:.3g}; tolerance {result.absolute_tolerance:g} + {result.relative_tolerance:g} · |expected|"
    )
