"""Examples of more rows, where a size that is computed from sizes is 1 for the given ones, which torch takes for a fact."""

from __future__ import annotations

from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from .assumptions import frozen, inputs, sizes_of

__all__ = ["with_more_rows"]

_MOST_TIMES = 256
_MOST_ELEMENTS = 1 << 26


def with_more_rows(
    exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with rows repeated until nothing that the program takes for 0 or 1 is; None if that cannot be."""
    ones = [condition for condition in frozen(exported) if any(side in (0, 1) for side in condition.args)]
    sizes = sizes_of(exported, args, kwargs)
    symbols = {symbol for condition in ones for symbol in condition.free_symbols}
    if not ones or sizes is None or not symbols <= sizes.keys():
        return None
    times = 2
    while any(condition.subs({symbol: sizes[symbol] * times for symbol in symbols}) != sympy.false for condition in ones):
        times *= 2
        if times > _MOST_TIMES:
            return None
    more = {symbol: size * times if symbol in symbols else size for symbol, size in sizes.items()}
    leaves, structure = _pytree.tree_flatten((args, kwargs))
    for at, (leaf, fake) in enumerate(inputs(exported, args, kwargs)):
        if not isinstance(leaf, torch.Tensor) or not isinstance(fake, torch.Tensor):
            continue
        rows = [int(size.node.expr.subs(more)) if isinstance(size, torch.SymInt) else size for size in fake.shape]
        if torch.Size(rows).numel() > _MOST_ELEMENTS:
            return None
        for axis, count in enumerate(rows):
            if count != leaf.shape[axis]:
                leaf = leaf.detach().index_select(axis, torch.arange(count, device=leaf.device) % leaf.shape[axis])
        leaves[at] = leaf
    return _pytree.tree_unflatten(leaves, structure)
