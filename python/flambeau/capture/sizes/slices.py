"""What torch says of slices in a capture.

Where sizes decide whether an end counts from the back (``x[:, -n:]``), it takes theirs for sizes that data decides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_impls import op_implementations_dict
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils.weak import WeakIdKeyDictionary

from .proofs import expression_of

__all__ = ["decided_slices", "repeated_slices", "slices_by", "undecided_slices"]

_SLICE = torch.ops.aten.slice.Tensor


def _is_undecided(end: Any) -> bool:
    if not isinstance(end, torch.SymInt) or end.node.hint is None:
        return False
    return not statically_known_true(end >= 0) and not statically_known_true(end < 0)


@contextlib.contextmanager
def slices_by(infer: Any) -> Iterator[None]:
    """While it is open, this says what slices are like, and is told how torch does."""
    before = op_implementations_dict.get(_SLICE)
    if before is None:  # a release of torch that asks the example
        yield
        return
    op_implementations_dict[_SLICE] = lambda *args, **kwargs: infer(before, *args, **kwargs)
    try:
        yield
    finally:
        op_implementations_dict[_SLICE] = before


@contextlib.contextmanager
def undecided_slices() -> Iterator[list[Any]]:
    """Gives the ends that may count from the front and from the back."""
    found: list[Any] = []

    def noting(infer: Any, mode: Any, func: Any, self: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
        found.extend(filter(_is_undecided, (start, end)))
        return infer(mode, func, self, dim, start, end, step)

    with slices_by(noting):
        yield found


@contextlib.contextmanager
def decided_slices() -> Iterator[None]:
    """While it is open, such an end counts from where it does in the example: that is asked as any condition is that a model asks."""

    def deciding(infer: Any, mode: Any, func: Any, self: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
        ends = (each + self.shape[dim] if _is_undecided(each) and each < 0 else each for each in (start, end))
        return infer(mode, func, self, dim, *ends, step)

    with slices_by(deciding):
        yield


@contextlib.contextmanager
def repeated_slices() -> Iterator[None]:
    """While it is open, a part of a tensor that is taken again is as large as before, and begins at the same place.

    Autograd takes a part again when it has been written, and torch asks for a node that makes the numbers which that would add.
    """
    made: WeakIdKeyDictionary = WeakIdKeyDictionary()

    def repeating(infer: Any, mode: Any, func: Any, self: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
        env, part = mode.shape_env, (dim, *map(expression_of, (start, end, step)))
        if env is None:
            return infer(mode, func, self, dim, start, end, step)
        parts = made.setdefault(self, {})
        before, numbers = iter(parts.get(part, ())), []
        create = env.create_unbacked_symint

        def repeated(*args: Any, **kwargs: Any) -> Any:
            known = next(before, None)
            numbers.append(create(*args, **kwargs) if known is None else known)
            return numbers[-1]

        env.create_unbacked_symint = repeated
        try:
            return infer(mode, func, self, dim, start, end, step)
        finally:
            del env.create_unbacked_symint
            parts[part] = numbers

    with slices_by(repeating):
        yield
