"""ultralytics: ``YOLO(...).export(format="onnx")``, compared with the model and run at other sizes."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch

from .conftest import library

library("ultralytics")
from ultralytics import YOLO  # noqa: E402

SIZE = 64


def exported(config: str, folder, monkeypatch, **options: object) -> tuple[YOLO, onnxruntime.InferenceSession]:
    monkeypatch.chdir(folder)
    model = YOLO(config)
    path = model.export(format="onnx", imgsz=SIZE, simplify=False, **options)
    return model, onnxruntime.InferenceSession(str(folder / path), providers=["CPUExecutionProvider"])


def compare(model: YOLO, session: onnxruntime.InferenceSession, image: torch.Tensor) -> None:
    """With the module as the exporter left it: fused, its head in export mode."""
    module = model.model.float().eval()
    for layer in module.modules():
        if hasattr(layer, "export"):
            layer.export, layer.format = False, None
    with torch.no_grad():
        expected = module(image)
    while not isinstance(expected, torch.Tensor):
        expected = expected[0]
    result = session.run(None, {"images": image.numpy()})[0]
    assert result.shape == tuple(expected.shape)
    assert np.abs(result - expected.numpy()).max() <= 1e-3 * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize("config", ["yolo11n.yaml", "yolov8n-pose.yaml", "yolo12n.yaml", "yolov8n-cls.yaml"])
def test_model(config, tmp_path, monkeypatch):
    model, session = exported(config, tmp_path, monkeypatch)
    compare(model, session, torch.rand(1, 3, SIZE, SIZE))


def test_dynamic_sizes_have_the_names_that_it_asks_for(tmp_path, monkeypatch):
    model, session = exported("yolo11n.yaml", tmp_path, monkeypatch, dynamic=True)
    assert session.get_inputs()[0].shape == ["batch", 3, "height", "width"]
    assert session.get_outputs()[0].shape == ["batch", 84, "anchors"]
    compare(model, session, torch.rand(2, 3, 96, 128))


def test_suppression_is_in_the_model(tmp_path, monkeypatch):
    _, session = exported("yolo11n.yaml", tmp_path, monkeypatch, nms=True)
    (result,) = session.run(None, {"images": np.random.rand(1, 3, SIZE, SIZE).astype("float32")})
    assert result.shape == (1, 300, 6)
