"""Running a module without a trace of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

__all__ = ["kept_buffers"]


@contextlib.contextmanager
def kept_buffers(model: torch.nn.Module) -> Iterator[None]:
    """Whatever forward writes to buffers, or puts in their place: afterwards they are what they were."""
    before = [
        (module, name, tensor, tensor.detach().clone())
        for module in model.modules()
        for name, tensor in module.named_buffers(recurse=False)
    ]
    try:
        yield
    finally:
        with torch.no_grad():
            for module, name, tensor, values in before:
                if not isinstance(module, torch.jit.ScriptModule):  # these hold the buffers that they have
                    module._buffers[name] = tensor
                if tensor.shape == values.shape and not tensor.is_inference():
                    tensor.copy_(values)
