"""Sizes that are tensors to torch's tracer, and numbers to the model: ``n *= 2`` gives a new number, and changes no other that has the same name elsewhere."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator, Set
from typing import Any

import torch

from .replaced_functions import Replacements

__all__ = ["number_of_sizes", "numbers_stay_as_they_are"]

_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    f"__i{name}__": getattr(operator, name) for name in ("add", "floordiv", "mod", "mul", "pow", "sub", "truediv")
}
_SIZE = "prim::NumToTensor"
_ARITHMETIC = {f"aten::{name}" for name in ("add", "ceil", "div", "floor", "floor_divide", "mul", "neg", "pow", "remainder", "rsub", "sub")}


_COMPARISONS = {f"aten::{name}" for name in ("eq", "ge", "gt", "le", "lt", "ne")}


def number_of_sizes(tensor: torch.Tensor) -> type | None:
    """The type of Python's that a size has, or what is computed of sizes, which is a tensor to torch's tracer; None for other tensors."""
    if not _is_made_of_sizes(tensor, _ARITHMETIC | _COMPARISONS):
        return None
    return bool if tensor.dtype is torch.bool else float if tensor.is_floating_point() else int


def _is_made_of_sizes(tensor: torch.Tensor, computed: Set[str] = _ARITHMETIC) -> bool:
    if tensor.ndim or torch._C._get_tracing_state() is None:
        return False
    pending, seen, found = [torch._C._get_value_trace(tensor)], set[str](), False
    while pending:
        value = pending.pop()
        if value.debugName() in seen:
            continue
        seen.add(value.debugName())
        node = value.node()
        if node.kind() == _SIZE:
            found = True
        elif node.kind() in computed:
            pending += node.inputs()
        elif node.kind() != "prim::Constant":
            return False
    return found


@contextlib.contextmanager
def numbers_stay_as_they_are() -> Iterator[None]:
    """While it is open, sizes and what is computed of them are not written in place."""

    def apart(name: str, compute: Callable[[Any, Any], Any]) -> Callable[[torch.Tensor, Any], Any]:
        write = getattr(torch.Tensor, name)

        def call(self: torch.Tensor, other: Any) -> Any:
            return compute(self, other) if _is_made_of_sizes(self) else write(self, other)

        return call

    with Replacements() as replacements:
        for name, compute in _IN_PLACE.items():
            replacements.set(torch.Tensor, name, apart(name, compute))
        yield
