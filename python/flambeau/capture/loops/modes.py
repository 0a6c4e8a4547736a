"""What stands between a round and torch while it runs: what it takes from outside is seen, and replaced within the scan."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils import _pytree

from ..operators.indexing import at_places, with_numbers

__all__ = ["ByPlaces", "Inner", "Outer", "Unkept", "under"]


class Unkept(Exception):
    """The loop cannot be a scan."""


class ByPlaces(TorchFunctionMode):
    """While it is active, tensors are indexed by symbols."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            args = (args[0], with_numbers(args[1]), *args[2:])
            if (found := at_places(*args[:2])) is not None and func is torch.Tensor.__getitem__:
                return found
            if found is not None:
                return found.copy_(args[2]) if isinstance(args[2], torch.Tensor) else found.fill_(args[2])
        return func(*args, **(kwargs or {}))


class Outer(TorchFunctionMode):
    """While it is active, it notes the tensors and sizes that a round takes from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, torch.Tensor] = {}
        self.tensors: dict[int, torch.Tensor] = {}
        self.sizes: dict[Any, torch.SymInt | torch.SymFloat] = {}

    def own(self, values: Any) -> None:
        self.made.update((id(leaf), leaf) for leaf in _pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor))

    def note_sizes(self, leaves: Iterable[Any]) -> None:
        self.sizes.update((leaf.node.expr, leaf) for leaf in leaves if isinstance(leaf, (torch.SymInt, torch.SymFloat)))

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        leaves = _pytree.tree_leaves((args, kwargs))
        self.tensors.update((id(leaf), leaf) for leaf in leaves if isinstance(leaf, torch.Tensor) and id(leaf) not in self.made)
        self.note_sizes(leaves)
        _refuse_writes(func, args, self.tensors)
        result = func(*args, **(kwargs or {}))
        self.own(result)
        return result


class Inner(TorchFunctionMode):
    """While it is active, these tensors stand for those from outside."""

    def __init__(self, tensors: dict[int, torch.Tensor]) -> None:
        super().__init__()
        self.tensors = tensors

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        args, kwargs = _pytree.tree_map(lambda leaf: self.tensors.get(id(leaf), leaf), (args, kwargs or {}))
        return func(*args, **kwargs)


def _refuse_writes(func: Any, args: tuple[Any, ...], outer: dict[int, torch.Tensor]) -> None:
    name = getattr(func, "__name__", "")
    writes = name in ("__setitem__", "__set__") or (name.endswith("_") and not name.endswith("__")) or name in _IN_PLACE
    if writes and args and id(args[0]) in outer:
        raise Unkept("a round writes into a tensor that is not the loop's own")


_IN_PLACE = {f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift", "pow")}


@contextlib.contextmanager
def under(modes: Sequence[TorchFunctionMode], given: Sequence[Any]) -> Iterator[None]:
    """These modes are active again: while an operator runs, they are not. What it gives a round is new to loops around this one."""
    active = {id(mode) for mode in _get_current_function_mode_stack()}
    with contextlib.ExitStack() as stack:
        for mode in modes:
            if id(mode) not in active:
                stack.enter_context(mode)
            if isinstance(mode, Outer):
                mode.own(given)
        stack.enter_context(ByPlaces())
        yield
