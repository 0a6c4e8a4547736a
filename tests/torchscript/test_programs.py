"""Modules as users trace and script them: straight lines of operators, and layers."""

from collections import OrderedDict
from typing import Dict, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from cases import Cases, x
from modules import Interfaces
from torch import Tensor, nn


case = Cases()


@case(x(2, 3, 16, 16))
def convolutions():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 1))


@case(x(2, 5))
def perceptron():
    return nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.LayerNorm(8), nn.Dropout(), nn.Linear(8, 3), nn.Softmax(dim=-1))


@case(x(4, 2, 6))
class Sizes(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), -1).transpose(0, 1).reshape(-1, x.shape[1]), x.numel()


@case(x(3, 4), dynamic_axes={"x": {0: "batch"}}, others=[(x(5, 4),), (x(1, 4),)])
class DynamicSizes(nn.Module):
    def forward(self, x):
        return x.view(x.size(0) * 2, -1) + torch.arange(x.size(1) // 2), torch.zeros(x.size(0), 2)


@case(x(3, 4, 2), x(3, 4), dynamic_axes={"x": {0: "batch"}, "angle": {0: "batch"}}, others=[(x(5, 4, 2), x(5, 4))])
class ComplexNumbers(nn.Module):
    def forward(self, x, angle):
        turned = torch.view_as_complex(x) * torch.polar(torch.ones_like(angle), angle)
        scaled = (turned * 0.5 + 1j).transpose(0, 1)
        return torch.view_as_real(scaled.contiguous()), scaled.real, scaled.abs().sum(0)


@case(x(3, 4), torch.tensor(3.0), how=("script",), others=[(x(3, 4), torch.tensor(p)) for p in (0.0, 0.5, 1.0, float("inf"), -float("inf"))])
class OrderOfNorm(nn.Module):
    def forward(self, x, p):
        order = float(p)
        return torch.norm(x, order), torch.linalg.vector_norm(x, order, dim=[1]), torch.dist(x, x * 2, order)


@case(x(3, 4), torch.tensor(0.3), how=("script",), others=[(x(3, 4), torch.tensor(1.5))])
class NumbersOfActivations(nn.Module):
    def forward(self, x, number):
        n = float(number)
        return F.elu(x, n), F.celu(x, n), F.leaky_relu(x, n), F.hardshrink(x, n), F.softshrink(x, n), F.softplus(x, n, 3 * n)


@case(x(3, 4), x(4), 2)
class PrimitiveInput(nn.Module):
    def forward(self, x, y, n: int):
        return x * n + y


@case((x(2), x(3)), {"a": x(2), "b": x(3)}, how=("script",))
class Containers(nn.Module):
    def forward(self, pair: Tuple[Tensor, Tensor], named: Dict[str, Tensor]) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for key, value in named.items():
            out[key + "2"] = value * 2
        out["sum"] = pair[0] + named["a"]
        return out


@case(x(2, 3), None, how=("script",))
class NoneInput(nn.Module):
    def forward(self, x, y: Optional[Tensor] = None):
        if y is None:
            return x + 1
        return x + y


@case(x(2, 3), x(2, 3), how=("script",))
class OptionalInput(nn.Module):
    def forward(self, x, y: Optional[Tensor] = None):
        if y is not None:
            return x + y
        return x + 1


class Point(NamedTuple):
    x: Tensor
    y: Tensor


@case(x(2, 3))
class NamedOutputs(nn.Module):
    def forward(self, x):
        point = Point(x + 1, x * 2)
        return point.y, point


@case(x(2, 3), x(2, 3), how=("script",))
class AsTorchScriptSpellsIt(nn.Module):
    def forward(self, x, y):
        moved = x.cpu().to("cpu") + y.to("cpu", torch.float64).to(torch.float32, copy=True)
        return abs(moved), torch.allclose(x, y), torch.allclose(x, x + 1e-9), x is y, x is x


@case(x(3, 4), how=("script",))
class Futures(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        first, second = torch.jit.fork(self.layer, x), torch.jit.fork(self.layer, x * 2)
        return torch.jit.wait(first) - torch.jit.wait(second)


case(x(3, 4))(Interfaces)


@case(x(3, 4), how=("script",))
class Texts(nn.Module):
    def forward(self, x):
        parts = " Ab,c ".strip().split(",")
        text = "-".join(parts).lower().replace("a", "zz")
        shown = "%d of %s" % (3, text)
        start = 1 if text.startswith("z") else 0
        return x * len(text) + text.find("b") + text.find("b", 2) + text.rfind("a", 0, -2) + start + len(shown) + ord("a"), len("a b  c".split())


@case(x(3, 4), how=("script",))
class DictMethods(nn.Module):
    def forward(self, x):
        named: Dict[str, Tensor] = {"a": x}
        named.setdefault("a", x * 5)
        named.setdefault("bc", x * 2)
        named.update({"d": x * 3})
        out = named.pop("a") + named.get("missing", x * 9)
        for key, value in named.items():
            out = out + value * len(key)
        return out, "bc" in named


@case(x(3, 4), how=("script",))
class DictsMade(nn.Module):
    """As torchvision's IntermediateLayerGetter makes one of nothing."""

    def forward(self, x):
        out: Dict[str, Tensor] = OrderedDict()
        out["a"] = x
        pairs = dict([("b", x * 2), ("c", x), ("b", x * 3)])
        copied = dict(pairs)
        copied["b"] = x * 7
        empty: Dict[str, Tensor] = dict()
        return out["a"] + pairs["b"] + copied["b"] + len(pairs) + len(empty)


@case(x(3, 4), how=("script",))
class Contexts(nn.Module):
    def forward(self, x):
        with torch.autograd.profiler.record_function("block"):
            y = x * 2
        with torch.no_grad():
            z = y.to(x.device) + 1
        return y + z.to(x.device, dtype=torch.float64)


@case(x(5, 2, 3))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(8, 3)
        self.rnn = nn.RNN(3, 2)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        y, _ = self.gru(y)
        z, k = self.rnn(y)
        return z, k, h, c


@case(x(2, 3), x(2, 4))
def cell():
    return nn.GRUCell(3, 4)


@case(x(2, 6, 8))
def attention():
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


@case(x(1, 2, 5, 6))
class Interpolation(nn.Module):
    def forward(self, x):
        a = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        b = F.interpolate(x, size=(7, 9), mode="nearest")
        return a, b, F.adaptive_avg_pool2d(x, 1), F.avg_pool2d(x, 2)


@case(x(4, 3), training=torch.onnx.TrainingMode.PRESERVE)
def train_mode_batch_norm():
    return nn.BatchNorm1d(3).train()


@case(torch.tensor([[0, 2], [1, 1]]))
def embedding():
    return nn.Embedding(4, 3)


@case(x(2, 9), how=("trace", "script"))
class Pieces(nn.Module):
    def forward(self, x):
        a, b, c = x.chunk(3, dim=1)
        first, second = torch.split(x, [4, 5], dim=1)
        return a * b + c, first, second, x.unbind(0)[1]


@case(x(2, 3), x(2, 3).sigmoid(), how=("script",), dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, others=[(x(5, 3), x(5, 3).sigmoid())])
class WeightedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.tensor([1.0, 2.0, 0.5]))

    def forward(self, x, y):
        return F.binary_cross_entropy(x.sigmoid(), y, self.weight), F.binary_cross_entropy(x.sigmoid(), y, y[:, :1] + 1)


@case(x(4, 3), x(2, 3), dynamic_axes={"x": {0: "n"}, "y": {0: "m"}}, others=[(x(1, 3), x(5, 3)), (x(2, 3), x(2, 3))])
class PaddedSequences(nn.Module):
    def forward(self, x, y):
        rows = [x, y, x[:1]]
        padded = torch.nn.utils.rnn.pad_sequence(rows, True, 7.0, "left")
        return torch.nn.utils.rnn.pad_sequence(rows), padded, torch.nn.utils.rnn.pad_sequence([x, x])


@case(torch.tensor([1.0, 0.0, 3.0, 0.0]), others=[(torch.tensor([0.0, 0.0, 0.0, 2.0]),)])
class DataDependentSizes(nn.Module):
    def forward(self, x):
        picked = x[x > 0]
        return picked, x.nonzero(), torch.zeros_like(picked) + picked.size(0)


@case(x(2, 3, 4, 5), how=("script",), others=[(x(2, 3, 1, 5),), (x(1, 3, 2, 1),)], dynamic_axes={"x": [0, 2, 3]})
class GridOfAnImage(nn.Module):
    def forward(self, x):
        turned = torch.tensor([[0.5, -1.0, 0.25], [1.0, 0.5, 0.0]]).expand(x.size(0), 2, 3)
        return F.affine_grid(turned, x.shape, align_corners=True), F.affine_grid(turned, x.shape, align_corners=False)


@case(x(2, 4, 4), x(2, 4), torch.tensor([True, True, False, True]), others=[(x(3, 4, 4), x(3, 4), torch.tensor([True, False, False, True]))], dynamic_axes={"a": {0: "batch"}, "b": {0: "batch"}}, input_names=["a", "b", "kept"])
class SolvedForVectorsOfASizeThatDataDecides(nn.Module):
    def forward(self, a, b, kept):
        places = kept.nonzero()[:, 0]
        part = a.index_select(1, places).index_select(2, places) + 5 * torch.eye(places.size(0))
        return torch.linalg.solve(part, b[:, kept])


@case.forward(
    x(4, 3, 5), x(4, 5), torch.tensor(1),
    how=("script",),
    others=[(x(4, 3, 5), x(rows, 5), torch.tensor(n)) for rows, n in ((2, 2), (2, 1), (1, 2))],
    dynamic_axes={"a": [0], "b": [0]},
)  # fmt: skip
def sizes_of_sums_over_rows_of_which_there_may_be_one(self, a, b, n):
    part = a[: max(int(n), 1)]
    summed = torch.einsum("bij,bj->bi", part, b)
    return summed, summed.size(0) * torch.ones(2), torch.einsum("b...,b...->b...", part, b.unsqueeze(1)).size(0)


test_program = case.test()
