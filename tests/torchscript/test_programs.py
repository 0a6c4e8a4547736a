"""Modules as users trace and script them."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest
import torch
import torch.nn.functional as F
from checking import check
from torch import Tensor, nn

CASES = {}


def case(*args, how=("trace", "script"), **options):
    """Decorates a module class, or a function that makes a module."""

    def add(make):
        for each in how:
            CASES[f"{make.__name__}-{each}"] = (make, args, each, options)
        return make

    return add


def x(*sizes):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes) + len(sizes)))


# --- straight lines ------------------------------------------------------------------


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


# --- writes ------------------------------------------------------------------------------


@case(x(4, 5))
class WritesByIndex(nn.Module):
    def forward(self, x):
        x = x.clone()
        x[1:3, 0] = 7.0
        x[:, 2] += x[:, 3]
        x[torch.tensor([0, 3])] = torch.ones(5)
        return x


@case(x(4, 5))
class WritesInPlace(nn.Module):
    def forward(self, x):
        y = x.view(-1)
        y.add_(1)
        z = x.t().contiguous()
        z.relu_()
        return x, z


@case(x(3, 4), how=("script",), others=[(-x(3, 4).abs(),), (x(3, 4).abs(),)])
class WritesUnderIf(nn.Module):
    def forward(self, x):
        y = torch.zeros(3, 4)
        if x.sum() > 0:
            y[0] = x[1]
            y[:, 1] = 5.0
        else:
            y[2] -= 1
        return y


@case(x(3, 4), torch.tensor(2), how=("script",), others=[(x(3, 4), torch.tensor(0)), (x(3, 4), torch.tensor(3))])
class WritesInLoop(nn.Module):
    def forward(self, x, n):
        y = x.clone()
        for i in range(int(n)):
            y[i] = y[i] * 2 + i
        return y


# --- branches ----------------------------------------------------------------------------


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class Branches(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x * 2
            n = 1
        elif x.amax() > -0.5:
            y = x - 1
            n = 2
        else:
            y = x
            n = 3
        return y + n, n


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class BranchesOfTuples(nn.Module):
    def step(self, x) -> Tuple[Tensor, Tensor]:
        if x.mean() > 0:
            return x, x + 1
        return x - 1, x

    def forward(self, x):
        a, b = self.step(x)
        return a * b


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class EarlyReturn(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        y = x.abs()
        if y.sum() > 3:
            return y
        return y * 2


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class BranchesOfLists(nn.Module):
    def forward(self, x):
        out = [x]
        if x.sum() > 0:
            out.append(x + 1)
        else:
            out.append(x - 1)
        return torch.cat(out)


@case(x(2, 3), how=("script",))
class Asserts(nn.Module):
    def forward(self, x):
        if x.dim() != 2:
            raise ValueError("rank")
        assert x.sum() < 1e9, "large"
        return F.relu(x)


# --- loops ---------------------------------------------------------------------------------


@case(x(3, 4), how=("script",))
class CountedLoop(nn.Module):
    def forward(self, x):
        out = torch.jit.annotate(List[Tensor], [])
        for i in range(x.size(0)):
            out.append(x[i] * i)
        return torch.stack(out)


@case(x(3), torch.tensor(2), how=("script",), others=[(x(3), torch.tensor(0)), (x(3), torch.tensor(5))])
class RunTimeLoop(nn.Module):
    def forward(self, x, n):
        k = 0
        for i in range(int(n)):
            x = x * 2 + i
            k = k + i
        return x, k


@case(x(3), how=("script",), others=[(x(3) * 100,)])
class While(nn.Module):
    def forward(self, x):
        n = 0
        while x.abs().sum() > 1.0:
            x = x / 2
            n += 1
        return x, n


@case(x(3).abs(), how=("script",), others=[(x(3) * 100,), (x(3) / 100,)])
class Break(nn.Module):
    def forward(self, x):
        for i in range(6):
            x = x * 1.5
            if x.abs().sum() > 4.0:
                break
            x = x + 0.1
        return x


@case(x(2, 3), torch.tensor(2), how=("script",), others=[(x(2, 3), torch.tensor(0)), (x(2, 3), torch.tensor(4))])
class NestedLoops(nn.Module):
    def forward(self, x, n):
        for i in range(int(n)):
            for j in range(i):
                x = x + j
            if x.sum() > 3:
                x = x - 1
        return x


@case(x(2, 3), torch.tensor(3), how=("script",), others=[(x(2, 3), torch.tensor(1)), (x(2, 3), torch.tensor(0))])
class GrowingTensor(nn.Module):
    def forward(self, x, n):
        y = x
        for _ in range(int(n)):
            y = torch.cat([y, x])
        return y


@case(x(4, 3), how=("script",), dynamic_axes={"x": {0: "n"}}, others=[(x(2, 3),), (x(7, 3),)])
class ListInDynamicLoop(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i] * i)
        return torch.stack(out), torch.cat(out), len(out)


@case(x(4, 3), how=("trace", "script"))
class BufferCounter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count += 1
        return x + self.count


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class AttributeUnderIf(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(2, 3))

    def forward(self, x):
        if x.sum() > 0:
            self.last = x + 1
        return self.last * 2


# --- layers ---------------------------------------------------------------------------------


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


# Scripted, it takes torch's fast path, aten::_transformer_encoder_layer_fwd, which has no translation.
@case(x(2, 6, 8), how=("trace",))
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


@case(torch.tensor([1.0, 0.0, 3.0, 0.0]), others=[(torch.tensor([0.0, 0.0, 0.0, 2.0]),)])
class DataDependentSizes(nn.Module):
    def forward(self, x):
        picked = x[x > 0]
        return picked, x.nonzero(), torch.zeros_like(picked) + picked.size(0)


@pytest.mark.parametrize("name", CASES)
def test_program(name):
    make, args, how, options = CASES[name]
    torch.manual_seed(0)
    check(make(), args, how=how, **options)
