"""Compares a converted model with the PyTorch program that it came from."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from .. import _engine
from ..archived import ArchivedProgram
from ..capture import mode, user_line
from ..capture.helps import Help
from ..capture.operators.transformers import every_mask
from ..eager import copied, with_the_gradients_it_asks_for
from ..errors import VerificationError
from ..feed.script_inputs import SCRIPTS, module_of
from ..program import ONNXProgram
from ..pytrees import is_leaf
from ..session import as_captured
from ..state import kept_state
from .comparison import compare, not_computed
from .other_sizes import Arguments, inputs_of_other_sizes, second_inputs

__all__ = [
    "archived_reference",
    "as_output",
    "as_reference",
    "captured",
    "compare_tensors",
    "examples",
    "expected_outputs",
    "paired",
    "refuse_nothing",
    "verify",
]

_log = logging.getLogger(__name__)


def verify(
    program: ONNXProgram,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    second_sizes: bool = True,
    reference: Callable[..., Any] | None = None,
    exported: ExportedProgram | None = None,
) -> list[_engine.Comparison]:
    """Run both models on the same inputs, and compare every output.

    Floating outputs agree within :data:`flambeau.verification.comparison.TOLERANCES`, others
    must be equal.

    Args:
        program: The converted program.
        args: Example positional arguments; the captured ones if there are none.
        kwargs: Example keyword arguments.
        second_sizes: Also run on generated inputs, where dimensions are dynamic:
            of other sizes, floats drawn at random and integers from the examples.
        reference: What to compare with instead of the captured program: the module itself.
        exported: What to compare with, where the program does not know what it
            was made of: an archive, loaded.

    Raises:
        VerificationError: An output has another dtype, shape or other numbers, or
            there are no example inputs.
    """
    names = [output.name for output in program.outputs]
    if reference is None and exported is None and (args or kwargs) and program.archive is not None and program.archive.is_torchscript:
        reference = program.archive.script()
    exported = exported or (program.exported_program if reference is not None else captured(program))
    if exported is not None:
        args, kwargs = examples(exported, args, kwargs)
        if reference is None:
            args, kwargs = as_captured(args, kwargs, exported)
        module: Callable[..., Any] = reference or exported.module()
        other = second_inputs(exported, args, kwargs, [value.sizes for value in program.inputs]) if second_sizes else None
    else:
        kwargs, module = kwargs or {}, reference
        other = inputs_of_other_sizes(program, args, kwargs) if second_sizes else None
    comparisons = _compare_outputs(program, module, args, kwargs, names, "example", exported)
    if other is not None:
        words, (other_args, other_kwargs) = other
        try:
            comparisons += _compare_outputs(program, module, other_args, other_kwargs, names, words, exported)
        except _NotForTheProgram as refusal:
            cause = refusal.__cause__
            where = user_line(cause)
            _log.warning("not verified for %s: PyTorch refuses these inputs%s: %s", words, f" at {where}" if where else "", cause)
    _raise_if_any_failed(comparisons, names)
    return comparisons


class _NotForTheProgram(Exception):
    """The captured program itself does not run on these inputs."""


def captured(program: ONNXProgram) -> ExportedProgram:
    """The captured program that this one was made of."""
    if program.exported_program is not None:
        return program.exported_program
    if program.archive is not None:
        return archived_reference(program.archive)
    raise VerificationError("this program does not know what it was captured from; pass exported=torch.export.load(...)")


def archived_reference(archive: ArchivedProgram) -> ExportedProgram:
    """The captured program in an archive."""
    if archive.is_torchscript:
        raise VerificationError(
            "a TorchScript archive holds no example inputs; pass args (and, to verify, reference=torch.jit.load(...))"
        )
    return archive.exported()


def examples(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Arguments:
    """The arguments; those of the capture if there are none."""
    if args or kwargs:
        return args, kwargs or {}
    if exported.example_inputs is None:
        raise VerificationError("the ExportedProgram holds no example inputs; pass args")
    return exported.example_inputs


def paired(names: Iterable[str], outputs: Sequence[Any], results: Any, *, further: bool = False) -> list[tuple[str, Any, Any]]:
    """What a model gives, tensor by tensor, each with its output's name and with what PyTorch gives in its place.

    Args:
        names: Of the outputs.
        outputs: What the model gives: tensors, lists of tensors, None.
        results: What PyTorch gives.
        further: Whether the model may have outputs behind PyTorch's: states that are wanted, too.

    Raises:
        VerificationError: There are more or fewer tensors, or a list has another length.
    """
    expected, spans = _in_model_order(results, outputs)
    given: list[tuple[str, Any]] = []
    for name, output in zip(itertools.chain(names, itertools.repeat("")), outputs):
        leaves = [leaf for leaf in _pytree.tree_leaves(output) if leaf is not None]
        if isinstance(output, (list, tuple)) and (len(given), len(leaves)) not in spans:
            raise VerificationError(f"the list '{name}' has {len(leaves)} elements, and PyTorch gives none of that length in its place")
        given += [(name, leaf) for leaf in leaves]
    if len(given) < len(expected) or len(given) > len(expected) and not further:
        raise VerificationError(f"the model gives {len(given)} tensors; PyTorch {len(expected)}")
    return [(name, ours, theirs) for (name, ours), theirs in zip(given, expected)]


def _fields(row: tuple[Any, ...] | dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(row.values()) if isinstance(row, dict) else row


def _in_model_order(results: Any, outputs: Iterable[Any]) -> tuple[list[Any], set[tuple[int, int]]]:
    """What PyTorch gave, without Nones and texts, in the order in which the model gives it.

    And where those containers begin that hold no others, with their lengths. The order is PyTorch's own, but
    for a list of tuples or dicts of run-time length, of which the model gives a list of each field.
    """
    lengths: dict[int, int] = {}  # of the lists that the model gives, by where they begin
    place = 0
    for output in outputs:
        leaves = [leaf for leaf in _pytree.tree_leaves(output) if leaf is not None]
        if isinstance(output, (list, tuple)) and leaves:
            lengths[place] = len(leaves)
        place += len(leaves)
    ordered: list[Any] = []
    spans: set[tuple[int, int]] = set()

    def is_given_by_field(value: Any) -> bool:
        if not isinstance(value, list) or not all(isinstance(row, (tuple, dict)) and all(map(is_leaf, _fields(row))) for row in value):
            return False
        starts = range(len(ordered), len(ordered) + sum(map(len, value)), max(len(value), 1))
        return len({len(row) for row in value}) == 1 and all(lengths.get(start) == len(value) for start in starts)

    def add(value: Any) -> None:
        if is_given_by_field(value):
            value = list(zip(*map(_fields, value)))
        if not is_leaf(value):
            start, children = len(ordered), _pytree.tree_leaves(value, lambda part: part is not value)
            for child in children:
                add(child)
            if all(map(is_leaf, children)):
                spans.add((start, len(ordered) - start))
        elif value is not None and not isinstance(value, str):
            ordered.append(value)

    add(results)
    return ordered, spans


def as_reference(model: Any, training: bool | None) -> Callable[..., Any]:
    """The module itself, in the mode in which it was captured; or a script's function, of whose module a method may be."""
    owner = module_of(model) if isinstance(model, SCRIPTS) else model

    def call(*args: Any, **kwargs: Any) -> Any:
        if owner is None:
            return model(*args, **kwargs)
        with mode(owner, training), kept_state(owner):
            return _pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, model(*args, **kwargs))

    return call


