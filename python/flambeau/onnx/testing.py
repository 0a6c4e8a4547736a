"""``torch.onnx.testing``, which takes our programs as it takes torch's."""

from torch.onnx.testing import assert_onnx_program

__all__ = ["assert_onnx_program"]
