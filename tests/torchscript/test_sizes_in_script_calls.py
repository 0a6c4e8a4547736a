"""TorchScript that a traced module calls with its sizes follows them, whatever they are handed on in."""

from typing import NamedTuple

import pytest
import torch
from checking import Calls, check, script

import flambeau

X, OTHERS = torch.rand(3, 4), [(torch.rand(5, 4),), (torch.rand(1, 4),)]


class Sizes(NamedTuple):
    rows: int
    columns: int


@torch.jit.script
def recurrence(x: torch.Tensor, rounds: int) -> torch.Tensor:
    state = torch.zeros_like(x[0])
    states = []
    for i in range(rounds):
        state = torch.tanh(state + x[i])
        states.append(state)
    return torch.stack(states)


@torch.jit.script
def until(x: torch.Tensor, rounds: int | None = None, step: float = 0.5) -> torch.Tensor:
    if rounds is None:
        return x[0]
    state, i = x[0], 0
    while i < rounds:
        state = state * step + x[i]
        i += 1
    return state


@torch.jit.script
def shaped(x: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    return x.reshape(sizes) * len(sizes)


@torch.jit.script
def of_pair(x: torch.Tensor, sizes: tuple[int, int]) -> torch.Tensor:
    return x.reshape(sizes[0] * sizes[1])


@torch.jit.script
def of_named(x: torch.Tensor, sizes: Sizes) -> torch.Tensor:
    return x.reshape(sizes.rows * sizes.columns)


@torch.jit.script
def of_table(x: torch.Tensor, sizes: dict[str, int]) -> torch.Tensor:
    return x * sizes["rows"] + sizes["columns"]


@torch.jit.script
def of_lists(tensors: list[torch.Tensor], lists: list[list[int]] | None, more: int = 2) -> torch.Tensor:
    x = tensors[0]
    if lists is not None:
        for each in lists:
            x = x.reshape(each)
    return x * more


@torch.jit.script
def flagged(x: torch.Tensor, many: bool) -> torch.Tensor:
    if many:
        return x + 1
    return x - 1


@torch.jit.script
def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by


CALLS = {
    "an integer": lambda x: recurrence(x, x.shape[0]),
    "what is computed of one": lambda x: recurrence(x.repeat(2, 1), x.shape[0] * 2 - 1),
    "by name": lambda x: recurrence(rounds=x.size(0), x=x),
    "an optional one": lambda x: until(x, x.shape[0]),
    "a default beside it": lambda x: until(x, step=1 / x.shape[0]),
    "a list": lambda x: shaped(x, [2, x.shape[0] * 2]),
    "a shape": lambda x: shaped(x.t(), x.shape),
    "a tuple": lambda x: of_pair(x, (x.shape[0], 4)),
    "a named tuple": lambda x: of_named(x, Sizes(x.shape[0], x.shape[1])),
    "a dict": lambda x: of_table(x, {"rows": x.shape[0], "columns": 7}),
    "lists in a list": lambda x: of_lists([x], [[x.shape[0] * 4], [4, x.shape[0]]]),
    "a truth": lambda x: flagged(x, x.shape[0] > 3),
    "a float": lambda x: scaled(x, x.shape[0] / 7),
    "an integer for a float": lambda x: scaled(x, x.shape[0]),
    "one call after another": lambda x: scaled(recurrence(x, x.shape[0]), x.shape[0]) + recurrence(x, x.shape[0]),
}


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
@pytest.mark.parametrize("function", CALLS.values(), ids=CALLS)
def test_functions(function):
    check(Calls(function), (X,), others=OTHERS, how="trace", dynamic_axes={"x": {0: "rows"}})


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("bias", torch.rand(4))

    def forward(self, x, rounds: int, sizes: list[int]):
        for i in range(rounds):
            x = torch.tanh(self.linear(x)) + self.bias * i
        return x.reshape(sizes)

    @torch.jit.export
    def scaled(self, x, by: int):
        return self.bias * x * by


class HoldsLayer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = script(Layer())

    def forward(self, x):
        rows, columns = x.shape
        return self.layer(x, rows, [columns * 2, -1]), self.layer.scaled(x, by=rows - 1)


class HoldsHolder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.holder = HoldsLayer()

    def forward(self, x):
        return self.holder(x)[0] * 2


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
@pytest.mark.parametrize("model", [HoldsLayer, HoldsHolder])
def test_methods(model):
    check(model(), (torch.rand(4, 4),), others=[(torch.rand(6, 4),), (torch.rand(2, 4),)], how="trace", dynamic_axes={"x": {0: "rows"}})


def test_what_the_script_does_not_take_is_refused():
    with pytest.raises(flambeau.errors.CaptureError, match="round"):
        check(Calls(lambda x: recurrence(x, x.shape[0], round=x.shape[1])), (X,), how="trace")
