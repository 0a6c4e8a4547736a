"""Modules, scripted and traced, that between them use what the language has."""

import enum
from typing import Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: Tensor
    y: int


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start

    def add(self, more: int) -> int:
        self.count += more
        return self.count


def free(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x * i
    return x


def scripted(function):
    """A module whose forward is that function."""
    return torch.jit.script(function)


def arithmetic(x: Tensor, a: int, b: float):
    c = a // 2 + a % 3 - a * 2
    d = b / 2 + b**2 - a
    e = -a + int(b) + float(a)
    return x * c + d - e, c, d, a / 3, round(b), abs(a), min(a, c), max(b, d)


def comparisons(x: Tensor, a: int, b: float):
    flag = a < 3 and b >= 2.0 or not (a == 4)
    return (x > a) & (x <= b) | ~(x != 0), flag, a != 2, bool(x.sum() > 1)


def strings(x: Tensor, name: str):
    text = "a" + name.upper() + str(x.size(0)) + f"{name}!" + "{}".format(3)
    parts = text.split("-")
    if name.startswith("a") and "b" in name:
        return text, parts, len(text), text[1:3]
    return name.strip(), parts, 0, name[0]


def lists(x: Tensor, n: int):
    items: List[Tensor] = []
    for i in range(n):
        items.append(x + i)
    numbers = [1, 2, 3]
    numbers.extend([4, 5])
    numbers[0] = 7
    numbers.insert(1, 9)
    last = numbers.pop()
    floats = [float(v) for v in numbers]
    nested = [[1, 2], [3]]
    return torch.stack(items), numbers[1:], last, floats, nested[0][1], numbers[-1], sum(numbers), len(items), items[::2]


def dicts(x: Tensor):
    table: Dict[str, Tensor] = {"a": x, "b": x + 1}
    table["c"] = x * 2
    total = torch.zeros_like(x)
    for key, value in table.items():
        if key != "a":
            total = total + value
    for key in table.keys():
        total = total + len(key)
    ints = {1: 2.0, 3: 4.0}
    if "a" in table:
        del table["a"]
    return total, ints[1], table.get("b"), list(table.values())


def tuples(x: Tensor, pair: Tuple[int, float]):
    a, b = pair
    triple = (x, a, (b, x + 1))
    y, _, (c, z) = triple
    return triple[0] + y + z, c, triple[1:], pair[0]


def tuples_by_place(x: Tensor, sizes: Tuple[int, int], parts: Tuple[Tensor, Tensor], n: int):
    rests = [sizes[i] % 4 for i in range(2)]
    return parts[n] + parts[n - 1], rests


def named_tuples(x: Tensor):
    point = Point(x, 3)
    other = Point(x=x * 2, y=point.y)
    return other, point.x + other.x, other.y


def optionals(x: Tensor, y: Optional[Tensor] = None, n: Optional[int] = None):
    if y is not None:
        x = x + y
    if n is None:
        n = 3
    z: Optional[Tensor] = None
    if n > 2:
        z = x
    assert z is not None
    return z * n


def unions(x: Tensor, w: Union[int, str] = 1):
    if isinstance(w, int):
        return x + w
    else:
        return x + len(w)


def any_of(x: Tensor, items: List[Tuple[str, Tensor]]):
    for name, value in items:
        print(name, value)
        x = x + value
    return x


def early_return(x: Tensor, n: int):
    if n > 3:
        return x
    for i in range(n):
        if x.sum() > i:
            return x + i
    while n < 10:
        n += 1
        if n == 7:
            continue
        if n == 8:
            break
        x = x - n
    return x * n


def raises(x: Tensor, n: int):
    if n < 0:
        raise ValueError("negative: " + str(n))
    assert n != 5, f"five {n}"
    return x + n


def nested_loops(x: Tensor, n: int):
    total = 0
    for i in range(1, n, 2):
        for j in range(n):
            if i == j:
                continue
            total += i * j
    return x + total, [i * i for i in range(n)]


def indexing(x: Tensor, index: Tensor):
    a = x[0]
    b = x[:, 1:3]
    c = x[..., None, ::2]
    d = x[index]
    e = x[x > 0]
    x = x.clone()
    x[0] = 1
    x[:, 0] += 2
    x[index] = 5.0
    return a, b, c, d, e, x


def shapes(x: Tensor):
    batch, width = x.shape
    y = x.view(batch, -1).reshape(width, batch)
    z = torch.zeros(batch, 3, dtype=x.dtype, device=x.device)
    return y, z, x.dim(), x.numel(), x.size(), x.new_ones(2, 2), torch.arange(batch), torch.full([2, batch], 1.5)


def devices(x: Tensor):
    device = x.device
    y = x.to(device).to(torch.float64).to("cpu").half().cpu()
    w = torch.ones(2, device=torch.device("cpu"))
    return y, w, x.dtype == torch.float32, x.is_cuda, x.requires_grad


def creation(n: int):
    return (torch.tensor([1, 2, 3]), torch.tensor(n), torch.tensor([[1.5, 2.0]]), torch.eye(n), torch.rand(2, n), torch.linspace(0, 1, n),
            torch.randint(0, 5, [2, 3]), torch.empty(2).fill_(3), torch.tensor(True))


def returns_many(x: Tensor):
    values, order = x.max(dim=0)
    top, _ = torch.topk(x, 1)
    pieces = x.split(1)
    first, second = x.chunk(2, dim=1)
    mean, std = torch.std_mean(x)
    return values, order, top, pieces[0], first + second, mean, std, x.min(0)[1], torch.sort(x)


def functional(x: Tensor, w: Tensor, b: Tensor):
    y = F.linear(x, w, b)
    y = F.relu(F.dropout(F.softmax(y, dim=-1), 0.5, training=False))
    y = F.layer_norm(y, [y.size(-1)])
    y = F.gelu(y) + F.leaky_relu(y, 0.2) + F.silu(y) + F.hardtanh(y)
    return F.cross_entropy(y, torch.zeros(y.size(0), dtype=torch.long)), F.normalize(y), F.pad(y, [1, 1]), F.one_hot(torch.zeros(2, dtype=torch.long), 3)


def interpolates(x: Tensor):
    return (F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=[4, 4], mode="bilinear", align_corners=False),
            F.adaptive_avg_pool2d(x, [1, 1]), F.max_pool2d(x, 2), F.avg_pool2d(x, [2, 2]), F.unfold(x, [2, 2]), F.grid_sample(x, torch.zeros(1, 2, 2, 2)))


