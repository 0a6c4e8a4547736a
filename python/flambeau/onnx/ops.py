"""ONNX's own operators inside a module: those of ``torch.onnx.ops``, which both exporters know."""

from torch.onnx.ops import *  # noqa: F403
from torch.onnx.ops import __all__  # noqa: F401
