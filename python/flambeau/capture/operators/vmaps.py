"""``torch.vmap``: captured as the calls that enter and leave it, and then over whole batches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._functorch import vmap
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from ...torch_names import found
from ..decomposition import operators, written_out
from ..loops.scanning import as_scan
from ..replaced_functions import Replacements
from .batching_rules import dynamic_batches
from .flex_attention import FlexAttentionHOP, dense_flex_attention

__all__ = ["called_one_by_one", "recordable_vmaps", "without_vmap"]

_MOST_CALLS = 64
"""Of the function of one vmap, where it is called for each of its examples: as many as an ensemble has members."""

_CHECK = torch.ops.aten._assert_tensor_metadata.default
"""What a conversion records beside itself; of a batch with dynamic sizes torch cannot ask it."""


def _linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """``torch.nn.functional.linear`` inside of a vmap: torch makes numbers of sizes where it folds three dimensions and adds a bias."""
    product = torch._C._nn.linear(input, weight)
    return product if bias is None else product + bias


@contextlib.contextmanager
def recordable_vmaps() -> Iterator[list[str]]:
    """While it is open, a vmap is made of what a capture can record, for any sizes.

    Its results come out with the batch in front, and are moved then, as nobody records it where torch moves them.
    Gives the functions that were called by one.
    """
    called: list[str] = []
    remove: Any = found("torch._functorch.predispatch._remove_batch_dim")
    mapped = vmap._flat_vmap

    def noted(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        called.append(getattr(function, "__name__", type(function).__name__))
        with Replacements() as within:
            within.set(torch.nn.functional, "linear", _linear)
            return mapped(function, *args, **kwargs)

    def removed(tensor: torch.Tensor, level: int, size: int, to: int) -> torch.Tensor:
        result = remove(tensor, level, size, 0)
        return result.movedim(0, to) if to else result

    with dynamic_batches(), Replacements() as replacements:
        replacements.set(vmap, "_flat_vmap", noted)
        replacements.set(vmap, "_remove_batch_dim", removed)
        replacements.set(vmap, "_get_chunked_inputs", lambda args, *_: [args])  # a chunk is as much as memory has room for
        yield called


@contextlib.contextmanager
def called_one_by_one() -> Iterator[None]:
    """While it is open, the function of a vmap is called for each example: as often as there are, or by a loop where their number is dynamic.

    What it computes is the same, and the graph larger. It serves where torch's rules for batches make numbers of sizes.
    """
    at_once = vmap._flat_vmap

    def called(
        function: Callable[..., Any],
        size: int | torch.SymInt,
        in_dims: list[int | None],
        args: list[Any],
        structure: pytree.TreeSpec,
        out_dims: Any,
        randomness: str,
        **kwargs: Any,
    ) -> Any:
        if randomness == "same" or (isinstance(size, int) and not 0 < size <= _MOST_CALLS):
            return at_once(function, size, in_dims, args, structure, out_dims, randomness, **kwargs)
        form = None

        def results(example: Any) -> list[torch.Tensor]:
            nonlocal form
            parts = [arg if dim is None else torch.select(arg, dim, example).clone() for arg, dim in zip(args, in_dims)]
            flat, form = pytree.tree_flatten(function(*pytree.tree_unflatten(parts, structure), **kwargs))
            return flat

        stacked = _over_all(results, size)
        assert form is not None
        dims = pytree._broadcast_to_and_flatten(out_dims[0] if form.is_leaf() and isinstance(out_dims, tuple) else out_dims, form)
        return pytree.tree_unflatten([each[0] if dim is None else each.movedim(0, dim) for each, dim in zip(stacked, dims)], form)

    with Replacements() as replacements:
        replacements.set(vmap, "_flat_vmap", called)
        yield


def _over_all(results: Callable[[Any], list[torch.Tensor]], size: int | torch.SymInt) -> list[torch.Tensor]:
    """What the function gives for each example, stacked."""
    if isinstance(size, int):
        return [torch.stack(each) for each in zip(*map(results, range(size)))]

    def round(example: Any, filled: list[torch.Tensor]) -> tuple[list[torch.Tensor]]:
        filled.extend(results(example))
        return (filled,)

    (first,), appended = as_scan(size, lambda i: i, round, ["the results"], [[]], {"the results"})
    return [torch.cat([torch.stack(first[i :: len(appended[0].items)]), rest]) if first else rest for i, rest in enumerate(appended[0].items)]


def without_vmap(exported: ExportedProgram) -> ExportedProgram:
    """The program over whole batches; the program itself if it has no ``torch.vmap``, and no flex attention, which is one.

    torch.export records the calls that enter and leave a vmap, and between them
    operators on tensors that seem to lack a dimension. Tracing the program again
    runs the calls.
    """

    def is_batched(target: object) -> bool:
        return getattr(target, "__module__", "") == "torch._functorch.predispatch" or isinstance(target, FlexAttentionHOP)

    if not any(map(is_batched, operators(exported))):
        return exported
    for module in exported.graph_module.modules():
        checks = module.graph.find_nodes(op="call_function", target=_CHECK) if isinstance(module, torch.fx.GraphModule) else ()
        for check in checks:
            module.graph.erase_node(check)
    with dense_flex_attention(), dynamic_batches():
        return written_out(exported, {})
