"""What the caller says of the inputs of an archive, which records neither dtypes nor sizes."""

from typing import Dict, List, Optional, Tuple

import onnxruntime
import pytest
import torch
from torch import Tensor

import flambeau


class Containers(torch.nn.Module):
    def forward(self, images: List[Tensor], pair: Tuple[Tensor, int], table: Dict[str, Tensor], bias: Optional[Tensor] = None):
        y = images[0].sum() + images[1].mean() + pair[0] * pair[1] + table["a"]
        return y if bias is None else y + bias


DESCRIBED = {"images": "[float32[3,h,w], float32[3,4,5]]", "pair": "(float32[n], 2)", "table": "{'a': float32[n]}"}


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "containers.pt"
    torch.jit.script(Containers()).save(path)
    return path


@pytest.mark.parametrize("bias", [None, "float32[n]"])
def test_containers_are_described_as_in_python(archive, tmp_path, bias):
    described = DESCRIBED if bias is None else {**DESCRIBED, "bias": bias}
    flambeau.convert(archive, tmp_path / "model.onnx", inputs=described)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    feeds = [torch.randn(3, 6, 7), torch.randn(3, 4, 5), torch.randn(2), torch.randn(2), torch.randn(2)][: len(session.get_inputs())]
    images, pair, table = feeds[:2], (feeds[2], 2), {"a": feeds[3]}
    expected = Containers()(images, pair, table, *feeds[4:])
    assert len(feeds) == (4 if bias is None else 5)
    actual = session.run(None, {value.name: feed.numpy() for value, feed in zip(session.get_inputs(), feeds, strict=True)})[0]
    torch.testing.assert_close(torch.from_numpy(actual), expected)


def test_errors_show_how(archive, tmp_path):
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"(?s)images \(List\[Tensor\]\).*table.*images=\[float32\[batch,3,224,224\]\]"):
        flambeau.convert(archive, tmp_path / "model.onnx")
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"describes no List\[Tensor\], which the input 'images' is"):
        flambeau.convert(archive, tmp_path / "model.onnx", inputs={**DESCRIBED, "images": "float32[3,4,5]"})
    with pytest.raises(flambeau.errors.OnnxExporterError, match="describes no input"):
        flambeau.convert(archive, tmp_path / "model.onnx", inputs={**DESCRIBED, "pair": "(float32[n], "})
