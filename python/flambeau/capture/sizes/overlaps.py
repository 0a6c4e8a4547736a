"""Whether a tensor is one that overlaps itself, which torch asks before it writes, without a question about dynamic sizes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import torch

from ..replaced_functions import Replacements

__all__ = ["overlaps_by_strides"]

_TOO_HARD = 2
"""What torch answers of tensors of which it does not know."""


@contextlib.contextmanager
def overlaps_by_strides() -> Iterator[None]:
    """While it is open, a tensor of dynamic sizes is asked for strides of 0 only.

    torch asks for sizes below 2 first, and what is written where something computed from a size (the chunks of a
    sequence) is 1 in the example would be right for one, or for more than one only.
    """
    asked = torch._debug_has_internal_overlap

    @functools.wraps(asked)
    def overlaps(tensor: torch.Tensor) -> int:
        dynamic = any(isinstance(size, torch.SymInt) for size in tensor.shape)
        strided = tensor.layout == torch.strided and not any(type(stride) is int and stride == 0 for stride in tensor.stride())
        return _TOO_HARD if dynamic and strided else asked(tensor)

    with Replacements() as replacements:
        replacements.set(torch, "_debug_has_internal_overlap", overlaps)
        yield
