"""What scripts ask of devices: a model has none, so they are told where the example's tensors, or the weights, are."""

import zipfile

import flambeau
import onnxruntime
import pytest
import torch
from flambeau.feed import script_program

X = torch.tensor([[1.0, -2.0, 3.0]])


class Asking(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        x = x * self.weight
        if x.is_cuda:
            x = x + 1
        if x.is_cpu:
            x = x + 10
        if x.device.type == "cuda":
            x = x + 100
        if x.device != torch.device("cpu"):
            x = x + 1000
        return x + float(x.get_device())


def _saved_on(device, path):
    """The archive as it comes from another device: its pickles say so of each storage."""
    plain = path.with_name("plain.pt")
    torch.jit.script(Asking().eval()).save(plain)

    def text(word):
        return b"X" + len(word).to_bytes(4, "little") + word

    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("data.pkl"):
                assert text(b"cpu") in data
                data = data.replace(text(b"cpu"), text(device))
            new.writestr(entry.filename, data)


def _run(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {session.get_inputs()[0].name: X.numpy()})[0])


@pytest.mark.parametrize(("device", "added"), [("cpu", 9.0), ("cuda:0", 1101.0), ("cuda:1", 1102.0), ("mps", 1000.0)])
def test_archives_ask_where_their_weights_were(tmp_path, device, added):
    _saved_on(device.encode(), tmp_path / "model.pt")
    flambeau.convert(tmp_path / "model.pt", tmp_path / "model.onnx", inputs={"x": "float32[1,3]"})
    torch.testing.assert_close(_run(tmp_path / "model.onnx"), X + added)


@pytest.mark.parametrize(("device", "added"), [("cpu", 9.0), ("cuda:1", 1102.0)])
def test_live_scripts_ask_where_the_example_is(monkeypatch, tmp_path, device, added):
    monkeypatch.setattr(script_program, "_device", lambda examples, model: device)
    flambeau.export(torch.jit.script(Asking().eval()), (X,)).save(tmp_path / "model.onnx")
    torch.testing.assert_close(_run(tmp_path / "model.onnx"), X + added)


def test_the_device_is_that_of_the_arguments_or_else_of_the_weights():
    class Elsewhere(torch.Tensor):
        device = torch.device("cuda:1")

    here, there, module = torch.ones(1), torch.ones(1).as_subclass(Elsewhere), torch.nn.Linear(1, 1)
    assert script_program._device((here, [there]), module) == "cuda:1"
    assert script_program._device((here,), module) == script_program._device(None, module) == "cpu"
    module.weight = torch.nn.Parameter(there)
    assert script_program._device(None, module) == "cuda:1"
    assert script_program._device((here,), module) == "cpu"
