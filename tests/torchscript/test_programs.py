"""Modules as users trace and script them."""

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

import flambeau
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


@case(x(3, 4), how=("script",))
class Texts(nn.Module):
    def forward(self, x):
        parts = " Ab,c ".strip().split(",")
        text = "-".join(parts).lower().replace("a", "zz")
        shown = "%d of %s" % (3, text)
        start = 1 if text.startswith("z") else 0
        return x * len(text) + text.find("b") + start + len(shown) + ord("a"), len("a b  c".split())


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
class Contexts(nn.Module):
    def forward(self, x):
        with torch.autograd.profiler.record_function("block"):
            y = x * 2
        with torch.no_grad():
            z = y.to(x.device) + 1
        return y + z.to(x.device, dtype=torch.float64)


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


@case(torch.tensor([1.0, 0.0, 3.0, 0.0]), others=[(torch.tensor([0.0, 0.0, 0.0, 2.0]),)])
class DataDependentSizes(nn.Module):
    def forward(self, x):
        picked = x[x > 0]
        return picked, x.nonzero(), torch.zeros_like(picked) + picked.size(0)


# --- memory that paths may share ------------------------------------------------------------
# Each either does as eager mode does, or is refused where it reads or writes what may be something else too.

SHARED = {}
SIGNS = (x(2, 3).abs(), -x(2, 3).abs())
ROUNDS = tuple(torch.tensor(n) for n in (0, 1, 2))


def sharing(*others, refused):
    """Decorates the forward of a scripted module; `others` are further arguments, each list of them is tried."""

    def add(forward):
        SHARED[forward.__name__] = (forward, others or ((),), refused)
        return forward

    return add


@sharing(refused=True)
def written_after_if(self, x):
    x = x.clone()
    y = x[0] if bool(x.sum() > 0) else x[1] * 2
    y.add_(1)
    return x


@sharing(refused=True)
def outer_written_after_if(self, x):
    x = x.clone()
    if bool(x.sum() > 0):
        y = x[0]
    else:
        y = x[1] + 1
    x.mul_(3)
    return y


@sharing(refused=False)
def read_after_if(self, x):
    y = x.t() if bool(x.sum() > 0) else (x * 2).t()
    return y + 1, x + y.t()


@sharing(refused=False)
def result_alone_read_after_write(self, x):
    z = x.clone()
    y = z if bool(x.sum() > 0) else z + 1
    y.mul_(2)
    return y


@sharing(refused=False)
def same_tensor_on_both_paths(self, x):
    z = x.clone()
    if bool(x.sum() > 0):
        y = z
        z.add_(1)
    else:
        y = z.mul_(2)
    y.sub_(3)
    return z, y


@sharing(refused=True)
def two_results_of_one_memory(self, x):
    if bool(x.sum() > 0):
        y = x + 1
        z = y[0]
    else:
        y = x + 2
        z = x[1] + 1
    y.mul_(2)
    return z


@sharing(refused=True)
def written_in_branch_through_unknown(self, x):
    x = x.clone()
    y = x[0] if bool(x.sum() > 0) else x[1] + 1
    if bool(x.mean() < 9):
        y.add_(5)
    return x


@sharing(refused=True)
def nested_ifs(self, x):
    x = x.clone()
    y = x[0] + 1
    if bool(x.sum() > 0):
        if bool(x.mean() > -5):
            y = x[1]
        else:
            y = x[0] * 4
    x.add_(1)
    return y


@sharing(refused=True)
def tuples_of_branches(self, x):
    x = x.clone()
    if bool(x.sum() > 0):
        pair = (x, x[0])
    else:
        pair = (x + 1, x[1] * 2)
    pair[1].add_(1)
    return pair[0]


@sharing(*((n,) for n in ROUNDS), refused=True)
def written_after_loop(self, x, n: Tensor):
    x = x.clone()
    y = x[0]
    for i in range(int(n)):
        y = y + i
    y.add_(1)
    return x, y


@sharing(*((n,) for n in ROUNDS), refused=True)
def outer_written_after_loop(self, x, n: Tensor):
    x = x.clone()
    y = x[0] * 1
    for i in range(int(n)):
        y = x[1]
    x.add_(1)
    return y


@sharing(*((n,) for n in ROUNDS), refused=True)
def written_in_loop_through_what_it_carries(self, x, n: Tensor):
    x = x.clone()
    y = x[0]
    for i in range(int(n)):
        y.add_(1)
        y = y * 2
    return x


