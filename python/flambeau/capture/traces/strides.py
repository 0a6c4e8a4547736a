"""Strides that a model asks for while it is traced: torch's tracer would take them as the numbers that the example has."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..replaced_functions import Replacements
from .counts import stack_from
from .untraced import untraced

__all__ = ["strides_of_sizes"]


def _recorded(tensor: torch.Tensor, dim: int, number: int, stack: str) -> torch.Tensor:
    """The stride as the tracer has sizes: a tensor, which is a number to the model."""
    graph = torch._C._get_tracing_state().graph()
    stride = graph.create("aten::stride", [torch._C._get_value_trace(tensor), graph.insertConstant(dim)], 1)
    stride.i_("example", number).s_("stack", stack)
    graph.insertNode(stride).output().setType(torch._C.IntType.get())
    size = graph.insertNode(graph.create("prim::NumToTensor", [stride.output()], 1))
    with untraced():
        traced = torch.tensor(number)
    size.output().inferTypeFrom(traced)
    torch._C._set_value_trace(traced, size.output())
    return traced


def _asking(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        numbers = own(self, *args, **kwargs)
        if torch._C._get_tracing_state() is None or self.layout is not torch.strided:
            return numbers
        dims = range(self.dim()) if isinstance(numbers, tuple) else args or kwargs.values()
        stack = stack_from(sys._getframe(1))
        # 1 is mostly that of the last dimension, and 0 that of an expanded one, of whatever size.
        pairs = zip(dims, numbers if isinstance(numbers, tuple) else (numbers,))
        strides = [_recorded(self, dim, number, stack) if number > 1 else number for dim, number in pairs]
        return tuple(strides) if isinstance(numbers, tuple) else strides[0]

    return call


@contextlib.contextmanager
def strides_of_sizes() -> Iterator[None]:
    """While it is open, ``x.stride()`` gives what follows from the sizes of the run."""
    with Replacements() as replacements:
        replacements.set(torch.Tensor, "stride", _asking(torch.Tensor.stride))
        yield
