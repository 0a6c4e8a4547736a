"""What is remembered of each way to capture that was tried."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

__all__ = ["Attempt"]


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One way to capture a module, tried: its name, and what it raised if it failed."""

    strategy: str
    seconds: float
    error: Exception | None = None
    unrolled: Sequence[str] = ()
    """The lines of loops whose number of rounds the capture made a constant."""
    gradients: bool = False
    """Whether the module computes gradients."""
