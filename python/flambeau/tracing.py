"""Runs torch.jit.trace on modules as users call them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from .capture import exporting
from .errors import CaptureError

__all__ = ["trace"]


class _Bound(torch.nn.Module):
    """A module of which only the tensors among the arguments are left to give; its outputs are flat.

    torch.jit.trace takes no None, numbers and text, and returns none either.
    """

    def __init__(self, model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.leaves, self.structure = _pytree.tree_flatten((list(args), dict(kwargs)))

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left = iter(tensors)
        leaves = [next(left) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        args, kwargs = _pytree.tree_unflatten(leaves, self.structure)
        outputs = _pytree.tree_leaves(self.model(*args, **kwargs))
        return tuple(
            output if isinstance(output, torch.Tensor) else torch.tensor(output)
            for output in outputs
            if isinstance(output, (torch.Tensor, bool, int, float))
        )


def trace(
    model: torch.nn.Module, arguments: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[torch.jit.ScriptModule, list[torch.Tensor], list[str]]:
    """Trace a module with its example arguments.

    Args:
        arguments: The same arguments by the names of ``forward``.

    Returns:
        The traced module, the tensors that it takes, and their names.

    Raises:
        CaptureError: torch cannot trace the model; its error is the cause.
    """
    tensors, names = [], []
    for name, value in arguments.items():
        leaves = [leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
        tensors.extend(leaves)
        names.extend([name] if isinstance(value, torch.Tensor) else [f"{name}_{i}" for i in range(len(leaves))])
    try:
        bound = _Bound(model, args, kwargs)
        bound.train(model.training)
        with exporting(), _buffers_kept(model):
            # The model may change the shapes of its inputs in place.
            examples = tuple(tensor.detach().clone() for tensor in tensors)
            return torch.jit.trace(bound, examples, check_trace=False, strict=False), tensors, names
    except Exception as error:
        raise CaptureError(f"torch.jit.trace cannot capture {type(model).__qualname__}: {error}") from error


@contextlib.contextmanager
def _buffers_kept(model: torch.nn.Module) -> Iterator[None]:
    """Tracing runs the model, which may count in its buffers: they get their values back."""
    before = [(buffer, buffer.clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, values in before:
                buffer.copy_(values)
