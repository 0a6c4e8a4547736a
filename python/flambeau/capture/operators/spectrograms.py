"""Transforms of signals that are as long, or cut into frames as far apart, as dynamic sizes say, in a capture: torch makes numbers of those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .size_keeping import keeping
from .stand_ins import stand_in

__all__ = ["SPECTROGRAMS"]


@keeping(torch.stft)
def _stft(
    input: torch.Tensor,
    n_fft: int,
    hop_length: Any = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    *args: Any,
    **kwargs: Any,
) -> Any:
    """torch pads in Python; the operator takes the frames as they lie on the signal then."""
    if not isinstance(hop_length, torch.SymInt):
        return NotImplemented
    if center:
        rows = input if input.dim() == 2 else input.unsqueeze(0)
        padded = F.pad(rows, [n_fft // 2, n_fft // 2], pad_mode)
        input = padded if input.dim() == 2 else padded.squeeze(0)
    return stand_in("stft")(input, n_fft, hop_length, win_length, window, *args, **kwargs)


@keeping(torch.istft)
def _istft(*args: Any, **kwargs: Any) -> Any:
    if not any(isinstance(each, torch.SymInt) for each in (*args, *kwargs.values())):
        return NotImplemented
    return stand_in("istft")(*args, **kwargs)


SPECTROGRAMS: dict[Callable[..., Any], Callable[..., Any]] = {
    **{function: _stft for function in (torch.stft, torch.Tensor.stft)},
    **{function: _istft for function in (torch.istft, torch.Tensor.istft)},
}
