"""Runs two functions, of which a value chooses one, as torch's ``cond``.

Both get the names that either of them changes, and hand them on. What is a tensor, or a number, after both
comes out of the branch. What only one of them gives a value is lost, and using it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import torch
from torch._guards import detect_fake_mode
from torch._higher_order_ops.cond import cond_op
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, statically_known_true
from torch.overrides import _get_current_function_mode_stack
from torch.utils import _pytree

from .scanning import Inner, Lost, Outer, Unkept, fixed, under

__all__ = ["as_branches", "decided", "truth"]

_Branch = Callable[..., tuple[Any, ...]]
_NUMBERS = (int, torch.SymInt, float, torch.SymFloat, bool, torch.SymBool)


def decided(condition: Any, sizes: bool) -> bool | None:
    """What Python says of the condition's truth; None where only a run knows, and with `sizes` where the example decides."""
    if isinstance(condition, Lost):
        raise Unkept("a condition to which one branch gives no value")
    if isinstance(condition, (torch.SymInt, torch.SymFloat)):
        condition = condition != 0
    if sizes and isinstance(condition, torch.SymBool):
        known = [statically_known_true(each) for each in (condition, torch.sym_not(condition))]
        return known[0] if any(known) else None
    try:
        return bool(condition)
    except GuardOnDataDependentSymNode:
        return None


def truth(condition: Any) -> torch.Tensor:
    """The condition as a tensor of one bool."""
    if not isinstance(condition, torch.Tensor):
        condition = condition != 0 if isinstance(condition, torch.SymFloat) else condition
        return torch.scalar_tensor(condition, dtype=torch.int64) != 0
    condition = condition.reshape(())
    return condition if condition.dtype == torch.bool else condition != 0


def _kind(value: Any) -> type | None:
    """As what a branch hands a value out; None if it cannot."""
    if isinstance(value, torch.Tensor):
        return torch.Tensor
    return next((kind for kind, names in ((bool, _NUMBERS[4:]), (int, _NUMBERS[:2]), (float, _NUMBERS[2:4])) if isinstance(value, names)), None)


_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}


def _as_tensor(value: Any) -> torch.Tensor:
    kind = _kind(value)
    if kind is torch.Tensor:
        return value.clone(memory_format=torch.contiguous_format)
    if kind is bool and isinstance(value, torch.SymBool):
        return torch.scalar_tensor(value, dtype=torch.int64) != 0
    return torch.scalar_tensor(value, dtype=_DTYPES[kind])


def _alike(one: Any, other: Any) -> bool:
    """Whether two values come out of the branches as one."""
    kinds = _kind(one), _kind(other)
    if kinds[0] is None or kinds[0] is not kinds[1]:
        return False
    return kinds[0] is not torch.Tensor or (one.dtype == other.dtype and one.ndim == other.ndim)


