"""Weights that are quantized to 4 bits: two to a byte where ONNX has them, and only what is said to be of 4 bits."""

from __future__ import annotations

import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401  registers the operators

import flambeau

decomposed = torch.ops.quantized_decomposed
SIGNED, UNSIGNED = (-8, 7), (0, 15)


class Quantized(torch.nn.Module):
    def __init__(self, grid: tuple[int, int], low: int, high: int, dtype: torch.dtype = torch.int8, sizes: tuple[int, int] = (6, 5), zero: int | None = 0) -> None:
        super().__init__()
        values = torch.arange(low, high + 1).repeat(sizes[0] * sizes[1])[: sizes[0] * sizes[1]]
        self.register_buffer("weight", values.reshape(sizes).to(dtype))
        self.register_buffer("scale", torch.rand(sizes[0]) + 0.1)
        self.register_buffer("zero_point", None if zero is None else torch.full((sizes[0],), zero))
        self.grid = grid

    def dequantized(self) -> torch.Tensor:
        return decomposed.dequantize_per_channel(self.weight, self.scale, self.zero_point, 0, *self.grid, self.weight.dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.dequantized().T


class Twice(Quantized):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.dequantized().T
        return torch.cat([y, (x + 1) @ self.dequantized().T])


def stored(path: pathlib.Path, module: torch.nn.Module) -> list[str]:
    """The types of the model's weights of integers, after it was checked and run."""
    x = torch.randn(3, module.weight.shape[1])
    model = onnx.load(path)
    onnx.checker.check_model(path, full_check=True)
    (got,) = onnxruntime.InferenceSession(path).run(None, {model.graph.input[0].name: x.numpy()})
    np.testing.assert_allclose(got, module(x), rtol=1e-4, atol=1e-3)
    return [onnx.TensorProto.DataType.Name(each.data_type) for each in model.graph.initializer if each.data_type != onnx.TensorProto.FLOAT]


CASES = {
    "signed": (Quantized(SIGNED, -8, 7), ["INT4"]),
    "an odd number": (Quantized(SIGNED, -8, 7, sizes=(3, 5)), ["INT4"]),
    "unsigned": (Quantized(UNSIGNED, 0, 15, torch.uint8), ["UINT4"]),
    "zero points": (Quantized(UNSIGNED, 0, 15, torch.uint8, zero=7), ["UINT4", "UINT4"]),
    "no zero points": (Quantized((-7, 7), -7, 7, zero=None), ["INT4"]),
    "two bits": (Quantized((-2, 1), -2, 1), ["INT4"]),
    "a grid of eight bits": (Quantized((-128, 127), -8, 7), ["INT8"]),
    "numbers off the grid": (Quantized(SIGNED, -8, 9), ["INT8"]),
    "a zero point off the grid": (Quantized(SIGNED, -8, 7, zero=30), ["INT8", "INT8"]),
    "used twice": (Twice(SIGNED, -8, 7), ["INT4"]),
}


@pytest.mark.parametrize("opset", [20, 21, 26])
@pytest.mark.parametrize("name", CASES)
def test_types(name: str, opset: int, tmp_path: pathlib.Path) -> None:
    module, types = CASES[name]
    program = flambeau.export(module, (torch.randn(3, module.weight.shape[1]),), opset_version=opset)
    program.save(tmp_path / "model.onnx")
    wide = {"INT4": "INT8", "UINT4": "UINT8"}
    assert sorted(stored(tmp_path / "model.onnx", module)) == sorted(types if opset >= 21 else [wide.get(each, each) for each in types])


def test_half_a_byte_each_beside_the_model(tmp_path: pathlib.Path) -> None:
    module = Quantized(SIGNED, -8, 7, sizes=(512, 1030))
    torch.export.save(torch.export.export(module, (torch.randn(3, 1030),)), tmp_path / "model.pt2")
    flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx", opset_version=21, external_data="always")
    assert stored(tmp_path / "model.onnx", module) == ["INT4"]
    assert (tmp_path / "model.onnx.data").stat().st_size < 512 * 1030 // 2 + 10000


def test_weights_of_the_archive_stay(tmp_path: pathlib.Path) -> None:
    module = Quantized(SIGNED, -8, 7, sizes=(64, 128))
    torch.export.save(torch.export.export(module, (torch.randn(3, 128),)), tmp_path / "model.pt2")
    flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx", opset_version=21, external_data="reference")
    assert [onnx.TensorProto.DataType.Name(each.data_type) for each in onnx.load(tmp_path / "model.onnx", load_external_data=False).graph.initializer
            if each.data_type != onnx.TensorProto.FLOAT] == ["INT8"]
