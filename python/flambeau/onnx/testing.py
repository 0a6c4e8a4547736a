"""``torch.onnx.testing``, which takes our programs as it takes torch's."""

from ..torch_names import found

__all__ = ["assert_onnx_program"]

assert_onnx_program = found("torch.onnx.testing.assert_onnx_program")