class _Branches:
    def __init__(self, names: Sequence[str], before: Sequence[Any], written: Set[str]) -> None:
        self.names, self.before, self.written = names, before, written
        self.outer = Outer()
        self.symbols: set[Any] | None = None  # those from before the branches
        self.modes = [mode for mode in _get_current_function_mode_stack() if not type(mode).__module__.startswith("torch.fx")]
        for name, value in zip(names, before):
            if name in written and not isinstance(value, (torch.Tensor, list, tuple, int, float, Lost, torch.SymInt, torch.SymFloat, type(None))):
                raise Unkept(f"a branch changes {name}")

    def _given(self) -> list[Any]:
        """The values for a branch to write into."""
        return [
            _pytree.tree_map_only(torch.Tensor, torch.clone, value) if name in self.written else value
            for name, value in zip(self.names, self.before)
        ]

    def _tried(self, branch: _Branch) -> tuple[list[Any], set[int]]:
        """What the branch gives, and which of that are objects that it got; the tensors and sizes from outside are noted."""
        fake = detect_fake_mode(_pytree.tree_leaves(self.before))
        if fake is None or fake.shape_env is None:
            raise Unkept("a branch outside of a capture")
        if self.symbols is None:
            self.symbols = set(fake.shape_env.var_to_range)
        with disable_proxy_modes_tracing(), fake.shape_env.ignore_fresh_unbacked_symbols():
            with self.outer:
                given = self._given()
                results = list(branch(*given))
        return results, {i for i, (result, value) in enumerate(zip(results, given)) if result is value}

    def run(self, condition: torch.Tensor, branches: Sequence[_Branch]) -> list[Any]:
        (one, kept), (other, also_kept) = map(self._tried, branches)
        kept &= also_kept
        after: list[Any] = []
        merged: dict[int, tuple[list[Any], Any]] = {}
        out: list[tuple[int, int]] = []  # what comes out: the value, and the leaf
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            after.append(a)
            if a is b or (i in kept and self.names[i] not in self.written):
                continue
            (leaves, spec), (others, other_spec) = map(_pytree.tree_flatten, (a, b))
            if isinstance(a, Lost) or isinstance(b, Lost):  # one way leaves the name without a value
                after[i] = Lost()
                continue
            if spec != other_spec:
                raise Unkept("branches make different things of a value")
            merged[i] = leaves, spec
            for leaf, (x, y) in enumerate(zip(leaves, others)):
                if _alike(x, y) and (isinstance(x, torch.Tensor) or not fixed(x, y)):
                    out.append((i, leaf))
                    self.outer.note((x, y))
                elif not fixed(x, y):
                    raise Unkept("branches make different things of a value")
        results = self._chosen(condition, branches, out) if out else []
        for (i, leaf), result in zip(out, results):
            leaves = merged[i][0]
            leaves[leaf] = result if isinstance(leaves[leaf], torch.Tensor) else result.item()
        for i, (leaves, spec) in merged.items():
            after[i] = _pytree.tree_unflatten(leaves, spec)
            if i in kept and isinstance(self.before[i], torch.Tensor):  # written in place
                after[i] = self.before[i].copy_(after[i])
        return after

    def _chosen(self, condition: torch.Tensor, branches: Sequence[_Branch], out: Sequence[tuple[int, int]]) -> Sequence[torch.Tensor]:
        tensors = list(self.outer.tensors.values())
        known = {size.node.expr for tensor in tensors for size in tensor.shape if isinstance(size, torch.SymInt)}
        symbols = {each: size for each, size in self.outer.sizes.items() if each in (self.symbols or ()) and each not in known}
        sizes = [size for size in symbols.values() if isinstance(size, torch.SymInt)]
        floats = [each for each, size in symbols.items() if isinstance(size, torch.SymFloat)]  # cond takes them as tensors
        operands = [*tensors, *(torch.scalar_tensor(symbols[each], dtype=torch.float64) for each in floats)]

        def lifted(branch: _Branch) -> Callable[..., list[torch.Tensor]]:
            def call(*within: torch.Tensor) -> list[torch.Tensor]:
                numbers = {each: tensor.item() for each, tensor in zip(floats, within[len(tensors) :])}
                with under(self.modes), Inner({id(outer): inner for outer, inner in zip(tensors, within)}, numbers):
                    results = branch(*self._given())
                    return [_as_tensor(_pytree.tree_leaves(results[i])[leaf]) for i, leaf in out]

            return call

        return cond_op(condition, *map(lifted, branches), (*operands, *sizes))


def as_branches(condition: Any, branches: Sequence[_Branch], names: Sequence[str], before: Sequence[Any], written: Set[str]) -> list[Any]:
    """What the function gives that the condition chooses.

    Args:
        branches: Where it holds, and where it does not. Each takes the values, and gives the next ones, or others.
        names: Of the values.
        before: The values before.
        written: The names of values that a branch may write into.

    Raises:
        Unkept: What the branches do cannot be a ``cond``.
    """
    return _Branches(names, before, written).run(truth(condition), branches)