def expected_outputs(reference: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, gradients: bool = False) -> Any:
    """What PyTorch gives, once: a module is afterwards as it was. Raises whatever the program raises.

    Args:
        gradients: Whether the program has gradients that the module computes.
    """

    def run() -> Any:
        run_args, run_kwargs = copied((args, kwargs))
        kept = kept_state(reference) if isinstance(reference, torch.nn.Module) else contextlib.nullcontext()
        with every_mask(), kept:
            results = reference(*run_args, **run_kwargs)
            return copied(results)

    return with_the_gradients_it_asks_for(run, asks=gradients)


def as_output(result: Any, output: torch.Tensor) -> torch.Tensor:
    """A result of PyTorch as a tensor. A Python float may be any of ONNX's: of which kind, the model's output says."""
    dtype = output.dtype if isinstance(result, float) and output.is_floating_point() else None
    return torch.as_tensor(result, dtype=dtype).detach().cpu()


def _array(tensor: torch.Tensor) -> Any:
    """A tensor for numpy, which lacks the small floats: they widen without loss."""
    tensor = torch.as_tensor(tensor).detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype in (torch.bfloat16, torch.float16) or tensor.is_floating_point() and tensor.element_size() == 1:
        return tensor.float().numpy()
    return tensor.numpy()


