"""Modules that a script takes out of a container by what only a run knows."""

from typing import Tuple

import torch
from cases import Cases, x
from torch import nn

case = Cases()


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass


@torch.jit.interface
class Counted(nn.Module):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pass

    def counted(self, input: torch.Tensor, n: int) -> Tuple[torch.Tensor, int]:
        pass


class Scaled(nn.Module):
    def __init__(self, factor: int):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.factor = factor
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.inner(input) * self.factor + self.calls

    @torch.jit.export
    def counted(self, input: torch.Tensor, n: int) -> Tuple[torch.Tensor, int]:
        return self.inner(input), n * self.factor


PLACES = [(x(4, 3), torch.tensor(place)) for place in (0, 1, 2)]


@case(*PLACES[1], others=PLACES, dynamic_axes={"x": {0: "n"}}, how=("script",))
class AtAPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Scaled(i + 1) for i in range(3))

    def forward(self, x, place):
        layer: Counted = self.layers[int(place)]
        y, n = layer.counted(x, 3)
        return layer.forward(x), y, n


@case(x(4, 3), torch.tensor([0, 2, 1]), others=[(x(4, 3), torch.tensor([2, 1, 1, 0, 0]))], dynamic_axes={"x": {}, "places": {0: "k"}}, how=("script",))
class InRounds(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

    def forward(self, x, places):
        for place in places:
            layer: Layer = self.layers[int(place)]
            x = layer.forward(x)
        return x


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        layer: Layer = self.layers[int(input.sum() > 0)]
        return layer.forward(input)


@case(*PLACES[1], others=PLACES[:2], how=("script",))
class OneInAnother(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Inner(), Inner()])

    def forward(self, x, place):
        layer: Layer = self.layers[int(place)]
        return layer.forward(x)


@case(*PLACES[1], others=PLACES[:2], how=("script",))
class OfAName(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"first": Scaled(2), "second": Scaled(3)})

    def forward(self, x, place):
        name = "first" if int(place) == 0 else "second"
        layer: Layer = self.layers[name]
        return layer.forward(x)


test_program = case.test()
