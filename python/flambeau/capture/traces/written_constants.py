"""Tensors that a model makes of Python's numbers while it is traced, and then writes in place."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ...feed.trace import Place, place_of
from ..replaced_functions import Replacements, as_called
from .untraced import untraced

__all__ = ["constants_as_made"]

_MAKERS = ((torch, "tensor"), (torch, "as_tensor"), (torch, "asarray"), (torch, "from_numpy"), (torch, "frombuffer"), (torch.Tensor, "new_tensor"))


@contextlib.contextmanager
def constants_as_made() -> Iterator[Callable[[], dict[Place, torch.Tensor]]]:
    """While it is open, what such a tensor holds is kept: torch's tracer remembers the tensor, and so what the trace wrote into it.

    Yields:
        A function that gives, of the tensors that were written since, what they held before, by where they are in memory.
    """
    made: list[tuple[torch.Tensor, torch.Tensor]] = []

    def keeping(own: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        @functools.wraps(own)
        def make(*args: Any, **kwargs: Any) -> torch.Tensor:
            tensor = as_called(own, *args, **kwargs)
            if torch._C._get_tracing_state() is not None and not any(tensor is each for each in args):
                with untraced():
                    if tensor.numel():
                        made.append((tensor, tensor.detach().clone()))
            return tensor

        return make

    with Replacements() as replacements:
        for owner, name in _MAKERS:
            replacements.set(owner, name, keeping(getattr(owner, name)))
        yield lambda: {place_of(tensor): before for tensor, before in made if tensor.shape == before.shape and not _same(tensor, before)}


def _same(tensor: torch.Tensor, before: torch.Tensor) -> bool:
    return torch.equal(tensor, before) if tensor.is_inference() else tensor._version == 0
