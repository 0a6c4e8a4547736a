"""When results count as the same."""

from __future__ import annotations

import torch


def assert_close(ours: torch.Tensor, theirs: torch.Tensor, *, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """As `torch.testing.assert_close`, but what may differ grows with the largest finite value that is wanted.

    A sum that nearly cancels keeps the rounding of its terms, which each machine's kernels add in an order of their own.
    """
    values = theirs.to(torch.complex128 if theirs.is_complex() else torch.float64).abs()
    largest = float(torch.where(values.isfinite(), values, 0.0).max()) if values.numel() else 0.0
    torch.testing.assert_close(ours, theirs, rtol=rtol, atol=atol * max(1.0, largest), equal_nan=True)
