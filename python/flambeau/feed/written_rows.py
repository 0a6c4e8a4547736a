"""What Python did in a recorded run to a tensor before it wrote it at places: y[i] = rows."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["drops_rows_of_example"]


def _indexed_rank(write: Any) -> int | None:
    """The rank of what an index_put_ writes to."""
    listed = write.inputsAt(1).node()
    if listed.kind() != "prim::ListConstruct":
        return None
    written, *indices = [value.type() for value in (write.inputsAt(0), *listed.inputs())]
    indices = [index for index in indices if index.kind() == "TensorType"]
    if written.dim() is None or not indices or any(index.dim() is None or index.dtype() is None for index in indices):
        return None
    masks = [index.dim() for index in indices if index.dtype() in (torch.bool, torch.uint8)]
    places = [index.dim() for index in indices if index.dtype() not in (torch.bool, torch.uint8)]
    return written.dim() - sum(masks) - len(places) + max(places + [1] * bool(masks))


def drops_rows_of_example(node: Any) -> bool:
    """Whether Python took leading sizes of 1 from what it then wrote at places (y[i] = rows): of other rows it takes none.

    The write broadcasts along them all the same.
    """
    uses = node.output().uses() if node.kind() == "aten::view" else []
    if len(uses) != 1 or uses[0].user.kind() != "aten::index_put_" or uses[0].offset != 2:
        return False
    before, after = node.inputsAt(0).type().sizes(), node.output().type().sizes()
    if before is None or after is None or len(before) <= len(after):
        return False
    dropped = len(before) - len(after)
    rank = _indexed_rank(uses[0].user)
    return before[:dropped] == [1] * dropped and before[dropped:] == after and rank is not None and len(before) <= rank
