"""Modules that a script takes out of a container by what only a run knows."""

import copy
from typing import Tuple

import pytest
import torch
from cases import Cases, x
from checking import check, compare
from torch import nn

import flambeau

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


@case(x(4, 3), torch.tensor(17), others=[(x(4, 3), torch.tensor(place)) for place in (0, 1, 20, 39)], how=("script",))
class AmongMany(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) if i % 2 else nn.Tanh() for i in range(40))
        self.named = nn.ModuleDict({f"layer_{i}": nn.Linear(3, 3) for i in range(40)})

    def forward(self, x, place):
        layer: Layer = self.layers[int(place)]
        name = "layer_0" if int(place) == 0 else "layer_17" if int(place) == 17 else "layer_39"
        other: Layer = self.named[name]
        return layer.forward(x), other.forward(x)


test_program = case.test()


class ByAnother(nn.Module):
    """What is picked is handed on, and called there."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scaled(1), Scaled(2)])
        self.others = nn.ModuleList([nn.Linear(3, 3), nn.Identity(), nn.Tanh()])

    def run(self, layer: Layer, x: torch.Tensor) -> torch.Tensor:
        return layer.forward(x)

    def forward(self, x, place):
        layer: Layer = self.layers[int(place)]
        other: Layer = self.others[int(place) + 1]
        return self.run(layer, x) + self.run(other, x) + other.forward(layer.forward(x))


ARCHIVED = {
    "at a place": (AtAPlace, PLACES, ("float32[n,3]", "int64[]")),
    "in rounds": (InRounds, [(x(4, 3), torch.tensor([2, 1, 1, 0, 0]))], ("float32[4,3]", "int64[k]")),
    "one in another": (OneInAnother, PLACES[:2], ("float32[4,3]", "int64[]")),
    "of a name": (OfAName, PLACES[:2], ("float32[4,3]", "int64[]")),
    "by another": (ByAnother, PLACES[:2], ("float32[4,3]", "int64[]")),
    "among many": (AmongMany, [(x(4, 3), torch.tensor(place)) for place in (17, 0, 39)], ("float32[4,3]", "int64[]")),
}


@pytest.mark.parametrize("name", ARCHIVED)
def test_archive(name, tmp_path):
    make, examples, types = ARCHIVED[name]
    model = make().eval()
    torch.jit.script(copy.deepcopy(model)).save(tmp_path / "net.pt")
    names = ("x", "places" if name == "in rounds" else "place")
    program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs=dict(zip(names, types)))
    for args in examples:
        compare(model, program, args)
    check(model, examples[0], others=examples)


def test_archive_of_a_module_that_is_picked_by_what_is_known(tmp_path):
    torch.jit.script(AtAPlace()).save(tmp_path / "net.pt")
    program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[4,3]", "place": "1"})
    assert not any(node.op_type == "If" for node in program.model_proto.graph.node)
