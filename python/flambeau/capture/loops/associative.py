"""``associative_scan`` over a dynamic number of rows, which torch would write out for the example's number."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch._higher_order_ops.associative_scan import associative_scan as _of_torch
from torch._higher_order_ops.scan import scan
from torch.utils import _pytree

from ..replaced_functions import replaced_functions

__all__ = ["sequential_scans"]


def _associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Row by row."""
    leaves, structure = _pytree.tree_flatten(xs)
    tensors = combine_mode == "generic" and all(isinstance(leaf, torch.Tensor) and leaf.dim() > 0 for leaf in leaves)
    if torch.compiler.is_dynamo_compiling() or not tensors or not any(isinstance(leaf.shape[dim], torch.SymInt) for leaf in leaves):
        return _of_torch(combine_fn, xs, dim, reverse, combine_mode)
    rows = [leaf.movedim(dim, 0) for leaf in leaves]
    rows = [each.flip(0) if reverse else each.contiguous() for each in rows]

    def combine(so_far: Any, row: Any) -> tuple[Any, Any]:
        result = combine_fn(so_far, row)
        return result, _pytree.tree_map(torch.clone, result)

    # The last row once more, for onnxruntime refuses a Scan over nothing: what comes of it is dropped.
    first, others = ([at(each) for each in rows] for at in (lambda each: each[0].clone(), lambda each: torch.cat([each[1:], each[-1:]])))
    _, rest = scan(combine, _pytree.tree_unflatten(first, structure), _pytree.tree_unflatten(others, structure))
    results = [torch.cat([each[:1], more[:-1]]) for each, more in zip(rows, _pytree.tree_leaves(rest), strict=True)]
    return _pytree.tree_unflatten([(each.flip(0) if reverse else each).movedim(0, dim) for each in results], structure)


def sequential_scans() -> contextlib.AbstractContextManager[None]:
    """While it is open, a scan over a dynamic number of rows keeps it."""
    return replaced_functions({("torch._higher_order_ops.associative_scan", "associative_scan"): _associative_scan})
