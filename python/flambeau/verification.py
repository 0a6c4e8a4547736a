"""Compares a converted model with the PyTorch program that it came from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from . import _engine
from .comparison import compare
from .errors import VerificationError
from .program import ONNXProgram

__all__ = [
    "Mismatch",
    "compare_nodes",
    "compare_tensors",
    "expected_outputs",
    "find_mismatch",
    "second_inputs",
    "verify",
]

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def verify(
    program: ONNXProgram,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    second_sizes: bool = True,
    reference: Callable[..., Any] | None = None,
) -> list[_engine.Comparison]:
    """Run both models on the same inputs, and compare every output.

    Floating outputs agree within :data:`flambeau.comparison.TOLERANCES`, others
    must be equal.

    Args:
        program: A program that was made from a live module or an ExportedProgram.
        args: Example positional arguments; the captured ones if there are none.
        kwargs: Example keyword arguments.
        second_sizes: Also run on generated inputs, where dimensions are dynamic:
            of other sizes, floats drawn at random and integers from the examples.
        reference: What to compare with, where the program was not made by
            torch.export: the module itself, on the examples only.

    Raises:
        VerificationError: An output has another dtype, shape or other numbers, or
            there are no example inputs.
    """
    names = [output.name for output in program.outputs]
    if reference is not None:
        comparisons = _compare_outputs(program, reference, args, kwargs or {}, names, "example")
        _raise_if_any_failed(comparisons, names)
        return comparisons
    exported = _captured(program)
    args, kwargs = _examples(exported, args, kwargs)
    module = exported.module()
    comparisons = _compare_outputs(program, module, args, kwargs, names, "example")
    sizes = [value.sizes for value in program.inputs]
    other = second_inputs(exported, args, kwargs, sizes) if second_sizes else None
    if other is not None:
        words, (other_args, other_kwargs) = other
        try:
            comparisons += _compare_outputs(program, module, other_args, other_kwargs, names, words)
        except _NotForTheProgram:
            pass  # the capture's own guards refuse these sizes
    _raise_if_any_failed(comparisons, names)
    return comparisons


class _NotForTheProgram(Exception):
    """The captured program itself does not run on these inputs."""


def _captured(program: ONNXProgram) -> ExportedProgram:
    exported = program.exported_program
    if exported is None:
        raise VerificationError(
            "this program was converted from an archive without torch; use flambeau verify MODEL.pt2 MODEL.onnx"
        )
    return exported


def _examples(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Arguments:
    if args or kwargs:
        return args, kwargs or {}
    if exported.example_inputs is None:
        raise VerificationError("the ExportedProgram holds no example inputs; pass args")
    return exported.example_inputs


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _copies(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """The program may write to its inputs; both models must see the same values."""
    return _pytree.tree_map(_copy, args), _pytree.tree_map(_copy, kwargs)


def _tensors(results: Any) -> list[torch.Tensor]:
    return [torch.as_tensor(leaf).detach().cpu() for leaf in _pytree.tree_leaves(results) if leaf is not None]


def expected_outputs(reference: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What PyTorch gives, without the Nones. Raises whatever the program raises."""
    run_args, run_kwargs = _copies(args, kwargs)
    with torch.no_grad():
        return _tensors(reference(*run_args, **run_kwargs))


def _array(tensor: torch.Tensor) -> Any:
    """A tensor for numpy, which lacks the small floats: they widen without loss."""
    tensor = torch.as_tensor(tensor).detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype in (torch.bfloat16, torch.float16) or tensor.is_floating_point() and tensor.element_size() == 1:
        return tensor.float().numpy()
    return tensor.numpy()


def compare_tensors(name: str, actual: torch.Tensor, expected: torch.Tensor, **places: str) -> _engine.Comparison:
    """Compare as :func:`flambeau.comparison.compare` does."""
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
) -> list[_engine.Comparison]:
    try:
        expected = expected_outputs(reference, args, kwargs)
    except Exception as error:
        if inputs == "example":
            raise VerificationError(f"PyTorch does not run on these inputs: {error}") from error
        raise _NotForTheProgram from error
    actual = program(*args, **kwargs)
    if len(actual) < len(expected):
        raise VerificationError(f"the model has {len(actual)} outputs; PyTorch's has {len(expected)}")
    return [
        compare_tensors(name, ours, theirs, inputs=inputs)
        for name, ours, theirs in zip(itertools.chain(names, itertools.repeat("")), actual, expected)
    ]


def _raise_if_any_failed(comparisons: list[_engine.Comparison], names: list[str]) -> None:
    failed = [(names.index(comparison.name), comparison) for comparison in comparisons if not comparison.ok]
    if not failed:
        return
    lines = [
        f"output {i} '{c.name}' ({c.inputs}) differs from PyTorch's: {c.cause}; "
        f"largest difference {c.max_absolute:.3g} (relative {c.max_relative:.3g}), "
        f"tolerance {c.absolute_tolerance:g} + {c.relative_tolerance:g} · |expected|"
        for i, c in failed
    ]
    raise VerificationError("\n".join(lines), comparisons)


# --- inputs of other sizes -----------------------------------------------------


