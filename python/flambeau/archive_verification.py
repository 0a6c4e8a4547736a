"""``flambeau verify ARCHIVE MODEL.onnx``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import onnx as onnx_module
import torch

from . import _engine, errors
from .archived import ArchivedProgram
from .capture import user_line
from .comparison import not_computed
from .errors import OnnxExporterError, VerificationError
from .saving import with_outputs
from .session import Session, cpu_session, flat_inputs
from .verification import (
    Mismatch,
    compare_tensors,
    compare_values,
    expected_outputs,
    first_mismatch,
    named_tensors,
    second_inputs,
)

__all__ = ["verify_archive"]

errors.adopt_torch_errors()

# onnxruntime's words for types, as torch writes them.
_WORDS = {"float": "float32", "double": "float64"}


def verify_archive(archive: ArchivedProgram, onnx: str | os.PathLike, *, per_node: bool = False) -> bool:
    """Run both on the archive's example inputs and on inputs of other sizes; print what is found.

    A TorchScript archive holds no example inputs: they are made up from the
    types that the ONNX model declares, at two sizes.

    Returns:
        Whether all outputs agree.

    Raises:
        OnnxExporterError: One of the files cannot be read, or the archive holds no example inputs.
    """
    try:
        session = cpu_session(os.fspath(onnx))
    except Exception as error:
        raise OnnxExporterError(f"onnxruntime cannot load {os.fspath(onnx)}: {error}") from error
    inputs = [
        (value.name, _WORDS.get(word := value.type.removeprefix("tensor(").removesuffix(")"), word))
        for value in session.get_inputs()
    ]
    exported: torch.export.ExportedProgram | None = None
    reference: Callable[..., Any]
    sets: list[tuple[str, Any]]
    if archive.is_torchscript:
        reference = archive.script()
        sets = [_made_up(session.get_inputs(), inputs, size) for size in (4, 7)]
        sets = sets[: 2 if any(isinstance(size, str) for value in session.get_inputs() for size in value.shape) else 1]
    else:
        exported = archive.exported()
        if exported.example_inputs is None:
            raise VerificationError(f"{archive.path} holds no example inputs")
        reference = exported.module()
        args, kwargs = exported.example_inputs
        sets = [("example", (args, kwargs))]
        if (other := second_inputs(exported, args, kwargs)) is not None:
            words, (other_args, other_kwargs) = other
            named = _named_sizes(session.get_inputs(), flat_inputs(other_args, other_kwargs, exported))
            sets.append((named or words, (other_args, other_kwargs)))
    runner = Session(session, inputs)
    names = [output.name for output in session.get_outputs()]
    fine, ran = True, []
    for words, (set_args, set_kwargs) in sets:
        try:
            expected = expected_outputs(reference, set_args, set_kwargs)
        except Exception as error:
            where = user_line(error)
            print(f"not compared for {words}: PyTorch refuses these inputs{f' at {where}' if where else ''}: {error}")
            continue
        values = flat_inputs(set_args, set_kwargs, exported)
        if len(values) != len(inputs):
            raise VerificationError(f"the model has {len(inputs)} inputs, the program {len(values)}")
        ran.append((words, set_args, set_kwargs))
        try:
            actual = runner.run(values)
        except Exception as error:  # of onnxruntime, which has no class of its own for them
            fine = False
            print(_line(not_computed(", ".join(names), error, inputs=words)))
            continue
        given = named_tensors(names, actual)
        if len(given) < len(expected):
            raise VerificationError(f"the model has {len(given)} outputs, the program {len(expected)}")
        for (name, ours), theirs in zip(given, expected):
            result = compare_tensors(name, ours, theirs, inputs=words)
            fine &= result.ok
            print(_line(result))
    if not ran:
        raise VerificationError("nothing was compared")
    if per_node and not fine:
        print(_first_mismatch(exported, onnx, ran, inputs) if exported else _first_mismatch_of_script(reference, ran))
    return fine


def _named_sizes(declared: list[Any], values: list[Any]) -> str:
    """The sizes of the model's own dimensions, by the names that it has for them."""
    sizes = {
        dim: size
        for value, given in zip(declared, values)
        if isinstance(given, torch.Tensor)
        for dim, size in zip(value.shape, given.shape)
        if isinstance(dim, str)
    }
    return ", ".join(f"{name}={size}" for name, size in sorted(sizes.items()))


def _made_up(declared: list[Any], inputs: list[tuple[str, str]], size: int) -> tuple[str, Any]:
    """Inputs of the declared types, every dynamic dimension of one size; integers and bools are small, so that indices are valid."""
    generator = torch.Generator().manual_seed(0)
    tensors, named = [], set()
    for value, (_, word) in zip(declared, inputs):
        dtype = getattr(torch, word)
        named.update(dim for dim in value.shape if isinstance(dim, str))
        sizes = [size if isinstance(dim, str) or dim is None else dim for dim in value.shape]
        floating = dtype.is_floating_point or dtype.is_complex
        made = torch.randn(sizes, generator=generator) if floating else torch.randint(0, 2, sizes, generator=generator)
        tensors.append(made.to(dtype))
    return ", ".join(f"{name}={size}" for name in sorted(named)) or "made-up inputs", (tuple(tensors), {})


def _first_mismatch(
    exported: torch.export.ExportedProgram, path: str | os.PathLike, sets: list[tuple[str, Any, Any]], inputs: list[tuple[str, str]]
) -> Mismatch:
    """Compares what the file's values are called as captured nodes; optimised models have few of these left."""
    model = onnx_module.load(os.fspath(path))
    known = {name for node in model.graph.node for name in node.output}
    mismatch = Mismatch(0, None, None)
    for words, args, kwargs in sets:
        values = flat_inputs(args, kwargs, exported)

        def compute(names: list[str], values: list[Any] = values) -> tuple[Any, ...]:
            return Session(cpu_session(with_outputs(model, names)), inputs).run(values)

        mismatch = first_mismatch(compare_values(exported, args, kwargs, known, compute, inputs=words))
        if mismatch:
            break
    return mismatch


def _first_mismatch_of_script(script: Any, sets: list[tuple[str, Any, Any]]) -> str:
    """A file does not say which value of a script a value of it is: a new conversion is compared, operator by operator."""
    from .onnx.verification import find_mismatch

    for words, args, _ in sets:
        for leaf in find_mismatch(script, args).all_mismatch_leaf_graph_info():
            nodes = "\n".join(f"  {node.sourceRange().strip()}" for node in leaf.graph.nodes() if node.kind() in leaf.essential_node_kinds())
            return f"first mismatch of a new conversion ({words}): {', '.join(sorted(leaf.essential_node_kinds()))}: {leaf.mismatch_error}\n{nodes}"
    return "a new conversion of the archive agrees at each operator: the ONNX model was made otherwise, or changed since"


def _line(result: _engine.Comparison) -> str:
    verdict = "agrees" if result.ok else f"DIFFERS ({result.cause})"
    if result.cause.startswith("not computed"):
        return f"{verdict} {result.name} ({result.inputs})"
    return (
        f"{verdict:<8} {result.name} ({result.inputs}): largest difference {result.max_absolute:.3g}, "
        f"relative {result.max_relative:.3g}; tolerance {result.absolute_tolerance:g} + {result.relative_tolerance:g} · |expected|"
    )