def casts(x: Tensor):
    n = int(x.sum())
    f = float(x.sum())
    b = bool(x.any())
    s = x.sum().item()
    rows: List[float] = x[0].tolist()
    return n, f, b, s, rows, complex(1.0, f)


def in_place(x: Tensor):
    y = x.clone()
    y += 1
    y.mul_(2).clamp_(min=0)
    y -= x
    y /= 3
    y[0].zero_()
    torch.add(x, y, out=y)
    return y


def forks(x: Tensor):
    future = torch.jit.fork(free, x, 3)
    other = torch.jit.fork(torch.relu, x)
    return torch.jit.wait(future) + torch.jit.wait(other)


def classes(x: Tensor):
    counter = Counter(2)
    counter.add(3)
    counter.count = counter.count * 2
    return x + counter.count


def enums(x: Tensor, color: Color):
    if color == Color.RED:
        return x, color.value
    return -x, Color.GREEN.value


def einsums(x: Tensor):
    return torch.einsum("ij,kj->ik", x, x), torch.matmul(x, x.t()), x @ x.t(), torch.cat([x, x], 1), torch.stack([x, x]), torch.where(x > 0, x, -x)


def scalars_first(x: Tensor):
    return 1 - x, 2 / x, 2 * x, 3 + x, 2**x, x**2, 1 - x.sum() * 2, 5 // x, x % 3, -x, 10 > x


def no_grads(x: Tensor):
    with torch.no_grad():
        y = x * 2
    return y


def zips(x: Tensor, names: List[str]):
    total = x
    for i, (name, row) in enumerate(zip(names, [x, x + 1])):
        total = total + row * i + len(name)
    for row in x:
        total = total + row
    for i in range(5, 0, -1):
        total = total - i
    return total, [n for n in names], sorted([3, 1, 2]), list(range(3)), {i: i * 2 for i in range(2)}


def branch_types(x: Tensor, flag: bool):
    if flag:
        y, n = x, 1
    else:
        y, n = x.to(torch.int64), 2
    z = x if flag else y
    k = 3 if n > 1 else 4
    return y, n, z, k


def while_tensor(x: Tensor):
    while x.sum() < 100:
        x = x * 2 + 1
    return x


def list_of_optionals(x: Tensor, xs: List[Optional[Tensor]]):
    total = x
    for item in xs:
        if item is not None:
            total = total + item
    return total


