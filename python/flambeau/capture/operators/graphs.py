"""What torch_geometric chooses by data, for speed alone, while a model is captured."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

__all__ = ["one_way_of_products"]


@contextlib.contextmanager
def one_way_of_products() -> Iterator[None]:
    """While it is open, products by type of edge are done type by type: the other way is taken where an estimate finds it faster."""
    backend = sys.modules.get("torch_geometric.backend")
    if backend is None:
        yield
        return
    before = backend.use_segment_matmul
    backend.use_segment_matmul = False
    try:
        yield
    finally:
        backend.use_segment_matmul = before
