"""``torch.vmap``: captured as the calls that enter and leave it, and then over whole batches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch._functorch import predispatch, vmap
from torch.export import ExportedProgram

from .decomposition import operators
from .flex_attention import FlexAttentionHOP, dense_flex_attention
from .replaced_functions import Replacements

__all__ = ["batches_in_front", "without_vmap"]


@contextlib.contextmanager
def batches_in_front() -> Iterator[None]:
    """While it is open, results of a vmap come out with the batch in front, and are moved then: nobody records it where torch moves them."""

    def removed(tensor: torch.Tensor, level: int, size: int, to: int) -> torch.Tensor:
        result = predispatch._remove_batch_dim(tensor, level, size, 0)
        return result.movedim(0, to) if to else result

    with Replacements() as replacements:
        replacements.set(vmap, "_remove_batch_dim", removed)
        yield


def without_vmap(exported: ExportedProgram) -> ExportedProgram:
    """The program over whole batches; the program itself if it has no ``torch.vmap``, and no flex attention, which is one.

    torch.export records the calls that enter and leave a vmap, and between them
    operators on tensors that seem to lack a dimension. Tracing the program again
    runs the calls.
    """

    def is_batched(target: object) -> bool:
        return getattr(target, "__module__", "") == "torch._functorch.predispatch" or isinstance(target, FlexAttentionHOP)

    if not any(map(is_batched, operators(exported))):
        return exported
    with dense_flex_attention():
        return exported.run_decompositions({})