FUNCTIONS = [arithmetic, comparisons, strings, lists, dicts, tuples, tuples_by_place, named_tuples, optionals, unions, any_of, early_return, raises,
             nested_loops, indexing, shapes, devices, creation, returns_many, functional, interpolates, casts, in_place, forks, classes,
             enums, einsums, scalars_first, no_grads, zips, branch_types, while_tensor, list_of_optionals]  # fmt: skip


class State(nn.Module):
    count: int
    names: List[str]
    scale: Final[float]

    def __init__(self):
        super().__init__()
        self.count = 0
        self.names = ["a", "b"]
        self.scale = 2.5
        self.table = {"k": 1}
        self.pair = (1, 2.0)
        self.register_buffer("total", torch.zeros(2))
        self.maybe: Optional[int] = None
        self.color = Color.GREEN
        self.constant = torch.ones(2)

    def forward(self, x: Tensor):
        self.count += 1
        self.total += x.sum()
        self.names.append("c")
        if self.training:
            x = x * self.scale
        if self.color == Color.RED:
            x = -x
        return x + self.total + self.count + self.table["k"] + self.pair[0], self.constant

    @torch.jit.export
    def reset(self):
        self.count = 0


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})
        self.net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Dropout(0.1)))
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])

    def forward(self, x: Tensor):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, head in self.heads.items():
            x = torch.cat([x, head(x[:, :4])], 1)
        for weight in self.weights:
            x = x[:, :4] * weight
        return self.net(x), self.helper(x, 2)

    def helper(self, x: Tensor, n: int) -> Tensor:
        return free(x, n)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.mha = nn.MultiheadAttention(8, 2)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor):
        y, w = self.mha(x, x, x)
        return self.norm(x + y), w


class TracedInScript(nn.Module):
    def __init__(self):
        super().__init__()
        self.traced = torch.jit.trace(nn.Linear(3, 3), torch.ones(1, 3))

    def forward(self, x: Tensor, n: int):
        for _ in range(n):
            x = self.traced(x)
        return x


class Many(nn.Module):
    """What tracing sees of Python."""

    def forward(self, x, y):
        a, b = x.chunk(2, 1)
        z = torch.zeros(x.shape[0], 2) + y[:, : x.shape[1] // 2]
        idx = torch.tensor([0, 1])
        out = {"a": a + b, "z": z}
        x = x.clone()
        x[:, 0] = 2
        return out["a"][idx], out["z"].to(torch.float64), (x.flatten(1), torch.arange(x.size(0))), x.max(1)[0]


@torch.jit.interface
class Activation(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Sigmoid(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x)


class Interfaces(nn.Module):
    activation: Activation

    def __init__(self):
        super().__init__()
        self.activation = Sigmoid()

    def forward(self, x: Tensor):
        return self.activation.forward(x)


def modules():
    """name -> a module as torch.jit has it."""
    torch.manual_seed(0)
    image, rows, sequence = torch.rand(1, 3, 16, 16), torch.rand(2, 4), torch.rand(5, 2, 8)
    made = {function.__name__: (lambda function=function: scripted(function)) for function in FUNCTIONS}
    conv = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.ConvTranspose2d(4, 3, 2), nn.Flatten())
    plain = {
        "state": (State(), None),
        "blocks": (Blocks(), (rows,)),
        "attention": (Attention(), (sequence,)),
        "traced_in_script": (TracedInScript(), None),
        "many": (None, (Many(), (rows, rows))),
        "conv": (conv, (image,)),
        "conv_eval": (nn.Sequential(*conv).eval(), (image,)),
        "lstm": (nn.LSTM(8, 4, 2, bidirectional=True), (sequence,)),
        "gru": (nn.GRU(8, 4, batch_first=True), (sequence,)),
        "rnn": (nn.RNN(8, 4), (sequence,)),
        "lstm_cell": (nn.LSTMCell(8, 4), (sequence[0],)),
        "encoder": (nn.TransformerEncoderLayer(8, 2, 16).eval(), (sequence,)),
        "embedding": (nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2)), (torch.tensor([[1, 2]]),)),
        "group_norm": (nn.Sequential(nn.GroupNorm(1, 3), nn.InstanceNorm2d(3), nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d(1)), (image,)),
    }
    for name, (module, example) in plain.items():
        if module is not None:
            made[f"{name}_scripted"] = lambda module=module: torch.jit.script(module)
        if example is not None:
            target, inputs = example if module is None else (module, example)
            made[f"{name}_traced"] = lambda target=target, inputs=inputs: torch.jit.trace(target, inputs, check_trace=False)
    return made
