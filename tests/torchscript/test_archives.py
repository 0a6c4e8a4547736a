"""Saved TorchScript, converted without torch, against PyTorch."""

import pytest
import torch
from checking import compare
from torch import nn

import flambeau


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x, scale: int = 2):
        y = torch.relu(self.norm(self.conv(x)))
        if y.sum() > 100:
            y = y / scale
        return y.flatten(1)


def save(model, path, how):
    model = model.eval()
    saved = torch.jit.script(model) if how == "script" else torch.jit.trace(model, torch.ones(1, 3, 8, 8) * 0.1, check_trace=False)
    saved.save(path)


@pytest.mark.parametrize("how", ["script", "trace"])
def test_archive_with_described_inputs(tmp_path, how):
    torch.manual_seed(0)  # each run takes the path that the traced one took
    model = Net()
    save(model, tmp_path / "net.pt", how)
    inputs = {"x": "float32[batch,3,8,8]"} | ({"scale": "2"} if how == "script" else {})
    program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs=inputs)
    graph = program.model_proto.graph
    assert [[value.name for value in values] for values in (graph.input, graph.output)] == [["x"], ["output"]]
    for batch in (1, 3):
        compare(model, program, (torch.randn(batch, 3, 8, 8) * 0.1,))


def test_archive_without_described_inputs_asks_for_them(tmp_path):
    save(Net(), tmp_path / "net.pt", "script")
    with pytest.raises(flambeau.errors.OnnxExporterError, match="x.*Tensor"):
        flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx")


def test_input_that_the_program_lacks(tmp_path):
    save(Net(), tmp_path / "net.pt", "trace")
    with pytest.raises(flambeau.errors.OnnxExporterError, match="(?s)no input 'y'.*inputs: x"):
        flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[1,3,8,8]", "y": "3"})


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 4)

    def step(self, x, state: torch.Tensor = torch.zeros(0)):
        return self.cell(x, state if state.numel() > 0 else torch.zeros(x.size(0), 4))

    def forward(self, x):
        return self.step(x, self.step(x))


def test_default_that_is_a_tensor(tmp_path):
    model = Recurrent().eval()
    torch.jit.script(model).save(tmp_path / "net.pt")
    program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[batch,3]"})
    for batch in (1, 3):
        compare(model, program, (torch.randn(batch, 3),))


def test_archive_of_the_lite_interpreter(tmp_path):
    model = Net().eval()
    torch.jit.script(model)._save_for_lite_interpreter(str(tmp_path / "net.ptl"))
    program = flambeau.convert(tmp_path / "net.ptl", tmp_path / "net.onnx", inputs={"x": "float32[2,3,8,8]", "scale": "2"})
    compare(model, program, (torch.randn(2, 3, 8, 8),))


def test_frozen_module(tmp_path):
    model = Net().eval()
    torch.jit.freeze(torch.jit.script(model)).save(tmp_path / "net.pt")
    program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[2,3,8,8]", "scale": "2"})
    compare(model, program, (torch.randn(2, 3, 8, 8),))


def optimized(path):
    torch.jit.optimize_for_inference(torch.jit.script(Net().eval())).save(path)


def flatbuffer(path):
    torch.jit.script(Net().eval())._save_for_lite_interpreter(str(path), _use_flatbuffer=True)


def without_methods(path):
    """As LibTorch's torch::save writes a module."""
    torch.jit.script(nn.ParameterList([nn.Parameter(torch.ones(2))])).save(path)


REFUSED = {
    "optimized": (optimized, "optimize_for_inference"),
    "flatbuffer": (flatbuffer, "flatbuffer of PyTorch Mobile"),
    "without methods": (without_methods, "no method"),
    "state_dict": (lambda path: torch.save(Net().state_dict(), path), "state_dict of"),
    "checkpoint": (lambda path: torch.save({"epoch": 1, "model": Net().state_dict()}, path), "keys 'epoch', 'model'"),
    "module": (lambda path: torch.save(Net(), path), "an object of the class '.*Net'"),
    "legacy": (lambda path: torch.save(Net(), path, _use_new_zipfile_serialization=False), "format before 1.6"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_archives_without_a_whole_program(kind, tmp_path):
    save_as, message = REFUSED[kind]
    save_as(tmp_path / "net.pt")
    with pytest.raises(flambeau.errors.OnnxExporterError, match=message):
        flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[2,3,8,8]", "scale": "2"})
    assert not (tmp_path / "net.onnx").exists()