def compare_tensors(name: str, actual: torch.Tensor, expected: torch.Tensor, **places: str) -> _engine.Comparison:
    """Compare as :func:`flambeau.verification.comparison.compare` does."""
    dtype = str(expected.dtype).removeprefix("torch.")
    if expected.is_complex() and not torch.as_tensor(actual).is_complex():
        expected = torch.view_as_real(expected.resolve_conj())  # as ONNX holds them
    result = compare(name, _array(actual), _array(expected), dtype=dtype, **places)
    if result.ok and actual.dtype != expected.dtype:
        result.ok, result.cause = False, f"dtype: {actual.dtype} instead of {expected.dtype}"
    return result


def _compare_outputs(
    program: ONNXProgram,
    reference: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: list[str],
    inputs: str,
    exported: ExportedProgram | None,
) -> list[_engine.Comparison]:
    try:
        gradients = program.captured_by is not None and Help.BELOW_AUTOGRAD in program.captured_by.helps
        expected = expected_outputs(reference, args, kwargs, gradients=gradients)
    except Exception as error:
        if inputs == "example":
            raise VerificationError(f"PyTorch does not run on these inputs: {error}") from error
        raise _NotForTheProgram from error
    values = program.input_values(args, kwargs, exported)
    try:
        actual = program.run_inputs(values)
    except (TypeError, VerificationError):
        raise
    except Exception as error:  # of onnxruntime, which has no class of its own for them
        return [not_computed(name, error, inputs=inputs) for name in names]
    if not program.may_have_further_outputs:
        actual = actual[: len(names)]  # others were added to the model
    pairs = paired(names, actual, expected, further=program.may_have_further_outputs)
    refuse_nothing(pairs, names, exported)
    return [compare_tensors(name, ours, as_output(theirs, ours), inputs=inputs) for name, ours, theirs in pairs]


def refuse_nothing(pairs: Sequence[Any], names: Sequence[str], exported: ExportedProgram | None) -> None:
    """Raise where a model has outputs and PyTorch gave nothing to compare them with, which it should have."""
    if names and not pairs and (exported is None or any(isinstance(name, str) for name in exported.graph_signature.user_outputs)):
        raise VerificationError(f"nothing was compared: PyTorch gives no tensor, and the model gives {', '.join(names)}")


def _raise_if_any_failed(comparisons: list[_engine.Comparison], names: list[str]) -> None:
    failed = [(names.index(comparison.name), comparison) for comparison in comparisons if not comparison.ok]
    if not failed:
        return
    lines = [
        f"output {i} '{c.name}' ({c.inputs}) is {c.cause}"
        if c.cause.startswith("not computed")
        else f"output {i} '{c.name}' ({c.inputs}) differs from PyTorch's: {c.cause}; "
        f"largest difference {c.max_absolute:.3g} (relative {c.max_relative:.3g}), "
        f"tolerance {c.absolute_tolerance:g} + {c.relative_tolerance:g} · |expected|"
        for i, c in failed
    ]
    raise VerificationError("\n".join(lines), comparisons)
