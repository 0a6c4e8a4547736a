"""Sizes that are Python's numbers while a model is traced, without a word of torch's: ``range(n)``, ``items[n]``, a stride."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree

from ...feed.trace import FrozenNumber
from ..replaced_functions import Replacements, replaced_functions
from .memos import calls_memo
from .sizes import is_size

__all__ = ["frozen_numbers", "stack_from"]

_INTEGER = "aten::Int"
"""What the tracer makes of a size that it hands to an operator as a number."""

_LIST = "prim::ListConstruct"

_TAKEN_AS_THEY_ARE = [
    *(("torch", f"conv{form}{dims}d") for form in ("", "_transpose") for dims in "123"),
    ("torch", "range"),
    *(("torch" if dims == "1" else "torch._C._nn", f"adaptive_{kind}_pool{dims}d") for kind in ("avg", "max") for dims in "123"),
]
"""Functions of which the tracer records no size but those of lists."""


def stack_from(frame: types.FrameType | None) -> str:
    """The frame and those around it, as the tracer writes them beside its nodes: the innermost first."""
    lines = []
    while frame is not None:
        lines.append(f"{frame.f_code.co_filename}({frame.f_lineno}): {frame.f_code.co_name}")
        frame = frame.f_back
    return "\n".join(lines)


class _Asked:
    """Which sizes became numbers, and where."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, str], tuple[FrozenNumber, bool]] = {}  # by a size's name, and a place

    def add(self, size: torch.Tensor, called: bool) -> None:
        """`called`: by an operator."""
        stack = stack_from(sys._getframe(2))
        if stack.startswith(torch._ops.__file__):  # a packet's call, which was noted, calls an overload
            return
        self.calls.setdefault((torch._C._get_value_trace(size).debugName(), stack.partition("\n")[0]), (FrozenNumber(size, stack), called))

    def unrecorded(self) -> Iterator[FrozenNumber]:
        """Those that no operator got: none that was called there has the integer that the tracer made of the size, or it as an operand."""
        for (_, place), (number, called) in self.calls.items():
            users = [use.user for use in torch._C._get_value_trace(number.size).uses()]
            integers = itertools.chain.from_iterable(user.output().uses() for user in users if user.kind() == _INTEGER)
            takers = [use.user for use in integers]
            # Of lists the tracer does not say where they are made.
            lists = itertools.chain.from_iterable(taker.output().uses() for taker in takers if taker.kind() == _LIST)
            got = [*takers, *(use.user for use in lists), *(users if called else ())]
            if not any(place in user.sourceRange().splitlines() for user in got):
                yield number


@contextlib.contextmanager
def frozen_numbers() -> Iterator[Callable[[], list[FrozenNumber]]]:
    """While it is open, who asks a size for its number is remembered.

    Yields:
        A function that gives the sizes which the trace does not follow, each once for a place, while the trace goes on.
    """
    asked = _Asked()

    def asking(own: Callable[[torch.Tensor], Any], number: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
        @functools.wraps(own)
        def call(self: torch.Tensor) -> Any:
            if not is_size(self) or self.is_floating_point() or own is hashed and calls_memo(sys._getframe(1)):
                return own(self)
            asked.add(self, called=False)
            return number(self)

        return call

    def taking(own: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(own)
        def call(*args: Any, **kwargs: Any) -> Any:
            for value in _pytree.tree_leaves((args, kwargs)):
                if is_size(value):
                    asked.add(value, called=True)
            return own(*args, **kwargs)

        return call

    # A memo would find what an earlier run of the same size left there, numbers of its own. Hashed as a tensor, a size is a new argument.
    hashed = torch.Tensor.__hash__
    index = torch.Tensor.__index__
    taken = {(owner, name): taking(getattr(sys.modules[owner], name)) for owner, name in _TAKEN_AS_THEY_ARE}
    with replaced_functions(taken), Replacements() as replacements:
        for calls in (torch._ops.OpOverload, torch._ops.OpOverloadPacket):
            replacements.set(calls, "__call__", taking(calls.__call__))
        replacements.set(torch.Tensor, "__index__", asking(index, index))
        for name, of_number in (("__hash__", hash), ("__str__", str)):
            replacements.set(torch.Tensor, name, asking(getattr(torch.Tensor, name), lambda size, of_number=of_number: of_number(index(size))))
        yield lambda: list(asked.unrecorded())
