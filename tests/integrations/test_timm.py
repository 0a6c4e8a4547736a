"""timm's own export function, through both of torch's exporters. It checks and compares the model itself."""

from __future__ import annotations

import onnx
import onnxruntime
import pytest
import torch

from .conftest import library


@pytest.mark.parametrize(("name", "dynamo"), [("convnext_atto", False), ("mobilenetv3_small_050", False), ("resnet10t", True)])
def test_export(name, dynamo, tmp_path):
    timm, recipe = library("timm"), library("timm.utils.onnx")
    model = timm.create_model(name, exportable=True, num_classes=10).eval()
    path = str(tmp_path / "model.onnx")
    recipe.onnx_export(model, path, batch_size=2, input_size=(3, 64, 64), use_dynamo=dynamo, check_forward=True, dynamic_size=True)
    loaded = onnx.load(path, load_external_data=False)
    sizes = [dim.dim_param or dim.dim_value for dim in loaded.graph.input[0].type.tensor_type.shape.dim]
    assert sizes == ["batch", 3, "height", "width"]
    image = torch.rand(3, 3, 96, 32)
    (result,) = onnxruntime.InferenceSession(path).run(None, {"input0": image.numpy()})
    with torch.no_grad():
        torch.testing.assert_close(torch.from_numpy(result), model(image), rtol=1e-3, atol=1e-4)
