"""ONNX's own operators inside a module: those of ``torch.onnx.ops``, which both exporters know."""

from __future__ import annotations

from typing import Any

from ..torch_names import found, missing

_OF_TORCH = found("torch.onnx.ops")

__all__ = [] if _OF_TORCH is None else list(_OF_TORCH.__all__)


def __getattr__(name: str) -> Any:
    if _OF_TORCH is None:
        raise AttributeError(f"module 'flambeau.onnx.ops' has no attribute {name!r}: {missing('torch.onnx.ops')}")
    return getattr(_OF_TORCH, name)
