"""Generators of random numbers in scripts: the runtime's own draws, and whether there is one is known."""

from typing import Optional

import pytest
import torch
from checking import compare
from torch import Tensor, nn

import flambeau


def x(*sizes):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def doubled_if_drawn(x: Tensor, generator: Optional[torch.Generator] = None) -> Tensor:
    if generator is None:
        return x
    return x + x + 0 * torch.rand(x.shape, generator=generator)


class Drawn(nn.Module):
    def forward(self, x: Tensor):
        generator = torch.Generator()
        generator.manual_seed(3)
        order = torch.randperm(x.size(0), generator=generator)
        within = torch.randint(3, (x.size(0), 2), generator=generator) < 3
        above = torch.randint(2, 5, (2,), generator=generator, dtype=torch.int32) * 0
        return order.sort()[0], within, above, torch.bernoulli(torch.ones_like(x), generator=generator)


class Given(nn.Module):
    def forward(self, x: Tensor):
        return doubled_if_drawn(x, torch.Generator().manual_seed(5)), doubled_if_drawn(x)


class Seeded(nn.Module):
    def forward(self, x: Tensor):
        torch.manual_seed(x.size(1))
        return x + 0 * torch.rand(x.size(0), 1)


class LeftOut(nn.Module):
    def forward(self, x: Tensor, generator: Optional[torch.Generator] = None):
        return torch.randperm(x.size(0), generator=generator).sort()[0]


class DrawnLikeATensor(nn.Module):
    def forward(self, x: Tensor):
        generator = torch.Generator()
        whole = torch.randint_like(x, 7, generator=generator) < 7, torch.randint_like(x, 2, 7, generator=generator) >= 2
        return whole, torch.rand_like(x, generator=generator) >= 0, 0 * torch.randn_like(x, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("make, seeds", [(Drawn, True), (Given, True), (Seeded, True), (LeftOut, False), (DrawnLikeATensor, False)])
def test_generators(make, seeds, tmp_path, recwarn):
    model = make()
    scripted = torch.jit.script(model)
    scripted.save(tmp_path / "net.pt")
    live = flambeau.export(scripted, (x(2, 3),), input_names=["x"], dynamic_axes={"x": {0: "n"}}, verbose=False)
    archived = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[n,3]"})
    for program in (live, archived):
        for each in (x(2, 3), x(5, 3)):
            compare(model, program, (each,))
    told = [str(each.message) for each in recwarn if "seeds random numbers" in str(each.message)]
    assert bool(told) == seeds and all("test_generators.py" in each for each in told)