def second_inputs(
    exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[Sequence[str]] = ()
) -> tuple[str, Arguments] | None:
    """Inputs in which each dynamic dimension has another size, and words that say which: "batch=6".

    Sizes stay within the range that the capture allows; dimensions that are one
    symbol stay equal, derived ones follow. None where nothing is dynamic.

    Args:
        names: Of the dimensions of each tensor input; the capture's symbols where they are not known.
    """
    leaves, spec = _pytree.tree_flatten((args, kwargs))
    placeholders = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    recorded = [placeholders.get(name) if isinstance(name, str) else None for name in exported.graph_signature.user_inputs]
    if len(recorded) != len(leaves):
        return None
    sizes = _other_sizes(exported, leaves, recorded)
    if not sizes:
        return None
    generator = torch.Generator().manual_seed(0)
    made = [
        _of_sizes(leaf, [_evaluate(size, sizes) for size in fake.shape], generator)
        if isinstance(leaf, torch.Tensor) and isinstance(fake, torch.Tensor)
        else leaf
        for leaf, fake in zip(leaves, recorded)
    ]
    tensors = [fake for fake in recorded if isinstance(fake, torch.Tensor)]
    called = {
        size.node.expr: name
        for fake, of_input in zip(tensors, names)
        for size, name in zip(fake.shape, of_input)
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol
    }
    words = ", ".join(sorted(f"{called.get(symbol, symbol)}={size}" for symbol, size in sizes.items()))
    return words, _pytree.tree_unflatten(made, spec)


def _other_sizes(exported: ExportedProgram, leaves: list[Any], recorded: list[Any]) -> dict[Any, int]:
    """Another size for each symbol that is a dimension of an input."""
    sizes: dict[Any, int] = {}
    for leaf, fake in zip(leaves, recorded):
        if not isinstance(leaf, torch.Tensor) or not isinstance(fake, torch.Tensor):
            continue
        for now, size in zip(leaf.shape, fake.shape):
            if not isinstance(size, torch.SymInt) or not size.node.expr.is_Symbol:
                continue
            interval = exported.range_constraints.get(size.node.expr)
            low = max(int(interval.lower), 1) if interval is not None and interval.lower.is_Integer else 1
            high = int(interval.upper) if interval is not None and interval.upper.is_Integer else 2**62
            candidates = [n for n in (now + 3, now + 1, now - 1, now * 2, low, high) if low <= n <= high and n != now]
            if low != high and candidates:
                sizes.setdefault(size.node.expr, candidates[0])
    return sizes


def _evaluate(size: int | torch.SymInt, sizes: dict[Any, int]) -> int:
    return int(size.node.expr.subs(sizes)) if isinstance(size, torch.SymInt) else int(size)


def _of_sizes(example: torch.Tensor, sizes: list[int], generator: torch.Generator) -> torch.Tensor:
    """Floats at random; of other types the example's elements over again, so that indices stay valid."""
    if example.is_floating_point():
        return torch.randn(sizes, generator=generator, dtype=torch.float32).to(example.dtype)
    if example.numel() == 0:
        return torch.zeros(sizes, dtype=example.dtype)
    count = int(torch.Size(sizes).numel())
    flat = example.detach().cpu().flatten()
    return flat.repeat(count // flat.numel() + 1)[:count].reshape(sizes)


# --- where two models part -----------------------------------------------------


class Mismatch:
    """The first place at which the models differ.

    Attributes:
        node: The captured node, or None if all agree.
        module: The module that it belongs to.
        source: Its line in Python.
        comparison: The numbers.
        checked: How many nodes were compared.
    """

    def __init__(self, checked: int, node: torch.fx.Node | None, comparison: _engine.Comparison | None) -> None:
        self.checked = checked
        self.node, self.comparison = node, comparison
        self.module, self.source = "", ""
        if node is not None:
            stack = list((node.meta.get("nn_module_stack") or {}).values())
            self.module = stack[-1][0] if stack else ""
            trace = (node.meta.get("stack_trace") or "").strip().splitlines()
            self.source = "\n".join(trace[-2:])

    def __bool__(self) -> bool:
        return self.node is not None

    def __repr__(self) -> str:
        if self.node is None or self.comparison is None:
            return f"no mismatch in {self.checked} nodes"
        cause = f"{self.comparison.cause}, largest difference {self.comparison.max_absolute:.3g}"
        return f"first mismatch: {self.node.format_node()}\n  in module '{self.module}': {cause}\n{self.source}"


def compare_nodes(
    program: ONNXProgram, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Iterator[tuple[torch.fx.Node, _engine.Comparison]]:
    """Each captured node whose value the ONNX model still has under its name, compared, in order.

    The model is converted once more without optimisation, which keeps most of them.
    """
    exported = _captured(program)
    args, kwargs = _examples(exported, args, kwargs)
    plain = program.without_optimization()
    values: dict[str, Any] = {}

    class Keep(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            result = super().run_node(node)
            if node.op == "call_function" and isinstance(result, torch.Tensor):
                values[node.name] = (node, result.detach().clone())
            return result

    run_args, run_kwargs = _copies(args, kwargs)
    with torch.no_grad():
        Keep(exported.module()).run(*_pytree.tree_leaves((run_args, run_kwargs)))
    known = plain.value_names()
    wanted = [name for name in values if name in known]
    for name, actual in zip(wanted, plain.compute_values(wanted, args, kwargs)):
        node, expected = values[name]
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        yield node, compare_tensors(name, actual, expected, module=stack[-1][0] if stack else "")


def find_mismatch(program: ONNXProgram, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Mismatch:
    """The first captured node, in order of execution, whose value differs in the ONNX model."""
    checked = 0
    for node, comparison in compare_nodes(program, args, kwargs):
        checked += 1
        if not comparison.ok:
            return Mismatch(checked, node, comparison)
    return Mismatch(checked, None, None)
