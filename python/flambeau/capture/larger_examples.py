"""The example at other sizes: its rows repeated, or less of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from .assumptions import frozen, inputs, sizes_of
from .sizes.proofs import at

__all__ = ["sizes_where_not", "where_none", "with_more_rows"]

_MOST_TIMES = 256
_MOST_SIZES = 1024
_MOST_SHOWN = 4
_MOST_ELEMENTS = 1 << 26

_Example = tuple[tuple[Any, ...], dict[str, Any]]


def _with_sizes(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: dict[sympy.Symbol, int]) -> _Example | None:
    """The arguments at these sizes; None if they would be very large."""
    leaves, structure = _pytree.tree_flatten((args, kwargs))
    for at, (leaf, fake) in enumerate(inputs(exported, args, kwargs)):
        if not isinstance(leaf, torch.Tensor) or not isinstance(fake, torch.Tensor):
            continue
        extents = [int(size.node.expr.subs(sizes)) if isinstance(size, torch.SymInt) else size for size in fake.shape]
        if torch.Size(extents).numel() > _MOST_ELEMENTS:
            return None
        for axis, extent in enumerate(extents):
            if extent != leaf.shape[axis]:
                leaf = leaf.detach().index_select(axis, torch.arange(extent, device=leaf.device) % leaf.shape[axis])
        leaves[at] = leaf
    return _pytree.tree_unflatten(leaves, structure)  # type: ignore[no-any-return]


def _is_of_one(condition: sympy.Eq) -> bool:
    """Whether it says that a quantity is 0 or 1, or so many times what is 1, as the strides of one row are those of none."""
    return any(number in (0, 1, size.as_coeff_Mul()[0]) for size, number in (condition.args, condition.args[::-1]))


def with_more_rows(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Example | None:
    """The arguments with rows repeated until nothing that the program takes for 0 or 1 is; None if that cannot be.

    Where a size that is computed from sizes is 1 for the given ones, torch takes it for a fact.
    """
    ones = [condition for condition in frozen(exported) if _is_of_one(condition)]
    sizes = sizes_of(exported, args, kwargs)
    symbols = {symbol for condition in ones for symbol in condition.free_symbols}
    if not ones or sizes is None or not symbols <= sizes.keys():
        return None
    times = 2
    while any(at(condition, {symbol: sizes[symbol] * times for symbol in symbols}) != sympy.false for condition in ones):
        times *= 2
        if times > _MOST_TIMES:
            return None
    return _with_sizes(exported, args, kwargs, {symbol: size * times if symbol in symbols else size for symbol, size in sizes.items()})


def sizes_where_not(condition: Any, symbol: sympy.Symbol) -> list[int]:
    """The first sizes of which a condition does not hold."""
    return list(itertools.islice((size for size in range(2, _MOST_SIZES) if at(condition, {symbol: size}) == sympy.false), _MOST_SHOWN))


def where_none(exported: ExportedProgram, conditions: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Example | None:
    """The arguments with other rows, so that conditions on one size each do not hold; None if no such sizes are found."""
    sizes = sizes_of(exported, args, kwargs)
    for condition in conditions:
        if sizes is None or len(condition.free_symbols) != 1 or not condition.free_symbols <= sizes.keys():
            return None
        (symbol,) = condition.free_symbols
        others = (*range(sizes[symbol], _MOST_SIZES), *range(2, sizes[symbol]))
        size = next((size for size in others if at(condition, {symbol: size}) == sympy.false), None)
        if size is None:
            return None
        sizes = {**sizes, symbol: size}
    if sizes is None or not all(at(condition, sizes) == sympy.false for condition in conditions):  # two conditions on one size
        return None
    return _with_sizes(exported, args, kwargs, sizes)
