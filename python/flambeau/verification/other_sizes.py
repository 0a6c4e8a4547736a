"""Example inputs in which dynamic dimensions have other sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from ..calls import with_distinct_tensors
from ..capture import one_capture_at_a_time
from ..session import as_captured

if TYPE_CHECKING:
    from ..program import ONNXProgram

__all__ = ["Arguments", "inputs_of_other_sizes", "second_inputs"]

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def second_inputs(
    exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[Sequence[str]] = ()
) -> tuple[str, Arguments] | None:
    """Inputs in which each dynamic dimension has another size, and words that say which: "batch=6".

    Sizes stay within the range that the capture allows; dimensions that are one
    symbol stay equal, derived ones follow. None where nothing is dynamic.

    Args:
        names: Of the dimensions of each tensor input; the capture's symbols where they are not known.
    """
    args, kwargs = with_distinct_tensors(args, kwargs)
    leaves = _pytree.tree_leaves(as_captured(args, kwargs, exported))
    placeholders = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    recorded = [placeholders.get(name) if isinstance(name, str) else None for name in exported.graph_signature.user_inputs]
    if len(recorded) != len(leaves):
        return None
    own = _own_sizes(leaves, recorded)
    sizes = _other_sizes(exported, own)
    if not sizes:
        return None
    generator = torch.Generator().manual_seed(0)
    # A symbol that the capture narrowed to one number is still in the shapes.
    known = {**own, **sizes}
    made = {
        id(leaf): _of_sizes(leaf, [_evaluate(size, known) for size in fake.shape], generator)
        for leaf, fake in zip(leaves, recorded)
        if isinstance(leaf, torch.Tensor) and isinstance(fake, torch.Tensor)
    }
    tensors = [fake for fake in recorded if isinstance(fake, torch.Tensor)]
    called = {
        size.node.expr: name
        for fake, of_input in zip(tensors, names)
        for size, name in zip(fake.shape, of_input)
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol
    }
    words = ", ".join(sorted({f"{called.get(symbol, symbol)}={size}" for symbol, size in sizes.items()}))
    return words, _with(made, args, kwargs)


def _with(made: Mapping[int, torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """The arguments with other tensors in place of those of these ids."""
    leaves, spec = _pytree.tree_flatten((args, kwargs))
    with one_capture_at_a_time():
        given: Arguments = _pytree.tree_unflatten([made.get(id(leaf), leaf) for leaf in leaves], spec)
    return given


def inputs_of_other_sizes(
    program: ONNXProgram, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str, Arguments] | None:
    """The same where only the converted model says which dimensions are dynamic: each name gets another size."""
    args, kwargs = with_distinct_tensors(args, kwargs)
    given = [(value, names.sizes) for value, names in zip(program.input_values(args, kwargs), program.inputs) if isinstance(value, torch.Tensor)]
    sizes: dict[str, int] = {}
    for tensor, names in given:
        for now, name in zip(tensor.shape, names):
            if name.isidentifier():
                sizes.setdefault(name, int(now) + 3)
    if not sizes:
        return None
    generator = torch.Generator().manual_seed(0)
    made = {
        id(tensor): _of_sizes(tensor, [sizes.get(name, int(now)) for name, now in zip(names, tensor.shape)], generator) for tensor, names in given
    }
    return ", ".join(sorted(f"{name}={size}" for name, size in sizes.items())), _with(made, args, kwargs)


def _own_sizes(leaves: list[Any], recorded: list[Any]) -> dict[Any, int]:
    """The size of each symbol that is a dimension of an input."""
    return {
        size.node.expr: int(now)
        for leaf, fake in zip(leaves, recorded)
        if isinstance(leaf, torch.Tensor) and isinstance(fake, torch.Tensor)
        for now, size in zip(leaf.shape, fake.shape)
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol
    }


def _other_sizes(exported: ExportedProgram, own: Mapping[Any, int]) -> dict[Any, int]:
    """Another size for each of these symbols that may have one."""
    sizes: dict[Any, int] = {}
    for symbol, now in own.items():
        interval = exported.range_constraints.get(symbol)
        low = max(int(interval.lower), 1) if interval is not None and interval.lower.is_Integer else 1
        high = int(interval.upper) if interval is not None and interval.upper.is_Integer else 2**62
        candidates = [n for n in (now + 3, now + 1, now - 1, now * 2, low, high) if low <= n <= high and n != now]
        if low != high and candidates:
            sizes[symbol] = candidates[0]
    return sizes


def _evaluate(size: int | torch.SymInt, sizes: dict[Any, int]) -> int:
    return int(size.node.expr.subs(sizes)) if isinstance(size, torch.SymInt) else int(size)


def _of_sizes(example: torch.Tensor, sizes: list[int], generator: torch.Generator) -> torch.Tensor:
    """Floats at random; of other types the example's elements over again, so that indices stay valid. They are where the example is."""
    if example.is_floating_point():
        return torch.randn(sizes, generator=generator, dtype=torch.float32).to(example)
    if example.numel() == 0:
        return torch.zeros(sizes, dtype=example.dtype, device=example.device)
    count = int(torch.Size(sizes).numel())
    flat = example.detach().flatten()
    return flat.repeat(count // flat.numel() + 1)[:count].reshape(sizes)
