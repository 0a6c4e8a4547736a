"""Writes tests/data/torchscript or tests/data/exported: small archives, their inputs and outputs, with the torch that runs it.

    python tools/make_old_archives.py tests/data/torchscript
    python tools/make_old_archives.py tests/data/exported --exported

Runs with torch 1.4 and newer (2.1 and newer for exported programs), on Python 3.6 and newer. For each case:
NAME.torch-VERSION.{traced,scripted,optimized}.pt or .pt2, and beside them NAME.torch-VERSION.npz with the arrays in0…, out0…
(flattened in the order that the model returns them).
"""

import copy
import pathlib
import re
import struct
import sys
import zipfile
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


@torch.jit.script
class Matcher(object):
    """As torchvision has it: 1.4 writes the types of such fields nowhere."""

    def __init__(self, low: float, high: float):
        self.NONE = -1
        self.BETWEEN = int(-2)
        self.low = low
        self.middle = (low + high) / 2

    def match(self, scores):
        best = torch.argmax(scores, dim=1)
        values = scores.max(dim=1)[0]
        best[values < self.low] = torch.tensor(self.NONE)
        best[(values >= self.low) & (values < self.middle)] = torch.tensor(self.BETWEEN)
        return best, best == self.BETWEEN


class Regions(nn.Module):
    """What detectors call."""

    matcher: Matcher

    def __init__(self):
        super(Regions, self).__init__()
        self.matcher = Matcher(0.3, 0.9)

    @torch.jit.unused
    def eager(self, x):
        return x

    def forward(self, x):
        if not torch.jit.is_scripting():
            x = self.eager(x)
        scaled = F.interpolate(x, scale_factor=1.3, mode="bilinear", align_corners=False)
        boxes = torch.tensor([[0.0, 0.5, 1.0, 5.0, 6.0], [1.0, 0.0, 2.0, 7.0, 7.5], [0.0, 0.5, 1.0, 5.0, 5.5]])
        regions = torch.ops.torchvision.roi_align(scaled, boxes, 0.5, 2, 3, 2)
        kept = torch.ops.torchvision.nms(boxes[:, 1:], torch.tensor([0.5, 0.4, 0.6]), 0.5)
        none = torch.ops.torchvision._new_empty_tensor_op(scaled, [0, 3])
        best, between = self.matcher.match(torch.sigmoid(x[0, 0]))
        return scaled, regions, kept, none, best, between


def regions():
    import torchvision  # noqa: F401 (its operators)

    return Regions()


class Mobile(nn.Module):
    """What torch.utils.mobile_optimizer packs, and packing itself; of a torch with XNNPACK."""

    def __init__(self):
        super(Mobile, self).__init__()
        self.conv, self.up = nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1)
        self.depthwise, self.between = nn.Conv2d(4, 4, 3, groups=4, dilation=2, bias=False), nn.Hardtanh(-0.25, 0.25)
        self.first, self.second = nn.Linear(4, 3), nn.Linear(3, 5, bias=False)
        for parameter in self.parameters():
            parameter.requires_grad = False  # as XNNPACK wants it

    def forward(self, x):
        y = self.between(self.up(F.relu(self.conv(x))))
        y = self.between(self.depthwise(y)).mean([2, 3])
        y = self.second(F.relu(self.first(y)))
        ones, none = torch.ones(4, 2, 1, 1), torch.jit.annotate(Optional[Tensor], None)
        linear = torch.ops.prepacked.linear_clamp_prepack(torch.ones(2, 5), none, -0.125, 0.0625)
        grouped = torch.ops.prepacked.conv2d_clamp_prepack(ones, none, [1, 2], [0, 1], [1, 1], 2, -0.5, None)
        up = torch.ops.prepacked.conv2d_transpose_clamp_prepack(ones, none, [2, 2], [0, 0], [1, 0], [1, 1], 2, None, 0.5)
        z = torch.ops.prepacked.conv2d_transpose_clamp_run(torch.ops.prepacked.conv2d_clamp_run(x, grouped), up)
        return y, torch.ops.prepacked.linear_clamp_run(y, linear), z


CASES = {
    "layers": (Layers, lambda: (torch.randn(2, 3, 8, 8),), "ts"),
    "language": (Language, lambda: (torch.randn(2, 4), torch.tensor([6])), "s"),
    "quantized": (Quantized, lambda: (torch.randn(2, 3, 9, 9),), "ts"),
    "dynamic": (dynamic, lambda: (torch.randn(5, 2, 4),), "s"),
    "regions": (regions, lambda: (torch.randn(2, 3, 7, 8),), "s"),  # with torchvision 0.5
    "mobile": (Mobile, lambda: (torch.randn(2, 4, 9, 9),), "sm"),
}


class Perceptron(nn.Module):
    def __init__(self):
        super(Perceptron, self).__init__()
        self.m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.m(x)


