"""Keeps time and batch of recurrent layers dynamic while a module is captured, by stand-ins for their operators."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from ..replaced_functions import Replacements
from .stand_ins import ALWAYS, stand_in

__all__ = ["differentiable_layers", "opaque_layers"]


def _with_state(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A layer's forward that makes the initial state of packed inputs: the layer's own fixes its size."""

    @functools.wraps(forward)
    def wrapped(self: torch.nn.RNNBase, input: Any, hx: Any = None) -> Any:
        if hx is None and isinstance(input, PackedSequence):
            known = input.sorted_indices
            batch = input.batch_sizes[0].item() if known is None else known.shape[0]
            rows = self.num_layers * (2 if self.bidirectional else 1)
            hx = input.data.new_zeros((rows, batch, self.proj_size or self.hidden_size))
            if isinstance(self, torch.nn.LSTM):
                hx = hx, input.data.new_zeros((rows, batch, self.hidden_size))
        return forward(self, input, hx)

    return wrapped


def _unless_packed(check: Callable[..., None]) -> Callable[..., None]:
    """The check of a layer's arguments takes the size of a packed batch for a constant."""

    @functools.wraps(check)
    def wrapped(self: torch.nn.RNNBase, input: Any, hidden: Any, batch_sizes: torch.Tensor | None) -> None:
        if batch_sizes is None:
            check(self, input, hidden, batch_sizes)

    return wrapped


@contextlib.contextmanager
def opaque_layers() -> Iterator[None]:
    """While it is open, recurrent layers call the stand-ins."""
    with Replacements() as replacements:
        for function in sorted(ALWAYS):
            replacements.set(torch._VF, function, stand_in(function))
        for layer in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
            replacements.set(layer, "forward", _with_state(layer.forward))
            replacements.set(layer, "check_forward_args", _unless_packed(layer.check_forward_args))
        yield


@contextlib.contextmanager
def differentiable_layers() -> Iterator[None]:
    """While it is open, recurrent layers call PyTorch's own functions again: stand-ins have no gradients."""
    with Replacements() as replacements:
        for function in sorted(ALWAYS):
            if (own := getattr(torch._C._VariableFunctions, function, None)) is not None:
                replacements.set(torch._VF, function, own)
        yield
