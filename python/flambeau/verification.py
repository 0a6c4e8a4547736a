"""Compares a converted model with the PyTorch program that it came from."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from . import _engine
from .archived import ArchivedProgram
from .capture import user_line
from .comparison import compare, not_computed
from .errors import VerificationError
from .program import ONNXProgram
from .session import flat_inputs
from .state import kept_buffers

__all__ = [
    "Mismatch",
    "archived_reference",
    "compare_modules",
    "compare_nodes",
    "compare_tensors",
    "compare_values",
    "computed",
    "expected_outputs",
    "find_mismatch",
    "first_mismatch",
    "inputs_of_other_sizes",
    "is_reshaped_elsewhere",
    "prove",
    "second_inputs",
    "verify",
]

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

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

    Floating outputs agree within :data:`flambeau.comparison.TOLERANCES`, others
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
    if reference is None and exported is None and args and program.archive is not None and program.archive.is_torchscript:
        reference = program.archive.script()
    if reference is None or exported is not None:
        exported = exported or _captured(program)
        args, kwargs = _examples(exported, args, kwargs)
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


def prove(
    program: ONNXProgram,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    *,
    reference: Callable[..., Any] | None,
    exported: ExportedProgram | None,
    modules: bool,
) -> list[_engine.Comparison]:
    """:func:`verify`, and more for a report: `modules` also compares within; a failure says where it begins.

    Raises:
        VerificationError: As :func:`verify`.
    """
    try:
        comparisons = verify(program, args, kwargs, reference=reference, exported=exported)
    except VerificationError as error:
        if exported is None or not error.comparisons:
            raise
        found = find_mismatch(program, args, kwargs, exported=exported)
        if modules:
            error.comparisons += compare_modules(program, args, kwargs, exported=exported)
        place = found if found or reference is None else "every captured node agrees: the capture itself differs from the model"
        raise VerificationError(f"{error}\n{place}", error.comparisons) from None
    if modules and exported is not None:
        comparisons += compare_modules(program, args, kwargs, exported=exported)
    return comparisons


class _NotForTheProgram(Exception):
    """The captured program itself does not run on these inputs."""


def _captured(program: ONNXProgram) -> ExportedProgram:
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


def _examples(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Arguments:
    if args or kwargs:
        return args, kwargs or {}
    if exported.example_inputs is None:
        raise VerificationError("the ExportedProgram holds no example inputs; pass args")
    return exported.example_inputs


def _input_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The inputs of a TorchScript program: everything else was made constant."""
    return [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _copies(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """The program may write to its inputs; both models must see the same values."""
    return _pytree.tree_map(_copy, args), _pytree.tree_map(_copy, kwargs)


def _tensors(results: Any) -> list[torch.Tensor]:
    return [torch.as_tensor(leaf).detach().cpu() for leaf in _pytree.tree_leaves(results) if leaf is not None]


def named_tensors(names: Iterable[str], outputs: Iterable[Any]) -> list[tuple[str, Any]]:
    """The tensors that a model gives, those of lists one by one and without the Nones, each with the name of its output."""
    return [(name, leaf) for name, output in zip(names, outputs) for leaf in _pytree.tree_leaves(output) if leaf is not None]


def expected_outputs(reference: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """What PyTorch gives, without the Nones, once: a module is afterwards as it was. Raises whatever the program raises."""
    run_args, run_kwargs = _copies(args, kwargs)
    kept = kept_buffers(reference) if isinstance(reference, torch.nn.Module) else contextlib.nullcontext()
    with torch.no_grad(), kept:
        return [tensor.clone() for tensor in _tensors(reference(*run_args, **run_kwargs))]


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
    exported: ExportedProgram | None,
) -> list[_engine.Comparison]:
    try:
        expected = expected_outputs(reference, args, kwargs)
    except Exception as error:
        if inputs == "example":
            raise VerificationError(f"PyTorch does not run on these inputs: {error}") from error
        raise _NotForTheProgram from error
    values = _input_tensors(args, kwargs) if exported is None else flat_inputs(args, kwargs, exported)
    try:
        actual = program(*values)
    except (TypeError, VerificationError):
        raise
    except Exception as error:  # of onnxruntime, which has no class of its own for them
        return [not_computed(name, error, inputs=inputs) for name in names]
    given = named_tensors(itertools.chain(names, itertools.repeat("")), actual)
    if len(given) < len(expected):
        raise VerificationError(f"the model has {len(given)} outputs; PyTorch's has {len(expected)}")
    return [compare_tensors(name, ours, theirs, inputs=inputs) for (name, ours), theirs in zip(given, expected)]


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
    words = ", ".join(sorted({f"{called.get(symbol, symbol)}={size}" for symbol, size in sizes.items()}))
    return words, _pytree.tree_unflatten(made, spec)


def inputs_of_other_sizes(
    program: ONNXProgram, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str, Arguments] | None:
    """The same where only the converted model says which dimensions are dynamic: each name gets another size."""
    leaves, spec = _pytree.tree_flatten((args, kwargs))
    tensors = _input_tensors(args, kwargs)
    inputs = program.inputs
    if len(inputs) != len(tensors):
        return None
    sizes: dict[str, int] = {}
    for tensor, value in zip(tensors, inputs):
        for now, name in zip(tensor.shape, value.sizes):
            if name.isidentifier():
                sizes.setdefault(name, int(now) + 3)
    if not sizes:
        return None
    generator = torch.Generator().manual_seed(0)
    of_input = iter(inputs)

    def resized(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        names = next(of_input).sizes
        return _of_sizes(leaf, [sizes.get(name, int(now)) for name, now in zip(names, leaf.shape)], generator)

    words = ", ".join(sorted(f"{name}={size}" for name, size in sizes.items()))
    return words, _pytree.tree_unflatten([resized(leaf) for leaf in leaves], spec)


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
        kind: The class of the cause: "dtype", "rounding", "operator", or "constant"
            (a value that should be dynamic: only inputs of another size differ).
    """

    def __init__(self, checked: int, node: torch.fx.Node | None, comparison: _engine.Comparison | None) -> None:
        self.checked = checked
        self.node, self.comparison = node, comparison
        self.module, self.source, self.kind = "", "", ""
        if node is not None and comparison is not None:
            self.module = _module_of(node)
            trace = (node.meta.get("stack_trace") or "").strip().splitlines()
            self.source = "\n".join(trace[-2:])
            cause = comparison.cause.partition(":")[0]
            self.kind = (
                cause
                if cause in ("dtype", "rounding")
                else "operator" if comparison.inputs == "example" else "constant"
            )

    def __bool__(self) -> bool:
        return self.node is not None

    def __repr__(self) -> str:
        if self.node is None or self.comparison is None:
            return f"no mismatch in {self.checked} nodes"
        found = self.comparison
        kind = "a constant that should be dynamic" if self.kind == "constant" else self.kind
        difference = "" if found.cause.startswith("not computed") else f", largest difference {found.max_absolute:.3g}"
        numbers = f"{found.cause} ({found.inputs}){difference}"
        return (
            f"first mismatch: {self.node.format_node()}\n  in module '{self.module}': {numbers}\n"
            f"  cause: {kind}\n{self.source}"
        )


def _module_of(node: torch.fx.Node) -> str:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0] if stack else ""


class _Values(torch.fx.Interpreter):
    """Runs a captured program, and keeps what each call gives."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.kept: dict[str, tuple[torch.fx.Node, torch.Tensor]] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        result = super().run_node(node)
        if node.op == "call_function" and isinstance(result, torch.Tensor):
            self.kept[node.name] = (node, result.detach().clone())
        return result


def compare_nodes(
    program: ONNXProgram,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    inputs: str = "example",
    exported: ExportedProgram | None = None,
) -> Iterator[tuple[torch.fx.Node, _engine.Comparison]]:
    """Each captured node whose value the ONNX model still has under its name, compared, in order.

    The model is converted once more without optimisation, which keeps most of them.

    Args:
        program: The converted model.
        args: Positional arguments to compute with; without any, the example's of the capture.
        kwargs: Keyword arguments.
        inputs: What the comparisons call these inputs.
        exported: As for :func:`verify`.
    """
    exported = exported or _captured(program)
    args, kwargs = _examples(exported, args, kwargs)
    plain = program.without_optimization()
    known = plain.value_names()

    def compute(names: list[str]) -> tuple[Any, ...]:
        return plain.compute_values(names, tuple(flat_inputs(args, kwargs, exported)))

    yield from compare_values(exported, args, kwargs, known, compute, inputs=inputs)


def compare_values(
    exported: ExportedProgram,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    known: Collection[str] | Mapping[str, str],
    compute: Callable[[list[str]], tuple[Any, ...]],
    *,
    inputs: str = "example",
) -> Iterator[tuple[torch.fx.Node, _engine.Comparison]]:
    """Each captured node whose name is among the `known` values of a model, which `compute` gives.

    Args:
        known: A mapping says what the values are called in the model.
    """
    called = known if isinstance(known, Mapping) else {name: name for name in known}
    run_args, run_kwargs = _copies(args, kwargs)
    module = exported.module()
    interpreter = _Values(module)
    with torch.no_grad(), kept_buffers(module):
        interpreter.run(*_pytree.tree_leaves((run_args, run_kwargs)))
    values = interpreter.kept
    wanted = [name for name in values if name in called]
    given, error = computed([called[name] for name in wanted], compute)
    for name, actual in zip(wanted, given):
        node, expected = values[name]
        if called[name] != name and is_reshaped_elsewhere(actual, expected):
            continue
        yield node, compare_tensors(name, actual, expected, inputs=inputs, module=_module_of(node))
    if error is not None and len(given) < len(wanted):
        name = wanted[len(given)]
        node, _ = values[name]
        yield node, not_computed(name, error, inputs=inputs, module=_module_of(node))


def is_reshaped_elsewhere(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Optimisation moves transpositions and reshapes to other places: such values cannot be compared."""
    return actual.shape != expected.shape and actual.numel() == expected.numel()


def computed(names: list[str], compute: Callable[[list[str]], tuple[Any, ...]]) -> tuple[tuple[Any, ...], Exception | None]:
    """As many of the values as the runtime computes, and what it raised for the next: by halving."""
    try:
        return compute(names), None
    except Exception as error:  # of onnxruntime
        failure = error
    good, bad, values = 0, len(names), ()
    while good + 1 < bad:
        middle = (good + bad) // 2
        try:
            values, good = compute(names[:middle]), middle
        except Exception as error:
            failure, bad = error, middle
    return values, failure


def find_mismatch(
    program: ONNXProgram,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    exported: ExportedProgram | None = None,
) -> Mismatch:
    """The first captured node, in order of execution, whose value differs in the ONNX model.

    Where all agree on the example inputs, inputs of other sizes are tried.
    """
    exported = exported or _captured(program)
    args, kwargs = _examples(exported, args, kwargs)
    mismatch = first_mismatch(compare_nodes(program, args, kwargs, exported=exported))
    other = second_inputs(exported, args, kwargs, [value.sizes for value in program.inputs])
    if mismatch or other is None:
        return mismatch
    words, (other_args, other_kwargs) = other
    try:
        return first_mismatch(compare_nodes(program, other_args, other_kwargs, inputs=words, exported=exported))
    except Exception as error:  # of PyTorch or onnxruntime: these inputs are not for this program
        _log.warning("nodes are not compared for %s: %s", words, error)
        return mismatch


def first_mismatch(compared: Iterator[tuple[torch.fx.Node, _engine.Comparison]]) -> Mismatch:
    """The first that differs."""
    checked = 0
    for node, comparison in compared:
        checked += 1
        if not comparison.ok:
            return Mismatch(checked, node, comparison)
    return Mismatch(checked, None, None)


def compare_modules(program: ONNXProgram, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, *,
                    exported: ExportedProgram | None = None) -> list[_engine.Comparison]:
    """Of each module, in order of execution, the value that is the furthest from PyTorch's."""
    worst: dict[str, _engine.Comparison] = {}
    for _, comparison in compare_nodes(program, args, kwargs, exported=exported):
        comparison.module = comparison.module or "(model)"
        known = worst.get(comparison.module)
        if known is None or (not comparison.ok, comparison.max_absolute) > (not known.ok, known.max_absolute):
            worst[comparison.module] = comparison
    return list(worst.values())
