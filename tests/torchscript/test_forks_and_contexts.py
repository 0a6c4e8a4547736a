"""What other threads compute, and what the user's own context managers do around a block."""

from typing import Any, List, Tuple

import pytest
import torch
from cases import SIGNS, Cases, x
from checking import check, compare
from torch import Tensor, nn

import flambeau

case = Cases()


def inner(x: Tensor) -> Tensor:
    return x.tanh()


def outer(x: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(inner, x)) * 2


def pair(x: Tensor) -> Tuple[Tensor, Tensor]:
    return x + 1, torch.jit.wait(torch.jit.fork(outer, x))


@case.forward(x(2, 3).abs(), others=SIGNS)
def a_fork_within_a_fork(self, x):
    first, second = torch.jit.wait(torch.jit.fork(pair, x))
    if bool(x.sum() > 0):
        future = torch.jit.fork(outer, first)
    else:
        future = torch.jit.fork(inner, second)
    return torch.jit.wait(future), first, second


@case.forward(x(3, 4), dynamic_axes={"x": {0: "n"}}, others=[(x(5, 4),)])
def forks_in_a_list(self, x):
    futures: List[torch.jit.Future[Tensor]] = []
    for i in range(3):
        futures.append(torch.jit.fork(outer, x + i))
    rounds: List[Tensor] = []
    for i in range(x.size(0)):
        future = torch.jit.fork(outer, x[i])
        rounds.append(torch.jit.wait(future))
    return torch.stack([torch.jit.wait(future) for future in futures]), torch.stack(rounds)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.jit.wait(torch.jit.fork(self.layer, x)) + torch.jit.wait(torch.jit.fork(outer, x))


@case(x(2, 3), how=("script",))
class ForkedModules(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        futures: List[torch.jit.Future[Tensor]] = []
        for block in self.blocks:
            futures.append(torch.jit.fork(block, x))
        return [torch.jit.wait(future) for future in futures]


@torch.jit.script
class Scale:
    def __init__(self, t: Tensor):
        self.t = t

    def __enter__(self) -> Tensor:
        return self.t * 2

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.t = self.t * 3


@torch.jit.script
class Counter:
    def __init__(self):
        self.count = 0

    def __enter__(self) -> "Counter":
        self.count += 1
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.count += 10


class Contexts(nn.Module):
    def forward(self, x):
        scale, counter = Scale(x), Counter()
        with scale as y:
            z = y + 1
        with scale as y, Scale(z) as w, torch.no_grad():
            z = y + w
        for i in range(3):
            with counter:
                z = z + counter.count
        if bool(x.sum() > 0):
            with counter as entered:
                z = z * entered.count
        return z + scale.t, counter.count


@pytest.mark.parametrize("loaded", [False, True])
def test_a_users_context_managers(loaded, tmp_path):
    scripted = torch.jit.script(Contexts())
    if loaded:
        scripted.save(tmp_path / "contexts.pt")
        scripted = torch.jit.load(tmp_path / "contexts.pt")
    check(scripted, (x(2, 3).abs(),), how="live", others=SIGNS)


def test_a_users_context_managers_in_an_archive(tmp_path):
    scripted = torch.jit.script(Contexts())
    scripted.save(tmp_path / "contexts.pt")
    for described in ("float32[2,3]", "float32[n,3]"):
        program = flambeau.convert(tmp_path / "contexts.pt", tmp_path / "net.onnx", inputs={"x": described})
        for args in SIGNS:
            compare(scripted, program, args)


test_program = case.test()
