"""Passes tensors to the engine: CPU tensors by pointer, others piece by piece."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .. import _engine
from ..errors import CaptureError

__all__ = ["add_weight", "has_no_bytes", "lacks_bytes"]


class _Fetch:
    """Copies bytes of a storage that is not in main memory, when the engine writes them."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self._bytes = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)

    def __call__(self, offset: int, out: memoryview) -> None:
        torch.frombuffer(out, dtype=torch.uint8).copy_(self._bytes[offset : offset + len(out)])


def _in_memory(storage: torch.UntypedStorage) -> bool:
    return storage.device.type == "cpu"


def _refusal(tensor: torch.Tensor) -> str | None:
    """Why the bytes of a tensor cannot be taken as they are, and what to do."""
    name = type(tensor).__qualname__
    if name == "DTensor":
        return "is a DTensor; replace it with its full_tensor()"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "is left of a derivative by torch.func, which torch.export did not record; pass the module instead of the program"
    if is_traceable_wrapper_subclass(tensor):
        return f"is a {name}, which wraps other tensors; replace it with a plain tensor"
    if tensor.layout is not torch.strided:
        return f"has the layout {tensor.layout}; replace it with its to_dense()"
    if tensor.is_quantized:
        return f"has the quantized type {tensor.dtype}; replace it with its dequantize()"
    return None


def lacks_bytes(model: Any) -> bool:
    """Whether some weights of a module or a captured program are fake or meta tensors."""
    if isinstance(model, torch.export.ExportedProgram):
        weights = model.state_dict.values()
    elif isinstance(model, torch.nn.Module):
        weights = [*model.parameters(), *model.buffers()]
    else:
        return False
    return any(has_no_bytes(weight) for weight in weights)


def has_no_bytes(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a fake or a meta one."""
    return isinstance(tensor, FakeTensor) or tensor.device.type == "meta"


def add_weight(
    builder: _engine.ProgramBuilder,
    kind: _engine.InputKind,
    node: Any,
    tensor: torch.Tensor,
    target: str,
    persistent: bool,
    export_params: bool,
) -> None:
    """Add a parameter, buffer or constant under its name in the state_dict.

    Tensors that share storage share it in the engine too, so ties are kept.

    Raises:
        CaptureError: The tensor has no bytes (and `export_params` asks for them),
            or no plain strided ones.
    """
    if has_no_bytes(tensor):
        if export_params:
            kind_name = "fake" if isinstance(tensor, FakeTensor) else "meta"
            raise CaptureError(
                f"the weight '{target}' is a {kind_name} tensor, which has no bytes; "
                "load the weights first, or pass export_params=False"
            )
        builder.add_input(kind, node, node.name, tensor, target, persistent)
        return
    if (reason := _refusal(tensor)) is not None:
        raise CaptureError(f"the weight '{target}' {reason}")
    tensor = tensor.detach().resolve_conj().resolve_neg()
    storage = tensor.untyped_storage()
    in_memory = _in_memory(storage)
    builder.add_tensor(
        kind,
        node,
        node.name,
        tensor,
        target,
        persistent,
        tensor.storage_offset() * tensor.element_size(),
        storage.nbytes(),
        storage.data_ptr() if in_memory else 0,
        storage,
        None if in_memory else _Fetch(storage),
    )