class Buffers(nn.Module):
    """All that is stored: buffers that are written, that do not persist, that are constants."""

    def __init__(self):
        super(Buffers, self).__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("factor", torch.full((3,), 2.0), persistent=False)
        self.shift = torch.arange(3.0)

    def forward(self, inputs):
        self.total.add_(inputs["x"])
        return {"sum": self.total * self.factor + self.shift, "parts": (inputs["more"][0] * 2, inputs["x"].masked_fill(inputs["x"] > 0, -float("inf")))}


class SelfAttention(nn.Module):
    def __init__(self):
        super(SelfAttention, self).__init__()
        self.project = nn.Linear(4, 12)

    def forward(self, x):
        q, k, v = self.project(x).unsqueeze(1).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v).squeeze(1) + x


class Recurrent(nn.Module):
    def __init__(self):
        super(Recurrent, self).__init__()
        self.rnn = nn.LSTM(4, 3)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        return y, h, c


# Model, arguments, names of dynamic dimensions.
EXPORTED = {
    "attention": (SelfAttention, lambda: (torch.randn(2, 3, 4),), None),
    "buffers": (Buffers, lambda: ({"x": torch.randn(3), "more": [torch.randn(2)]},), None),
    "lstm": (Recurrent, lambda: (torch.randn(5, 2, 4),), None),
    "mlp": (Perceptron, lambda: (torch.randn(3, 4),), {"x": {0: "batch"}}),
}


def export(model, args, dynamic, path):
    shapes = {}
    if dynamic is not None and hasattr(torch.export, "Dim"):
        shapes["dynamic_shapes"] = {name: {dim: torch.export.Dim(of) for dim, of in dims.items()} for name, dims in dynamic.items()}
    program = torch.export.export(model, args, **shapes)
    for module in program.graph_module.modules():
        for node in module.graph.nodes:
            node.meta.pop("stack_trace", None)  # says where torch is installed
    (getattr(torch.export, "save", None) or torch._export.save)(program, path)


def flat(value):
    if isinstance(value, Tensor):
        return [value]
    return [tensor for each in (value.values() if isinstance(value, dict) else value) for tensor in flat(each)]


FOLDERS = re.compile(rb"/[^\s()]*?/(?:site-packages|tools)/")


def without_folders(pickle):
    """Its texts (opcode BINUNICODE: a length of four bytes, then the text) without the folders of the files that they name."""
    out, at = b"", 0
    while True:
        text = pickle.find(b"X", at)
        if text < 0:
            return out + pickle[at:]
        begin = text + 5
        length = struct.unpack("<I", pickle[text + 1 : begin].ljust(4, b"\xff"))[0]
        if begin + length > len(pickle):  # another opcode's argument
            out, at = out + pickle[at : text + 1], text + 1
            continue
        short = FOLDERS.sub(b"", pickle[begin : begin + length])
        out, at = out + pickle[at : text + 1] + struct.pack("<I", len(short)) + short, begin + length


def forget_folders(path):
    """Leaves of the files that the debug information names what comes behind the folder in which torch, or this tool, is."""
    with zipfile.ZipFile(path) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in entries:
            archive.writestr(info, without_folders(data) if info.filename.endswith(".debug_pkl") else data)


def main(folder, exported):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    version = torch.__version__.split("+")[0]
    if hasattr(torch.backends.quantized, "engine"):
        torch.backends.quantized.engine = "fbgemm"
    for name, (make, inputs, forms) in (EXPORTED if exported else CASES).items():
        torch.manual_seed(0)
        stem = "{}.torch-{}".format(name, version)
        try:
            model, args = make().eval(), inputs()
            given = flat(copy.deepcopy(args))
            outputs = flat(copy.deepcopy(model)(*args))
            arrays = {"in{}".format(i): x.numpy() for i, x in enumerate(given)}
            arrays.update({"out{}".format(i): x.detach().numpy() for i, x in enumerate(outputs)})
            if exported:
                export(model, args, forms, str(folder / (stem + ".pt2")))
            if not exported and "t" in forms:
                torch.jit.trace(model, args).save(str(folder / (stem + ".traced.pt")))
            if not exported and "s" in forms:
                torch.jit.script(model).save(str(folder / (stem + ".scripted.pt")))
            if not exported and "m" in forms:
                from torch.utils.mobile_optimizer import optimize_for_mobile

                optimize_for_mobile(torch.jit.script(model)).save(str(folder / (stem + ".optimized.pt")))
            for path in folder.glob(stem + ".*ed.pt"):
                forget_folders(str(path))
            numpy.savez_compressed(str(folder / (stem + ".npz")), **arrays)
        except Exception as error:
            print("{}: {}: {}".format(stem, type(error).__name__, error))


if __name__ == "__main__":
    main(sys.argv[1], "--exported" in sys.argv)
