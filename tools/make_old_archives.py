"""Writes tests/data/torchscript: small TorchScript archives, their inputs and outputs, with the torch that runs it.

    python tools/make_old_archives.py tests/data/torchscript

Runs with torch 1.4 and newer, on Python 3.6 and newer. For each case: NAME.torch-VERSION.{traced,scripted}.pt, and beside
them NAME.torch-VERSION.npz with the arrays in0…, out0… (flattened in the order that the model returns them).
"""

import pathlib
import sys
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Layers(nn.Module):
    """What is trained and saved most."""

    def __init__(self):
        super(Layers, self).__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.up = nn.ConvTranspose2d(4, 2, 2, 2)
        self.rnn = nn.LSTM(16, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.fc, self.scale = nn.Linear(6, 5), nn.LayerNorm(5)
        self.register_buffer("shift", torch.arange(5.0))

    def forward(self, x):
        y = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        y = F.interpolate(torch.sigmoid(self.up(y)), scale_factor=2.0, mode="bilinear", align_corners=False)
        y, _ = self.rnn(y.mean(1))
        return F.gelu(self.scale(self.fc(y))) + self.shift, y.reshape(y.size(0), -1)[:, 1:7:2]


class Pair(NamedTuple):
    total: Tensor
    count: int


@torch.jit.script
class Counter(object):
    def __init__(self, start: int):
        self.value = start

    def add(self, by: int) -> int:
        self.value = self.value + by
        return self.value


class Language(nn.Module):
    """What older versions print, and the operators whose meaning changed since."""

    __constants__ = ["names"]
    table: Dict[str, float]

    def __init__(self):
        super(Language, self).__init__()
        self.names = ["a", "b"]
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.table = {"a": 0.5, "b": 2.0}

    def helper(self, x, bias: Optional[Tensor] = None):
        if bias is not None:
            x = x + bias
        return x, x.size(1)

    def forward(self, x, n) -> Tuple[Tensor, Tensor, List[Tensor], Dict[str, Tensor]]:
        counter = Counter(1)
        rows: List[Tensor] = []
        out: Dict[str, Tensor] = {}
        for layer in self.layers:
            x = torch.tanh(layer(x))
        for i in range(int(n)):
            if i % 2 == 0:
                x = x + self.table["a"] * counter.add(i)
            elif i > 4:
                break
            rows.append(x.sum(dim=1))
        acc = torch.zeros_like(x)
        step = 0
        while bool(acc.sum() < 10.0) and step < 20:
            acc[:, step % x.size(1)] += 1.5
            step += 1
        y, width = self.helper(x, acc)
        y[0, 1:3] = acc[0, 1:3]
        if y.size(0) == 7:
            raise ValueError("seven is {} too many".format(width))
        squares = [float(k * k) / width for k in [1, 2, 3]]
        pair = Pair(y.sum(), step)
        assert pair.count > 0, "no step"
        out["division"] = torch.div(x * 7, 3) + (n // 2)
        out["full"] = torch.full([2, 2], 1.0) + torch.linspace(0.0, 1.0, steps=2) + torch.logspace(0.0, 1.0, steps=2)
        out["numbers"] = torch.tensor(squares) * (-7 // 2) + (-7 % 3)
        for name in self.names:
            out[name] = y * self.table[name]
        return pair.total, torch.tensor(pair.count), rows, out


def quantization():
    new = getattr(getattr(torch, "ao", None), "quantization", None)
    return new if hasattr(new, "QuantStub") else torch.quantization


class Quantized(nn.Module):
    def __init__(self):
        super(Quantized, self).__init__()
        q = quantization()
        m = nn.Sequential(q.QuantStub(), nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.Conv2d(4, 4, 1, groups=2), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                          nn.Linear(16, 5), q.DeQuantStub()).eval()
        m.qconfig = q.get_default_qconfig("fbgemm")
        p = q.prepare(q.fuse_modules(m, [["1", "2"]]))
        p(torch.randn(4, 3, 9, 9))
        self.m = q.convert(p)

    def forward(self, x):
        return self.m(x)


class Float(nn.Module):
    def __init__(self):
        super(Float, self).__init__()
        self.rnn, self.fc = nn.LSTM(4, 3), nn.Linear(3, 2)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        return self.fc(y), h, c


def dynamic():
    return quantization().quantize_dynamic(Float().eval(), {nn.LSTM, nn.Linear})


CASES = {
    "layers": (Layers, lambda: (torch.randn(2, 3, 8, 8),), "ts"),
    "language": (Language, lambda: (torch.randn(2, 4), torch.tensor([6])), "s"),
    "quantized": (Quantized, lambda: (torch.randn(2, 3, 9, 9),), "ts"),
    "dynamic": (dynamic, lambda: (torch.randn(5, 2, 4),), "s"),
}


def flat(value):
    if isinstance(value, Tensor):
        return [value]
    return [tensor for each in (value.values() if isinstance(value, dict) else value) for tensor in flat(each)]


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    version = torch.__version__.split("+")[0]
    if hasattr(torch.backends.quantized, "engine"):
        torch.backends.quantized.engine = "fbgemm"
    for name, (make, inputs, forms) in CASES.items():
        torch.manual_seed(0)
        stem = "{}.torch-{}".format(name, version)
        try:
            model, args = make().eval(), inputs()
            outputs = flat(model(*args))
            arrays = {"in{}".format(i): x.numpy() for i, x in enumerate(args)}
            arrays.update({"out{}".format(i): x.detach().numpy() for i, x in enumerate(outputs)})
            if "t" in forms:
                torch.jit.trace(model, args).save(str(folder / (stem + ".traced.pt")))
            if "s" in forms:
                torch.jit.script(model).save(str(folder / (stem + ".scripted.pt")))
            numpy.savez_compressed(str(folder / (stem + ".npz")), **arrays)
        except Exception as error:
            print("{}: {}: {}".format(stem, type(error).__name__, error))


if __name__ == "__main__":
    main(sys.argv[1])