@sharing(*((n,) for n in ROUNDS), refused=True)
def read_in_the_round_after_the_write(self, x, n: Tensor):
    x = x.clone()
    y = x[0] * 1
    z = x[1] * 0
    for i in range(int(n)):
        z = z + x[0]
        y.add_(1)
        y = x[0]
    return z


@sharing(*((n,) for n in ROUNDS), refused=False)
def same_tensor_in_each_round(self, x, n: Tensor):
    x = x.clone()
    y = x[0]
    for i in range(int(n)):
        y += 1
        x *= 2
    return x, y


@sharing(*((n,) for n in ROUNDS), refused=True)
def swapped_in_loop(self, x, n: Tensor):
    a = x + 1
    b = x + 2
    c = a
    for i in range(int(n)):
        a, b = b, a
    a.mul_(2)
    return c


@sharing(refused=True)
def list_written_after_if(self, x):
    a = [x]
    b = a if bool(x.sum() > 0) else [x, x]
    b.append(x + 1)
    return torch.cat(a)


@sharing(refused=True)
def list_of_one_length_written_after_if(self, x):
    a = [x]
    b = a if bool(x.sum() > 0) else [x + 1]
    a[0] = x * 7
    return b[0]


@sharing(refused=False)
def new_lists_of_branches(self, x):
    if bool(x.sum() > 0):
        a = [x, x + 1]
    else:
        a = [x + 2, x]
    a.append(x * 3)
    return torch.cat(a)


@sharing(refused=False)
def same_list_on_both_paths(self, x):
    a = [x]
    if bool(x.sum() > 0):
        b = a
        a.append(x + 1)
    else:
        b = a
        b.append(x * 2)
    b.append(x)
    return torch.cat(a)


@sharing(refused=False)
def copied_list(self, x):
    a = [x]
    b = a if bool(x.sum() > 0) else [x + 1]
    c = b.copy()
    c.append(x)
    return torch.cat(a), torch.cat(c)


@sharing(refused=True)
def two_names_of_a_new_list(self, x):
    if bool(x.sum() > 0):
        a = [x]
        b = a
    else:
        a = [x]
        b = [x + 1]
    a[0] = x * 5
    return b[0]


@sharing(refused=True)
def dict_written_after_if(self, x):
    a = {"x": x}
    b = a if bool(x.sum() > 0) else {"x": x + 1}
    b["x"] = x * 9
    return a["x"]


@sharing(*((n,) for n in ROUNDS), refused=True)
def list_written_after_loop(self, x, n: Tensor):
    a = [x]
    b = a
    for i in range(int(n)):
        b = [x + i]
    b[0] = x * 9
    return a[0], b[0]


@sharing(refused=True)
def tensor_in_list_written_after_if(self, x):
    x = x.clone()
    a = [x[0]] if bool(x.sum() > 0) else [x[1] + 1]
    a[0].add_(1)
    return x


@sharing(*((n,) for n in ROUNDS), refused=True)
def tensor_in_sequence_written(self, x, n: Tensor):
    out: List[Tensor] = []
    y = x + 1
    out.append(y)
    for i in range(int(n)):
        out.append(x + i)
    y.mul_(2)
    return torch.cat(out)


@sharing(*((n,) for n in ROUNDS), refused=True)
def element_of_sequence_written(self, x, n: Tensor):
    out = [x + 1]
    for i in range(int(n)):
        out.append(x + i)
    out[0].mul_(2)
    return torch.cat(out)


@sharing(*((n,) for n in ROUNDS), refused=True)
def written_in_loop_after_append(self, x, n: Tensor):
    out: List[Tensor] = []
    y = x.clone()
    for i in range(int(n)):
        out.append(y)
        y.add_(1)
    return out, y


@pytest.mark.parametrize("name", SHARED)
def test_shared_memory(name):
    forward, others, refused = SHARED[name]
    model = type(name, (nn.Module,), {"forward": forward})()
    arguments = [(sign, *rest) for rest in others for sign in SIGNS]
    if not refused:
        check(model, arguments[0], others=arguments[1:])
        return
    with pytest.raises(flambeau.errors.OnnxExporterError) as caught:
        check(model, arguments[0])
    message = str(caught.value)
    assert "unknown-aliasing" in message and re.search(r"test_programs\.py:\d+", message), message


@pytest.mark.parametrize("name", CASES)
def test_program(name):
    make, args, how, options = CASES[name]
    torch.manual_seed(0)
    check(make(), args, how=how, **options)
