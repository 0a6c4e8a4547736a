"""Loops over text, which no model knows at a place that only a run knows: they end early, so that each round is by itself."""

from typing import Dict, List, Tuple

import pytest
import torch
from cases import SIGNS, Cases, x
from torch import Tensor, nn

import flambeau

case = Cases()
OTHERS = [(-x(3, 4).abs(),), (x(3, 4).abs(),), (torch.zeros(3, 4),), (torch.ones(3, 4) / 3,)]


@case.forward(x(3, 4), others=OTHERS)
def names_of_entries(self, x: Tensor):
    named: Dict[str, Tensor] = {"a": x[0], "bc": x[1] * -2}
    r = x[0] * 0
    for name, row in named.items():
        r = r + row * len(name)
        if bool(row.sum() > 1.0):
            break
    return r


@case.forward(x(3, 4), others=OTHERS)
def returned_by_name(self, x: Tensor):
    named: Dict[str, Tensor] = {"a": x, "b": -x, "cc": x * 0.5}
    for name, row in named.items():
        if bool(row.sum() > 1.0):
            return row + len(name)
    return x * 0


def step(name: str, x: Tensor) -> Tensor:
    if name == "relu":
        return x.relu()
    elif name == "tanh":
        return x.tanh()
    return x * 2


@case.forward(x(3, 4), others=OTHERS)
def steps_by_name(self, x: Tensor):
    for name in ["relu", "double", "tanh"]:
        x = step(name, x)
        if bool(x.sum() > 3):
            break
    return x


@case.forward(x(3, 4), others=OTHERS)
def while_there_are_names(self, x: Tensor):
    names = ["a", "bb", "ccc"]
    i = 0
    while i < 3 and bool(x.sum() < 10):
        x = x.abs() + len(names[i])
        i += 1
    return x, i


@case.forward(x(3, 4), others=OTHERS)
def names_within_rounds_of_rows(self, x: Tensor):
    for i in range(x.size(0)):
        for name in ["a", "b", "cc"]:
            if bool(x[i].sum() > 1):
                break
            x = x + len(name)
    return x


@case.forward(x(3, 4), others=OTHERS)
def names_within_names(self, x: Tensor):
    for a in ["a", "bb"]:
        for b in ["c", "dd", "eee"]:
            if bool(x.sum() > 3):
                break
            x = x + len(a + b)
        if bool(x.sum() > 30):
            break
    return x


@case.forward(x(3, 4), others=OTHERS)
def writes_by_name(self, x: Tensor):
    named: List[Tuple[str, float]] = [("a", 0.5), ("b", 1.5), ("c", 2.5)]
    w = x * 1
    for name, each in named:
        w[0] += each
        if name == "b":
            w.mul_(2)
        if bool(w.sum() > 4):
            break
    return w
@case.forward(*SIGNS[0], others=[*SIGNS, (torch.tensor([[-5.0, 1, 1], [1, 1, 1]]),)])
def the_last_that_fits(self, x):
    """What rounds whose number is known may make of another rank is looked at on each way through them."""
    last, each = x[0], x[0]
    for u in [x, x[1:], x * 2]:
        if bool(u.sum() > 0):
            last = u
    for i in range(2):
        if bool(each.sum() > 1):
            each = each.unsqueeze(0)
        each = each.sum(-1, keepdim=True) + x[i]
    return last.argmax(-1), last.nonzero(), last.unsqueeze(-1), last[1:], each.softmax(0)


test_program = case.test()


class NoEnd(nn.Module):
    def forward(self, x: Tensor):
        names = ["a", "bb"]
        i = 0
        while bool(x.sum() < 100):
            x = x.abs() + len(names[i % 2])
            i += 1
        return x


def test_a_loop_without_an_end_is_refused_once():
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"needs at run time a list whose elements are not all tensors") as refused:
        flambeau.export(torch.jit.script(NoEnd()), (x(3, 4),))
    assert len(refused.value.diagnostics) == 1


def test_rounds_that_are_taken_apart_warn_once(recwarn):
    class Turning(nn.Module):
        def forward(self, x):
            for _ in range(3):
                x = torch.cross(x, x + 1)
            return x

    flambeau.export(torch.jit.script(Turning()), (x(4, 3),), dynamic_shapes=({0: "n"},))
    assert len([each for each in recwarn if "a cross product without 'dim'" in str(each.message)]) == 1
