"""What runs beside a trace, and is no part of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

__all__ = ["untraced"]


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """While it is open, torch's tracer records nothing, and warns of nothing."""
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)
