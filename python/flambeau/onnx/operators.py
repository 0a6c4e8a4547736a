"""``torch.onnx.operators``: shapes as tensors, which traces keep dynamic."""

from __future__ import annotations

import torch

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]

shape_as_tensor = torch._shape_as_tensor
reshape_from_tensor_shape = torch._reshape_from_tensor
