"""PyTorch's own transformers, as they compute for every mask."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules import transformer

from ..replaced_functions import replaced_functions

__all__ = ["every_mask"]


def _causal_if_said(mask: torch.Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    return is_causal is True


@contextlib.contextmanager
def every_mask() -> Iterator[None]:
    """While it is open, transformers do not look at the values of their masks, which would hold for the example's only.

    They ask whether a mask is the causal one, which then need not be applied, and whether padding comes last in every
    row, which their fast path then leaves out as nested tensors.
    """
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    replacements: dict[tuple[str, str], Any] = {(transformer.__name__, "_detect_is_causal_mask"): _causal_if_said}
    try:
        with replaced_functions(replacements):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
